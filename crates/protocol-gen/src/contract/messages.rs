//! Messages with the verdict that follows from how each was made: the least and the greatest of a type,
//! each member at its edges, and each single fault that there is. Runs no decoder.

use std::collections::BTreeSet;

use super::{
    Contract, FaultKind, Member, Object, Rule, Shape, push_segment,
    sample::{self, KEY, Tree, wrap},
};
use crate::model::Demand;

/// A message of a type and what a strict decoder says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// What it shows; no other message of the type has this name.
    pub name: String,
    /// The message, as it stands on the wire.
    pub text: String,
    /// Place and kind of its one fault; `None` if it is sound.
    pub fault: Option<(String, FaultKind)>,
    /// Whether a JSON Schema validator comes to the same verdict.
    pub schema_agrees: bool,
}

/// A member that no type has: it is tried as an unknown one.
const UNKNOWN: &str = "unknownMember";
/// A value that no enum has.
const UNKNOWN_VALUE: &str = "unknown-value";
/// Integers beyond what 64 bits hold with and without a sign.
const BEYOND: [&str; 2] = ["9223372036854775808", "18446744073709551616"];

/// Every message of a type, sound ones first; none for a type that the contract does not have.
pub fn messages(contract: &Contract, ty: &str) -> Vec<Message> {
    let Some(object) = contract.types.get(ty) else {
        return Vec::new();
    };
    let mut maker = Maker {
        contract,
        object,
        required: object
            .members
            .iter()
            .filter(|(_, member)| member.required)
            .map(|(name, member)| (name.as_str(), sample::minimal(contract, &member.shape)))
            .collect(),
        messages: Vec::new(),
    };
    maker.whole();
    for (name, member) in &object.members {
        maker.sound(name, member);
    }
    maker.not_an_object();
    maker.unknown();
    for (name, member) in &object.members {
        maker.faults(name, member);
    }
    for (index, rule) in object.rules.iter().enumerate() {
        maker.rule(index, rule);
    }
    maker.messages
}

struct Maker<'c> {
    contract: &'c Contract,
    object: &'c Object,
    /// What every message has: found once, because a type may have thousands of members beside.
    required: Vec<(&'c str, Tree)>,
    messages: Vec<Message>,
}

impl Maker<'_> {
    fn push(
        &mut self,
        name: String,
        text: String,
        fault: Option<(String, FaultKind)>,
        agrees: bool,
    ) {
        self.messages.push(Message {
            name,
            text,
            fault,
            schema_agrees: agrees,
        });
    }

    /// The least and the greatest message.
    fn whole(&mut self) {
        let least = self.bases(&[]).next().unwrap_or(Tree::Object(Vec::new()));
        self.push("least".to_owned(), least.to_string(), None, true);
        let mut greatest = least;
        for base in self.bases(&[]) {
            let there: BTreeSet<String> = names_of(&base).map(str::to_owned).collect();
            let mut tree = base;
            for (name, member) in &self.object.members {
                if !there.contains(name) {
                    tree.push(name, greatest_of(self.contract, &member.shape));
                    // What a rule forbids beside the rest stays away.
                    if !self.keeps_rules(&tree) {
                        tree.remove(name);
                    }
                }
            }
            if names_of(&tree).count() > names_of(&greatest).count() {
                greatest = tree;
            }
        }
        self.push("greatest".to_owned(), greatest.to_string(), None, true);
    }

    /// A member alone beside what must be there, and at each of its edges.
    fn sound(&mut self, name: &str, member: &Member) {
        if !member.required {
            let value = sample::minimal(self.contract, &member.shape);
            self.member(&format!("with {name}"), name, value, None, true);
        }
        if member.externalizable {
            // Without its mark, a schema that says `string` has no `null`.
            let agrees = member.shape == Shape::Any;
            let value = Tree::Raw("null".to_owned());
            self.member(&format!("{name} by reference"), name, value, None, agrees);
        }
        // Of a member that a rule makes an object, the edges are faults, and stand with the rule.
        let is_object = self.object.rules.iter().any(
            |rule| matches!(&rule.demand, Demand::Object(names) if names.iter().any(|of| of == name)),
        );
        if is_object {
            return;
        }
        for (what, value) in edges(self.contract, &member.shape) {
            self.member(&format!("{name} {what}"), name, value, None, true);
        }
    }

    fn faults(&mut self, name: &str, member: &Member) {
        let mut pointer = String::new();
        push_segment(&mut pointer, name);
        if member.required
            && let Some(mut tree) = self.bases(&[]).next()
        {
            tree.remove(name);
            let fault = Some((pointer.clone(), FaultKind::MissingMember));
            self.push(format!("without {name}"), tree.to_string(), fault, true);
        }
        // Beside the right one, so that nothing is missing.
        let other = other_case(name);
        if other != name && !self.object.members.contains_key(&other) {
            let value = sample::minimal(self.contract, &member.shape);
            if let Some(mut tree) = self.with(name, value.clone()) {
                tree.set(&other, value);
                let mut pointer = String::new();
                push_segment(&mut pointer, &other);
                let fault = Some((pointer, FaultKind::UnknownMember));
                self.push(
                    format!("{name} in another case"),
                    tree.to_string(),
                    fault,
                    true,
                );
            }
        }
        let value = sample::minimal(self.contract, &member.shape);
        if let Some(Tree::Object(mut members)) = self.with(name, value.clone()) {
            members.push((name.to_owned(), value));
            let fault = Some((pointer.clone(), FaultKind::DuplicateMember));
            let text = Tree::Object(members).to_string();
            self.push(format!("{name} twice"), text, fault, false);
        }
        if !member.externalizable {
            let agrees = member.shape != Shape::Any;
            let fault = Some((pointer.clone(), FaultKind::Null));
            let value = Tree::Raw("null".to_owned());
            self.member(&format!("{name} is null"), name, value, fault, agrees);
        }
        for bad in faults(&member.shape) {
            let fault = Some((pointer.clone(), bad.kind));
            self.member(
                &format!("{name} {}", bad.what),
                name,
                bad.value,
                fault,
                bad.seen,
            );
        }
        // Inside of lists and maps, the faults of what they hold.
        let inner = member.shape.innermost();
        if *inner != member.shape {
            let place = format!("{pointer}{}", steps(&member.shape));
            let null = Bad {
                what: "is null".to_owned(),
                value: Tree::Raw("null".to_owned()),
                kind: FaultKind::Null,
                seen: *inner != Shape::Any,
            };
            for bad in std::iter::once(null).chain(faults(inner)) {
                let value = wrap(&member.shape, bad.value);
                let fault = Some((place.clone(), bad.kind));
                let what = format!("{name} holds what {}", bad.what);
                self.member(&what, name, value, fault, bad.seen);
            }
        }
    }

    fn member(
        &mut self,
        what: &str,
        name: &str,
        value: Tree,
        fault: Option<(String, FaultKind)>,
        agrees: bool,
    ) {
        if let Some(tree) = self.with(name, value) {
            self.push(what.to_owned(), tree.to_string(), fault, agrees);
        }
    }

    fn unknown(&mut self) {
        let mut name = UNKNOWN.to_owned();
        while self.object.members.contains_key(&name) {
            name.push('_');
        }
        if let Some(mut tree) = self.bases(&[]).next() {
            tree.set(&name, Tree::Raw("0".to_owned()));
            let mut pointer = String::new();
            push_segment(&mut pointer, &name);
            let fault = Some((pointer, FaultKind::UnknownMember));
            self.push(
                "an unknown member".to_owned(),
                tree.to_string(),
                fault,
                true,
            );
        }
    }

    fn not_an_object(&mut self) {
        for (what, text, kind) in [
            ("a list", "[]", FaultKind::WrongType),
            ("a string", "\"x\"", FaultKind::WrongType),
            ("a number", "0", FaultKind::WrongType),
            ("null", "null", FaultKind::Null),
        ] {
            let fault = Some((String::new(), kind));
            self.push(
                format!("{what} for the object"),
                text.to_owned(),
                fault,
                true,
            );
        }
    }

    /// A rule, broken in each way that it can be.
    fn rule(&mut self, index: usize, rule: &Rule) {
        let (Demand::Requires(names) | Demand::Forbids(names) | Demand::Object(names)) =
            &rule.demand;
        for name in names {
            let Some(member) = self.object.members.get(name) else {
                continue;
            };
            let broken = self.bases(&[]).find_map(|mut tree| {
                match &rule.demand {
                    Demand::Requires(_) => tree.remove(name),
                    Demand::Forbids(_) => {
                        tree.set(name, sample::minimal(self.contract, &member.shape));
                    }
                    Demand::Object(_) => tree.set(name, Tree::List(Vec::new())),
                }
                // With nothing else wrong: its condition holds, and every required member is there.
                let complete = self
                    .required
                    .iter()
                    .all(|(name, _)| tree.get(name).is_some());
                (complete && !holds(rule, &tree)).then_some(tree)
            });
            if let Some(tree) = broken {
                let fault = Some((String::new(), FaultKind::Rule));
                let what = format!("rule {} broken at {name}", index + 1);
                self.push(what, tree.to_string(), fault, false);
            }
        }
    }

    /// The least message with a member; none where every choice of the other members forbids it.
    fn with(&self, name: &str, value: Tree) -> Option<Tree> {
        let mut tree = self.bases(&[(name, &value)]).next()?;
        tree.set(name, value);
        Some(tree)
    }

    /// Least messages that keep all rules, beside some members: one for each value of each enum that a
    /// rule looks at.
    fn bases(&self, given: &[(&str, &Tree)]) -> impl Iterator<Item = Tree> + use<> {
        let mut starts = vec![Tree::Object(Vec::new())];
        let fields: BTreeSet<&str> = self
            .object
            .rules
            .iter()
            .filter_map(|rule| rule.condition.as_ref())
            .map(|condition| condition.field.as_str())
            .filter(|field| given.iter().all(|(name, _)| name != field))
            .collect();
        for field in fields {
            if let Some(Shape::Enum(values)) =
                self.object.members.get(field).map(|member| &member.shape)
            {
                starts.extend(
                    values
                        .iter()
                        .map(|value| Tree::Object(vec![(field.to_owned(), Tree::text(value))])),
                );
            }
        }
        let keep: Vec<&str> = given.iter().map(|(name, _)| *name).collect();
        let mut bases = Vec::new();
        for mut tree in starts {
            for (name, value) in given {
                // A value that is refused must not upset the rules: any that is there will do.
                tree.set(name, (*value).clone());
            }
            for (name, value) in &self.required {
                if tree.get(name).is_none() {
                    tree.set(name, value.clone());
                }
            }
            sample::obey_rules(self.contract, self.object, &mut tree, &keep);
            let mut judged = tree.clone();
            for (name, _) in given {
                let is_json = self
                    .object
                    .members
                    .get(*name)
                    .is_some_and(|m| m.shape == Shape::Any);
                if is_json {
                    judged.set(name, Tree::Object(Vec::new()));
                }
            }
            if self.keeps_rules(&judged) {
                bases.push(tree);
            }
        }
        bases.into_iter()
    }

    fn keeps_rules(&self, tree: &Tree) -> bool {
        self.object.rules.iter().all(|rule| holds(rule, tree))
    }
}

fn names_of(tree: &Tree) -> impl Iterator<Item = &str> {
    let members: &[(String, Tree)] = match tree {
        Tree::Object(members) => members,
        Tree::Raw(_) | Tree::List(_) => &[],
    };
    members.iter().map(|(name, _)| name.as_str())
}

fn holds(rule: &Rule, tree: &Tree) -> bool {
    let applies = rule.condition.as_ref().is_none_or(|condition| {
        let value = Tree::text(&condition.value);
        (tree.get(&condition.field) == Some(&value)) == condition.equal
    });
    !applies
        || match &rule.demand {
            Demand::Requires(names) => names.iter().all(|name| tree.get(name).is_some()),
            Demand::Forbids(names) => names.iter().all(|name| tree.get(name).is_none()),
            Demand::Object(names) => names
                .iter()
                .all(|name| tree.get(name).is_none_or(Tree::is_object)),
        }
}

/// A value with something in every list and map.
fn greatest_of(contract: &Contract, shape: &Shape) -> Tree {
    match shape {
        Shape::List(inner) => Tree::List(vec![greatest_of(contract, inner)]),
        Shape::Map(inner) => Tree::Object(vec![(KEY.to_owned(), greatest_of(contract, inner))]),
        Shape::Any
        | Shape::Bool
        | Shape::Text(_)
        | Shape::Integer(_)
        | Shape::Number { .. }
        | Shape::Enum(_)
        | Shape::Type(_) => sample::minimal(contract, shape),
    }
}

/// Sound values at the edges of a shape, with what each is.
fn edges(contract: &Contract, shape: &Shape) -> Vec<(String, Tree)> {
    let raw = |what: &str, text: String| (what.to_owned(), Tree::Raw(text));
    match shape {
        Shape::Any => [
            ("a list", "[]"),
            ("a string", "\"x\""),
            ("a number", "1.5"),
            ("a boolean", "true"),
        ]
        .into_iter()
        .map(|(what, text)| raw(&format!("is {what}"), text.to_owned()))
        .collect(),
        Shape::Bool => vec![
            raw("is false", "false".to_owned()),
            raw("is true", "true".to_owned()),
        ],
        Shape::Text(text) => match text.lower_hex {
            Some(digits) => vec![(
                "is digits".to_owned(),
                Tree::text(&"f".repeat(digits as usize)),
            )],
            None => vec![("is text".to_owned(), Tree::text("ä \u{1f980} \" \\ /"))],
        },
        Shape::Integer(integer) => vec![
            raw("is the least", integer.lowest().to_string()),
            raw("is the greatest", integer.highest().to_string()),
        ],
        Shape::Number { min, max } => {
            let mut values = Vec::new();
            for (what, bound) in [("is the least", min), ("is the greatest", max)] {
                if let Some(bound) = bound {
                    values.push(raw(what, bound.to_string()));
                }
            }
            values
        }
        Shape::Enum(values) => values
            .iter()
            .map(|value| (format!("is {value:?}"), Tree::text(value)))
            .collect(),
        Shape::Type(_) => Vec::new(),
        Shape::List(_) | Shape::Map(_) => {
            vec![("holds one".to_owned(), greatest_of(contract, shape))]
        }
    }
}

/// A value that its shape refuses.
struct Bad {
    what: String,
    value: Tree,
    kind: FaultKind,
    /// Whether a JSON Schema refuses it too.
    seen: bool,
}

fn faults(shape: &Shape) -> Vec<Bad> {
    let bad = |what: &str, text: &str, kind: FaultKind, seen: bool| Bad {
        what: what.to_owned(),
        value: Tree::Raw(text.to_owned()),
        kind,
        seen,
    };
    let wrong = |what: &str, text: &str| bad(what, text, FaultKind::WrongType, true);
    let (string, number, list, object) = (
        wrong("is a string", "\"x\""),
        wrong("is a number", "1"),
        wrong("is a list", "[]"),
        wrong("is an object", "{}"),
    );
    match shape {
        Shape::Any => Vec::new(),
        Shape::Bool => vec![string, number, list, object],
        Shape::Text(text) => {
            let mut all = vec![number, wrong("is a boolean", "true"), list, object];
            if text.non_blank {
                all.push(bad("is empty", "\"\"", FaultKind::Blank, true));
                all.push(bad("is blank", "\" \\t\"", FaultKind::Blank, false));
            }
            if let Some(digits) = text.lower_hex {
                let digits = digits as usize;
                for (what, value) in [
                    ("has capital digits", "A".repeat(digits)),
                    ("has a digit too few", "0".repeat(digits - 1)),
                    ("has a digit too many", "0".repeat(digits + 1)),
                ] {
                    all.push(bad(
                        what,
                        &Tree::text(&value).to_string(),
                        FaultKind::Format,
                        false,
                    ));
                }
            }
            all
        }
        Shape::Integer(integer) => {
            let near = 0.clamp(integer.lowest(), integer.highest());
            let mut all = vec![
                wrong("is a string", &format!("\"{near}\"")),
                wrong("is a boolean", "true"),
                list,
                object,
                bad(
                    "has a fraction of zero",
                    &format!("{near}.0"),
                    FaultKind::WrongType,
                    false,
                ),
                bad(
                    "has an exponent",
                    &format!("{near}e0"),
                    FaultKind::WrongType,
                    false,
                ),
                wrong("has a fraction", &format!("{near}.5")),
            ];
            let mut beyond = BTreeSet::new();
            for (value, declared) in [
                (integer.lowest() - 1, integer.min.is_some()),
                (integer.highest() + 1, integer.max.is_some()),
            ] {
                beyond.insert(value.to_string());
                let what = format!("is {value}");
                all.push(bad(
                    &what,
                    &value.to_string(),
                    FaultKind::OutOfRange,
                    declared,
                ));
            }
            for text in BEYOND {
                let is_beyond = text
                    .parse::<i128>()
                    .is_ok_and(|value| value > integer.highest());
                if is_beyond && beyond.insert(text.to_owned()) {
                    let seen = integer.max.is_some();
                    all.push(bad(
                        &format!("is {text}"),
                        text,
                        FaultKind::OutOfRange,
                        seen,
                    ));
                }
            }
            all
        }
        Shape::Number { min, max } => {
            let mut all = vec![string, wrong("is a boolean", "true"), list, object];
            for bound in [
                min.map(|min| min.saturating_sub(1)),
                max.map(|max| max.saturating_add(1)),
            ]
            .into_iter()
            .flatten()
            {
                all.push(bad(
                    &format!("is {bound}"),
                    &bound.to_string(),
                    FaultKind::OutOfRange,
                    true,
                ));
            }
            all
        }
        Shape::Enum(values) => {
            let mut all = vec![
                number,
                list,
                object,
                bad(
                    "is an unknown value",
                    &Tree::text(UNKNOWN_VALUE).to_string(),
                    FaultKind::UnknownValue,
                    true,
                ),
            ];
            if let Some(other) = values
                .iter()
                .map(|value| other_case(value))
                .find(|other| !values.contains(other))
            {
                all.push(bad(
                    "is a value in another case",
                    &Tree::text(&other).to_string(),
                    FaultKind::UnknownValue,
                    true,
                ));
            }
            all
        }
        Shape::Type(_) | Shape::Map(_) => vec![string, number, list],
        Shape::List(_) => vec![string, number, object],
    }
}

/// The name with the case of its first letter changed.
fn other_case(name: &str) -> String {
    let mut chars = name.chars();
    match chars.next() {
        Some(first) if first.is_ascii_lowercase() => {
            format!("{}{}", first.to_ascii_uppercase(), chars.as_str())
        }
        Some(first) if first.is_ascii_uppercase() => {
            format!("{}{}", first.to_ascii_lowercase(), chars.as_str())
        }
        Some(_) | None => name.to_owned(),
    }
}

/// The way through lists and maps to what they hold in the end.
fn steps(shape: &Shape) -> String {
    match shape {
        Shape::List(inner) => format!("/0{}", steps(inner)),
        Shape::Map(inner) => format!("/{KEY}{}", steps(inner)),
        Shape::Any
        | Shape::Bool
        | Shape::Text(_)
        | Shape::Integer(_)
        | Shape::Number { .. }
        | Shape::Enum(_)
        | Shape::Type(_) => String::new(),
    }
}

#[cfg(test)]
mod tests;
