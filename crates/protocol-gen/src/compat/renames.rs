//! Types that have another name and are otherwise as they were: found by where they are used.

use std::collections::BTreeMap;

use crate::contract::{Contract, Member, Object, Shape};

/// From the old name of a renamed type to its new one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Renames {
    forward: BTreeMap<String, String>,
    back: BTreeMap<String, String>,
}

impl Renames {
    /// What a type of the old side is called on the new one.
    pub(super) fn new_name<'n>(&'n self, old: &'n str) -> &'n str {
        self.forward.get(old).map_or(old, String::as_str)
    }

    /// What a type of the new side was called on the old one.
    pub(super) fn old_name<'n>(&'n self, new: &'n str) -> &'n str {
        self.back.get(new).map_or(new, String::as_str)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.forward
            .iter()
            .map(|(old, new)| (old.as_str(), new.as_str()))
    }

    /// Whether two shapes are one, a renamed type taken for what it was.
    pub(super) fn same_shape(&self, old: &Shape, new: &Shape) -> bool {
        match (old, new) {
            (Shape::Type(old), Shape::Type(new)) => self.new_name(old) == new,
            (Shape::List(old), Shape::List(new)) | (Shape::Map(old), Shape::Map(new)) => {
                self.same_shape(old, new)
            }
            _ => old == new,
        }
    }

    fn same_member(&self, old: &Member, new: &Member) -> bool {
        let documents = match (&old.documents, &new.documents) {
            (None, None) => true,
            (Some(old), Some(new)) => {
                old.by == new.by
                    && old.types.len() == new.types.len()
                    && old.types.iter().all(|(value, ty)| {
                        new.types
                            .get(value)
                            .is_some_and(|new| self.new_name(ty) == new)
                    })
            }
            (Some(_), None) | (None, Some(_)) => false,
        };
        documents
            && self.same_shape(&old.shape, &new.shape)
            && old.required == new.required
            && old.externalizable == new.externalizable
            && old.absent_is_zero == new.absent_is_zero
    }

    fn same_object(&self, old: &Object, new: &Object) -> bool {
        old.rules == new.rules
            && old.members.len() == new.members.len()
            && old.members.iter().all(|(name, member)| {
                new.members
                    .get(name)
                    .is_some_and(|new| self.same_member(member, new))
            })
    }
}

/// Pairs a type that is gone with a new one where every use of the one became a use of the other and
/// both say the same.
pub(super) fn renames(old: &Contract, new: &Contract) -> Renames {
    let mut pairs = Pairs {
        old,
        new,
        forward: BTreeMap::new(),
        back: BTreeMap::new(),
        open: Vec::new(),
    };
    for (name, object) in &old.types {
        if let Some(other) = new.types.get(name) {
            pairs.objects(object, other);
        }
    }
    for (name, method) in &old.methods {
        if let Some(other) = new.methods.get(name) {
            pairs.types(&method.params, &other.params);
            if let (Some(old), Some(new)) = (&method.result, &other.result) {
                pairs.types(old, new);
            }
        }
    }
    if let (Some(old), Some(new)) = (&old.payloads, &new.payloads) {
        for (point, hook) in &old.hooks {
            if let Some(other) = new.hooks.get(point) {
                pairs.types(&hook.payload, &other.payload);
            }
        }
        if let (Some(old), Some(new)) = (&old.error_data, &new.error_data) {
            pairs.types(old, new);
        }
    }
    while let Some((a, b)) = pairs.open.pop() {
        if let (Some(a), Some(b)) = (old.types.get(&a), new.types.get(&b)) {
            pairs.objects(a, b);
        }
    }
    pairs.settle()
}

struct Pairs<'c> {
    old: &'c Contract,
    new: &'c Contract,
    /// `None` where uses disagree.
    forward: BTreeMap<String, Option<String>>,
    back: BTreeMap<String, Option<String>>,
    open: Vec<(String, String)>,
}

impl Pairs<'_> {
    fn objects(&mut self, old: &Object, new: &Object) {
        for (name, member) in &old.members {
            let Some(other) = new.members.get(name) else {
                continue;
            };
            let (mut a, mut b) = (&member.shape, &other.shape);
            while let (Shape::List(inner), Shape::List(other))
            | (Shape::Map(inner), Shape::Map(other)) = (a, b)
            {
                (a, b) = (inner, other);
            }
            if let (Shape::Type(a), Shape::Type(b)) = (a, b) {
                self.types(a, b);
            }
            if let (Some(a), Some(b)) = (&member.documents, &other.documents) {
                for (value, ty) in &a.types {
                    if let Some(other) = b.types.get(value) {
                        self.types(ty, other);
                    }
                }
            }
        }
    }

    fn types(&mut self, old: &str, new: &str) {
        if old == new || self.new.types.contains_key(old) || self.old.types.contains_key(new) {
            return;
        }
        let mut fresh = false;
        for (map, from, to) in [(&mut self.forward, old, new), (&mut self.back, new, old)] {
            map.entry(from.to_owned())
                .and_modify(|known| {
                    if known.as_deref() != Some(to) {
                        *known = None;
                    }
                })
                .or_insert_with(|| {
                    fresh = true;
                    Some(to.to_owned())
                });
        }
        if fresh {
            self.open.push((old.to_owned(), new.to_owned()));
        }
    }

    /// Drops pairs that are no pure rename. What refers to a dropped pair falls with it.
    fn settle(self) -> Renames {
        let mut renames = Renames::default();
        for (old, new) in &self.forward {
            if let Some(new) = new
                && self
                    .back
                    .get(new)
                    .is_some_and(|back| back.as_ref() == Some(old))
            {
                renames.forward.insert(old.clone(), new.clone());
                renames.back.insert(new.clone(), old.clone());
            }
        }
        loop {
            let wrong: Vec<(String, String)> = renames
                .iter()
                .filter(
                    |(old, new)| match (self.old.types.get(*old), self.new.types.get(*new)) {
                        (Some(old), Some(new)) => !renames.same_object(old, new),
                        _ => true,
                    },
                )
                .map(|(old, new)| (old.to_owned(), new.to_owned()))
                .collect();
            if wrong.is_empty() {
                return renames;
            }
            for (old, new) in wrong {
                renames.forward.remove(&old);
                renames.back.remove(&new);
            }
        }
    }
}
