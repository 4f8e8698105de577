//! Verdicts against what the decoders of both contracts do, over random edits.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;

use super::{
    super::{Comparison, Version, compare, witness::candidates},
    edits::{self, Values},
    v1,
};
use crate::{
    canonical,
    compat::{Kind, Verdict},
    contract::{
        Contract, Documents, Shape,
        sample::{self, Tree},
    },
};

/// Edits in a run of the tests; `cargo xtask soak` sets another number.
const EDITS: usize = 150;
const EDITS_VARIABLE: &str = "COMPAT_EDITS";
const SEED_VARIABLE: &str = "COMPAT_SEED";

#[test]
fn verdicts_agree_with_what_both_decoders_do() {
    let number = |name: &str, default| {
        std::env::var(name).map_or(default, |text| text.parse::<u64>().unwrap())
    };
    let edits = number(EDITS_VARIABLE, EDITS as u64);
    let start = number(SEED_VARIABLE, 1);
    let documents = v1();
    let parse = |text: &str| serde_json::from_str(text).unwrap();
    let values = Values {
        schema: parse(&documents.schema),
        payloads: parse(documents.payloads.as_deref().unwrap()),
        supplement: parse(documents.supplement.as_deref().unwrap()),
    };
    let old = Contract::read(&documents).unwrap();
    let mut kinds: BTreeMap<Kind, usize> = BTreeMap::new();
    let (mut judged, mut messages, mut permitted) = (0, 0, 0);
    let mut seed = start;
    while judged < edits {
        let mut rng = Rng::with_seed(seed);
        let mut values = values.clone();
        for _ in 0..rng.u8(1..4) {
            edits::edit(&mut values, &mut rng);
        }
        let edited = Documents {
            schema: canonical::to_string(&values.schema),
            payloads: Some(canonical::to_string(&values.payloads)),
            supplement: Some(canonical::to_string(&values.supplement)),
        };
        if let Ok(new) = Contract::read(&edited) {
            let mut comparison = compare(&old, &new);
            comparison.find_witnesses();
            messages += hold(&old, &new, &comparison, &mut rng, seed);
            permitted += usize::from(comparison.is_permitted());
            for change in &comparison.changes {
                *kinds.entry(change.kind).or_default() += 1;
            }
            judged += 1;
        }
        seed += 1;
    }
    println!(
        "{judged} edits of {} seeds from {start}: {permitted} permitted, {messages} messages, {} kinds of \
         change: {kinds:?}",
        seed - start,
        kinds.len()
    );
}

/// Holds the comparison to what the decoders do; returns how many messages were tried.
fn hold(
    old: &Contract,
    new: &Contract,
    comparison: &Comparison,
    rng: &mut Rng,
    seed: u64,
) -> usize {
    let changes = &comparison.changes;
    assert_eq!(old == new, changes.is_empty(), "seed {seed}: {changes:#?}");
    let mut names = BTreeSet::new();
    for change in changes {
        let name = (change.kind, &change.subject, &change.what);
        assert!(names.insert(name), "seed {seed}: twice: {name:?}");
        assert_eq!(
            change.witnesses.is_empty(),
            change.no_witness.is_some(),
            "seed {seed}: {change:#?}"
        );
        if matches!(change.verdict, Verdict::Allowed(_) | Verdict::Unseen) {
            let breaks = change
                .witnesses
                .iter()
                .find(|witness| witness.accepted_by == Version::Old);
            assert_eq!(breaks, None, "seed {seed}: {change:#?}");
        }
        if change.verdict == Verdict::Unseen {
            assert_eq!(change.witnesses, [], "seed {seed}: {change:#?}");
        }
    }
    let shows = |version| {
        changes.iter().any(|change| {
            change
                .witnesses
                .iter()
                .any(|witness| witness.accepted_by == version)
        })
    };
    let mut tried = 0;
    let common: Vec<&String> = old
        .types
        .keys()
        .filter(|ty| new.types.contains_key(*ty))
        .collect();
    let types: Vec<&String> = common
        .iter()
        .copied()
        .filter(|ty| old.types.get(*ty) != new.types.get(*ty) || rng.u8(..20) == 0)
        .collect();
    for ty in types {
        for contract in [old, new] {
            for message in messages(contract, ty) {
                tried += 1;
                let (by_old, by_new) = (old.decode(ty, &message), new.decode(ty, &message));
                if by_old.is_ok() && by_new.is_err() {
                    let is_major = changes
                        .iter()
                        .any(|change| change.verdict == Verdict::Major);
                    assert!(
                        !comparison.is_permitted() || is_major,
                        "seed {seed}: permitted, and yet {ty} {message}: {by_new:?}: {changes:#?}"
                    );
                    assert!(
                        shows(Version::Old),
                        "seed {seed}: not shown: {ty} {message}: {changes:#?}"
                    );
                }
                if by_new.is_ok() && by_old.is_err() {
                    assert!(
                        shows(Version::New),
                        "seed {seed}: not shown: {ty} {message}: {changes:#?}"
                    );
                }
            }
        }
    }
    let hooks = |contract: &Contract| {
        contract
            .payloads
            .as_ref()
            .map_or_else(BTreeMap::new, |payloads| payloads.hooks.clone())
    };
    for (point, hook) in hooks(old) {
        for message in messages(old, &hook.payload) {
            tried += 1;
            for (judge, what) in [
                (Contract::decode_payload as fn(&_, &_, &_) -> _, "payload"),
                (Contract::decode_replacement, "replacement"),
            ] {
                if judge(old, &point, &message).is_ok()
                    && let Err(fault) = judge(new, &point, &message)
                {
                    let is_major = changes
                        .iter()
                        .any(|change| change.verdict == Verdict::Major);
                    assert!(
                        !comparison.is_permitted() || is_major,
                        "seed {seed}: permitted, and yet {what} {point} {message}: {fault}: {changes:#?}"
                    );
                }
            }
        }
    }
    tried
}

/// Messages of a type: the least ones, and each member at its edges; also with what is added where it
/// is optional.
fn messages(contract: &Contract, ty: &str) -> Vec<String> {
    let Some(object) = contract.types.get(ty) else {
        return Vec::new();
    };
    let mut trees: Vec<Tree> = candidates::bases(contract, ty);
    for tree in &mut trees {
        sample::complete(contract, ty, tree, &[]);
    }
    for (name, member) in &object.members {
        trees.extend(candidates::of_member(
            contract,
            ty,
            name,
            &candidates::Want::All,
        ));
        // What stands inside, so that a change below shows above.
        if let Shape::Type(inner) = member.shape.innermost()
            && let Some(below) = contract.types.get(inner)
        {
            for name_below in below.members.keys() {
                let values =
                    candidates::of_member(contract, inner, name_below, &candidates::Want::All);
                for value in values.into_iter().take(6) {
                    let value = sample::wrap(&member.shape, value);
                    let mut tree = Tree::Object(vec![(name.clone(), value)]);
                    sample::complete(contract, ty, &mut tree, &[name]);
                    trees.push(tree);
                }
            }
        }
    }
    trees.into_iter().map(|tree| tree.to_string()).collect()
}
