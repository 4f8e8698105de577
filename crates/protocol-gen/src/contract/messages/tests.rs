//! The verdicts that follow from how messages are made are those of the interpreter, and no fault that a
//! type can have is left out.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use super::messages;
use crate::{
    compile,
    contract::{Contract, FaultKind, Object, Shape},
    model::Demand,
    source,
};

fn contracts() -> Vec<(&'static str, Contract)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap();
    ["", "tests/fixtures/shapes", "tests/fixtures/minimal"]
        .into_iter()
        .map(|below| {
            let sources = source::read(&root.join(below)).unwrap();
            (below, Contract::of(&compile(&sources).unwrap()).unwrap())
        })
        .collect()
}

#[test]
fn the_interpreter_comes_to_the_same_verdicts() {
    let mut tried = 0;
    let mut wrong = Vec::new();
    for (name, contract) in contracts() {
        for ty in contract.types.keys() {
            for message in messages(&contract, ty) {
                tried += 1;
                let verdict = contract.decode(ty, &message.text);
                let found = verdict.err().map(|fault| (fault.pointer, fault.kind));
                if found != message.fault {
                    wrong.push(format!("{name} {ty}: {message:?}: {found:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {tried}: {wrong:#?}", wrong.len());
    assert!(tried > 3_000, "{tried}");
}

#[test]
fn no_two_messages_of_a_type_have_one_name() {
    for (_, contract) in contracts() {
        for ty in contract.types.keys() {
            let mut names = BTreeSet::new();
            for message in messages(&contract, ty) {
                assert!(names.insert(message.name.clone()), "{ty}: {}", message.name);
            }
        }
    }
}

/// How many faults of each kind the members and rules of a type can have, counted without making any.
fn expected(object: &Object) -> BTreeMap<FaultKind, usize> {
    let mut count: BTreeMap<FaultKind, usize> = BTreeMap::new();
    let mut add = |kind, number| *count.entry(kind).or_default() += number;
    // In place of the object, and beside its members.
    add(FaultKind::WrongType, 3);
    add(FaultKind::Null, 1);
    add(FaultKind::UnknownMember, 1);
    for (name, member) in &object.members {
        add(FaultKind::MissingMember, usize::from(member.required));
        add(FaultKind::DuplicateMember, 1);
        let has_case = name.starts_with(|c: char| c.is_ascii_alphabetic());
        add(FaultKind::UnknownMember, usize::from(has_case));
        let mut shapes = vec![(&member.shape, usize::from(!member.externalizable))];
        if member.shape.innermost() != &member.shape {
            shapes.push((member.shape.innermost(), 1));
        }
        for (shape, null) in shapes {
            add(FaultKind::Null, null);
            match shape {
                Shape::Any => {}
                Shape::Bool => add(FaultKind::WrongType, 4),
                Shape::Text(text) => {
                    add(FaultKind::WrongType, 4);
                    add(FaultKind::Blank, if text.non_blank { 2 } else { 0 });
                    add(
                        FaultKind::Format,
                        if text.lower_hex.is_some() { 3 } else { 0 },
                    );
                }
                Shape::Integer(integer) => {
                    add(FaultKind::WrongType, 7);
                    // One past each bound; 2^63 and 2^64 where they are not that, and are beyond.
                    let past: BTreeSet<i128> = [integer.lowest() - 1, integer.highest() + 1]
                        .into_iter()
                        .chain(
                            [1 << 63, 1 << 64]
                                .into_iter()
                                .filter(|v| *v > integer.highest()),
                        )
                        .collect();
                    add(FaultKind::OutOfRange, past.len());
                }
                Shape::Number { min, max } => {
                    add(FaultKind::WrongType, 4);
                    let bounds = [min, max].into_iter().flatten().count();
                    add(FaultKind::OutOfRange, bounds);
                }
                Shape::Enum(values) => {
                    add(FaultKind::WrongType, 3);
                    let has_case = values
                        .iter()
                        .any(|value| value.starts_with(|c: char| c.is_ascii_alphabetic()));
                    add(FaultKind::UnknownValue, 1 + usize::from(has_case));
                }
                Shape::Type(_) | Shape::List(_) | Shape::Map(_) => add(FaultKind::WrongType, 3),
            }
        }
    }
    for rule in &object.rules {
        let (Demand::Requires(names) | Demand::Forbids(names) | Demand::Object(names)) =
            &rule.demand;
        add(FaultKind::Rule, names.len());
    }
    count.retain(|_, number| *number > 0);
    count
}

#[test]
fn every_single_fault_that_a_type_can_have_is_there() {
    for (name, contract) in contracts() {
        for (ty, object) in &contract.types {
            let mut found: BTreeMap<FaultKind, usize> = BTreeMap::new();
            let all = messages(&contract, ty);
            for (_, kind) in all.iter().filter_map(|message| message.fault.as_ref()) {
                *found.entry(*kind).or_default() += 1;
            }
            assert_eq!(found, expected(object), "{name} {ty}");
            let sound: BTreeSet<&str> = all
                .iter()
                .filter(|message| message.fault.is_none())
                .map(|message| message.name.as_str())
                .collect();
            for (member, of) in &object.members {
                let mut wanted = Vec::new();
                if !of.required {
                    wanted.push(format!("with {member}"));
                }
                if of.externalizable {
                    wanted.push(format!("{member} by reference"));
                }
                match &of.shape {
                    Shape::Enum(values) => {
                        wanted.extend(values.iter().map(|value| format!("{member} is {value:?}")));
                    }
                    Shape::Integer(_) => {
                        wanted.push(format!("{member} is the least"));
                        wanted.push(format!("{member} is the greatest"));
                    }
                    Shape::Any
                    | Shape::Bool
                    | Shape::Text(_)
                    | Shape::Number { .. }
                    | Shape::Type(_)
                    | Shape::List(_)
                    | Shape::Map(_) => {}
                }
                for wanted in wanted {
                    assert!(sound.contains(wanted.as_str()), "{name} {ty}: {wanted}");
                }
            }
        }
    }
}
