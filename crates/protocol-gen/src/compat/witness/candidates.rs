//! Messages that are worth trying for a member of a type. Knows no changes and judges nothing.

use std::collections::BTreeSet;

use crate::contract::{
    Contract, Shape,
    sample::{self, Tree, wrap},
};

/// Objects to start from: nothing, and each value of the members that rules look at.
pub(in crate::compat) fn bases(contract: &Contract, ty: &str) -> Vec<Tree> {
    let mut bases = vec![Tree::Object(Vec::new())];
    let Some(object) = contract.types.get(ty) else {
        return bases;
    };
    let fields: BTreeSet<&str> = object
        .rules
        .iter()
        .filter_map(|rule| rule.condition.as_ref())
        .map(|condition| condition.field.as_str())
        .collect();
    for field in fields {
        if let Some(Shape::Enum(values)) = object.members.get(field).map(|member| &member.shape) {
            bases.extend(
                values
                    .iter()
                    .map(|value| Tree::Object(vec![(field.to_owned(), Tree::text(value))])),
            );
        }
    }
    bases
}

/// What to try of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::compat) enum Want {
    /// Both that it is there and that it is not.
    All,
    /// That it is there, with values at its edges; the highest ones first.
    Present { highest_first: bool },
    /// That it is not there, and the least that it can be.
    Presence,
    /// `null` in its place.
    Null,
    /// One value of an enum.
    Text(String),
}

/// Objects of a type with a member, and without it.
pub(in crate::compat) fn of_member(
    contract: &Contract,
    ty: &str,
    member: &str,
    want: &Want,
) -> Vec<Tree> {
    let values = contract
        .types
        .get(ty)
        .and_then(|object| object.members.get(member))
        .map(|member| values(contract, &member.shape, want))
        .unwrap_or_default();
    let mut trees = Vec::new();
    for base in bases(contract, ty) {
        if matches!(want, Want::All | Want::Presence) {
            let mut tree = base.clone();
            tree.remove(member);
            sample::complete(contract, ty, &mut tree, &[member]);
            trees.push(tree);
        }
        for value in &values {
            // The member stands first, so that a decoder that does not know it says so first.
            let mut tree = Tree::Object(vec![(member.to_owned(), value.clone())]);
            if let Tree::Object(members) = &base {
                for (name, value) in members.iter().filter(|(name, _)| name != member) {
                    tree.set(name, value.clone());
                }
            }
            sample::complete(contract, ty, &mut tree, &[member]);
            trees.push(tree);
        }
    }
    trees
}

fn values(contract: &Contract, shape: &Shape, want: &Want) -> Vec<Tree> {
    match want {
        Want::All => sample::edges(contract, shape),
        Want::Present { highest_first } => {
            let mut edges = sample::edges(contract, shape);
            if *highest_first {
                edges.reverse();
            }
            edges
        }
        Want::Presence => vec![sample::minimal(contract, shape)],
        Want::Null => vec![Tree::Raw("null".to_owned())],
        Want::Text(text) => {
            vec![wrap(shape, Tree::text(text))]
        }
    }
}
