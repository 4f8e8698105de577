//! Small messages of a contract: the least that a type accepts, and values at the edges of a shape.
//! Knows no verdicts; whoever wants one decodes.

use std::{collections::BTreeSet, fmt};

use super::{Contract, Object, Shape};
use crate::model::{Demand, Integer};

/// The key of samples in objects with any keys.
pub(crate) const KEY: &str = "k";

/// A message that is being built. Objects keep the order of their members.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tree {
    /// A value as JSON text.
    Raw(String),
    List(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

impl Tree {
    pub(crate) fn text(value: &str) -> Self {
        Self::Raw(serde_json::Value::from(value).to_string())
    }

    /// Sets a member, at its place if it is there.
    pub(crate) fn set(&mut self, name: &str, value: Self) {
        if let Self::Object(members) = self {
            match members.iter_mut().find(|(known, _)| known == name) {
                Some((_, slot)) => *slot = value,
                None => members.push((name.to_owned(), value)),
            }
        }
    }

    /// Adds a member that is not there yet.
    pub(super) fn push(&mut self, name: &str, value: Self) {
        if let Self::Object(members) = self {
            members.push((name.to_owned(), value));
        }
    }

    pub(crate) fn remove(&mut self, name: &str) {
        if let Self::Object(members) = self {
            members.retain(|(known, _)| known != name);
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members
                .iter()
                .find(|(known, _)| known == name)
                .map(|(_, value)| value),
            Self::Raw(_) | Self::List(_) => None,
        }
    }

    pub(super) fn is_object(&self) -> bool {
        match self {
            Self::Object(_) => true,
            Self::Raw(text) => text.starts_with('{'),
            Self::List(_) => false,
        }
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Raw(text) => f.write_str(text),
            Self::List(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        f.write_str(",")?;
                    }
                    item.fmt(f)?;
                }
                f.write_str("]")
            }
            Self::Object(members) => {
                f.write_str("{")?;
                for (index, (name, value)) in members.iter().enumerate() {
                    if index > 0 {
                        f.write_str(",")?;
                    }
                    write!(f, "{}:{value}", serde_json::Value::from(name.as_str()))?;
                }
                f.write_str("}")
            }
        }
    }
}

/// How deep samples nest: no decoder follows more.
const MAX_DEPTH: usize = 120;

/// The least value of a shape that a decoder accepts.
pub(crate) fn minimal(contract: &Contract, shape: &Shape) -> Tree {
    least(contract, shape, MAX_DEPTH)
}

/// Gives an object what its required members and its rules ask for, and takes what its rules forbid.
/// Members in `keep` stay as they are.
pub(crate) fn complete(contract: &Contract, ty: &str, tree: &mut Tree, keep: &[&str]) {
    if let Some(object) = contract.types.get(ty) {
        settle(contract, object, tree, keep, MAX_DEPTH);
    }
}

fn least(contract: &Contract, shape: &Shape, depth: usize) -> Tree {
    match shape {
        Shape::Any | Shape::Map(_) => Tree::Object(Vec::new()),
        Shape::Bool => Tree::Raw("false".to_owned()),
        Shape::Text(text) => match text.lower_hex {
            Some(digits) => Tree::text(&"0".repeat(digits as usize)),
            None if text.non_blank => Tree::text("x"),
            None => Tree::text(""),
        },
        Shape::Integer(integer) => Tree::Raw(nearest_to_zero(*integer).to_string()),
        Shape::Number { min, max } => {
            let value = 0.max(min.unwrap_or(i64::MIN)).min(max.unwrap_or(i64::MAX));
            Tree::Raw(value.to_string())
        }
        Shape::Enum(values) => {
            // A value that says something, where there is one.
            let value = values.iter().find(|value| !value.is_empty());
            Tree::text(value.map_or("", String::as_str))
        }
        Shape::Type(name) => {
            let mut tree = Tree::Object(Vec::new());
            if depth > 0
                && let Some(object) = contract.types.get(name)
            {
                settle(contract, object, &mut tree, &[], depth);
            }
            tree
        }
        Shape::List(_) => Tree::List(Vec::new()),
    }
}

fn nearest_to_zero(integer: Integer) -> i128 {
    0.clamp(integer.lowest(), integer.highest())
}

fn settle(contract: &Contract, object: &Object, tree: &mut Tree, keep: &[&str], depth: usize) {
    for (name, member) in &object.members {
        if member.required && tree.get(name).is_none() && !keep.contains(&name.as_str()) {
            tree.set(
                name,
                least(contract, &member.shape, depth.saturating_sub(1)),
            );
        }
    }
    obey(contract, object, tree, keep, depth);
}

/// Gives an object that has its required members what its rules ask for, and takes what they forbid.
/// Members in `keep` stay as they are.
pub(super) fn obey_rules(contract: &Contract, object: &Object, tree: &mut Tree, keep: &[&str]) {
    obey(contract, object, tree, keep, MAX_DEPTH);
}

fn obey(contract: &Contract, object: &Object, tree: &mut Tree, keep: &[&str], depth: usize) {
    // Each rule can at most undo what another one did; rules that contradict each other end here.
    for _ in 0..=object.rules.len() {
        let mut changed = false;
        for rule in &object.rules {
            let applies = rule.condition.as_ref().is_none_or(|condition| {
                let value = Tree::text(&condition.value);
                (tree.get(&condition.field) == Some(&value)) == condition.equal
            });
            if !applies {
                continue;
            }
            let (Demand::Requires(names) | Demand::Forbids(names) | Demand::Object(names)) =
                &rule.demand;
            for name in names {
                let there = tree.get(name);
                let Some(member) = object.members.get(name) else {
                    continue;
                };
                if keep.contains(&name.as_str()) {
                    continue;
                }
                match &rule.demand {
                    Demand::Requires(_) if there.is_none() => {
                        tree.set(
                            name,
                            least(contract, &member.shape, depth.saturating_sub(1)),
                        );
                        changed = true;
                    }
                    Demand::Forbids(_) if there.is_some() => {
                        tree.remove(name);
                        changed = true;
                    }
                    Demand::Object(_) if there.is_some_and(|value| !value.is_object()) => {
                        tree.set(name, Tree::Object(Vec::new()));
                        changed = true;
                    }
                    Demand::Requires(_) | Demand::Forbids(_) | Demand::Object(_) => {}
                }
            }
        }
        if !changed {
            break;
        }
    }
}

/// Values at and around the edges of a shape; some of them it refuses. The simple ones come first. An
/// object has each member of its type at the edges of its own.
pub(crate) fn edges(contract: &Contract, shape: &Shape) -> Vec<Tree> {
    edges_to(contract, shape, EDGE_DEPTH)
}

/// How many types deep edges go: a type that stands in place of another differs at its members.
const EDGE_DEPTH: usize = 1;

fn edges_to(contract: &Contract, shape: &Shape, depth: usize) -> Vec<Tree> {
    let mut edges = vec![minimal(contract, shape)];
    match shape {
        Shape::Any => edges.extend(["[]", "\"x\"", "1"].map(|text| Tree::Raw(text.to_owned()))),
        Shape::Bool => edges.push(Tree::Raw("true".to_owned())),
        Shape::Text(text) => {
            edges.extend(["x", "", " "].map(Tree::text));
            if let Some(digits) = text.lower_hex {
                edges.push(Tree::text(&"0".repeat(digits as usize + 1)));
            }
        }
        Shape::Integer(integer) => {
            let mut values = BTreeSet::new();
            for bound in [integer.lowest(), integer.highest()] {
                values.extend([bound - 1, bound, bound + 1]);
            }
            edges.extend(values.into_iter().map(|value| Tree::Raw(value.to_string())));
        }
        Shape::Number { min, max } => {
            edges.push(Tree::Raw("1.5".to_owned()));
            edges.push(Tree::Raw("-1.5".to_owned()));
            for bound in [min, max].into_iter().flatten() {
                edges.push(Tree::Raw(bound.to_string()));
                edges.push(Tree::Raw(bound.saturating_sub(1).to_string()));
                edges.push(Tree::Raw(bound.saturating_add(1).to_string()));
            }
        }
        Shape::Enum(values) => edges.extend(values.iter().map(|value| Tree::text(value))),
        Shape::Type(_) if depth == 0 => {}
        Shape::Type(name) => {
            let members = contract.types.get(name).into_iter();
            for (member, of) in members.flat_map(|object| &object.members) {
                for value in edges_to(contract, &of.shape, depth - 1) {
                    let mut tree = Tree::Object(vec![(member.clone(), value)]);
                    complete(contract, name, &mut tree, &[member]);
                    edges.push(tree);
                }
            }
        }
        Shape::List(inner) => {
            let inner = edges_to(contract, inner, depth);
            edges.extend(inner.into_iter().map(|item| Tree::List(vec![item])));
        }
        Shape::Map(inner) => {
            let inner = edges_to(contract, inner, depth);
            edges.extend(
                inner
                    .into_iter()
                    .map(|item| Tree::Object(vec![(KEY.to_owned(), item)])),
            );
        }
    }
    edges.push(Tree::Raw("null".to_owned()));
    edges
}

/// A value in the lists and maps that a shape asks for around it.
pub(crate) fn wrap(shape: &Shape, value: Tree) -> Tree {
    match shape {
        Shape::List(inner) => Tree::List(vec![wrap(inner, value)]),
        Shape::Map(inner) => Tree::Object(vec![(KEY.to_owned(), wrap(inner, value))]),
        Shape::Any
        | Shape::Bool
        | Shape::Text(_)
        | Shape::Integer(_)
        | Shape::Number { .. }
        | Shape::Enum(_)
        | Shape::Type(_) => value,
    }
}
