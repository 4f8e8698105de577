//! Finds types that no finite message can have. Knows no documents.

use std::collections::BTreeMap;

use super::{Contract, Shape};
use crate::graph;

/// Each required member of a type that contains itself through required members alone, as type and
/// member.
pub(super) fn endless(contract: &Contract) -> Vec<(&str, &str)> {
    let index: BTreeMap<&str, usize> = contract
        .types
        .keys()
        .enumerate()
        .map(|(index, name)| (name.as_str(), index))
        .collect();
    let edges: Vec<Vec<(&str, usize)>> = contract
        .types
        .values()
        .map(|object| {
            object
                .members
                .iter()
                .filter_map(|(name, member)| match &member.shape {
                    Shape::Type(ty) if member.required && !member.externalizable => {
                        Some((name.as_str(), *index.get(ty.as_str())?))
                    }
                    Shape::Any
                    | Shape::Bool
                    | Shape::Text(_)
                    | Shape::Integer(_)
                    | Shape::Number { .. }
                    | Shape::Enum(_)
                    | Shape::Type(_)
                    | Shape::List(_)
                    | Shape::Map(_) => None,
                })
                .collect()
        })
        .collect();
    let successors: Vec<Vec<usize>> = edges
        .iter()
        .map(|edges| edges.iter().map(|(_, to)| *to).collect())
        .collect();
    let components = graph::components(&successors);
    let on_cycle = graph::on_cycle(&successors);
    let mut found = Vec::new();
    for ((name, here), edges) in index.iter().zip(&edges) {
        for (member, to) in edges {
            if on_cycle.get(*here) == Some(&true) && components.get(*here) == components.get(*to) {
                found.push((*name, *member));
            }
        }
    }
    found
}
