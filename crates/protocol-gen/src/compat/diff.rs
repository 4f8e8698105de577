//! Finds every change from one contract to another, once. Runs no decoder.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    change::{Change, Growth, Kind, Law, Place, Probe, Subject, Uses, Verdict},
    renames::{self, Renames},
};
use crate::contract::{Contract, DocumentKind, push_segment};

/// Both sides and what was found so far.
pub(super) struct Diff<'c> {
    pub(super) old: &'c Contract,
    pub(super) new: &'c Contract,
    pub(super) renames: Renames,
    changes: Vec<Change>,
    /// From what makes changes one change to its index.
    groups: BTreeMap<String, usize>,
}

/// All changes, judged, forbidden ones first, and the types that were renamed.
pub(super) fn diff(old: &Contract, new: &Contract) -> (Vec<Change>, Renames) {
    let mut diff = Diff {
        old,
        new,
        renames: renames::renames(old, new),
        changes: Vec::new(),
        groups: BTreeMap::new(),
    };
    diff.identity();
    diff.errors();
    diff.hooks();
    diff.terms();
    diff.methods();
    diff.limits();
    diff.renamed_types();
    diff.types();
    diff.carry();
    let major = old.id != new.id || old.major != new.major;
    let mut changes = diff.changes;
    if major {
        for change in &mut changes {
            change.verdict = Verdict::Major;
        }
    }
    changes.sort_by(|a, b| {
        (a.verdict.rank(), &a.subject, a.kind).cmp(&(b.verdict.rank(), &b.subject, b.kind))
    });
    (changes, diff.renames)
}

impl Verdict {
    fn rank(self) -> u8 {
        match self {
            Self::Forbidden(_) => 0,
            Self::Major => 1,
            Self::Allowed(_) => 2,
            Self::Unseen => 3,
        }
    }
}

/// A JSON pointer of segments.
pub(super) fn pointer(segments: &[&str]) -> String {
    let mut pointer = String::new();
    for segment in segments {
        push_segment(&mut pointer, segment);
    }
    pointer
}

impl Diff<'_> {
    pub(super) fn push(&mut self, change: Change) {
        self.changes.push(change);
    }

    /// Adds a change, or adds its places to the one that it is part of.
    pub(super) fn push_grouped(&mut self, group: String, change: Change) {
        let Some(known) = self
            .groups
            .get(&group)
            .and_then(|index| self.changes.get_mut(*index))
        else {
            self.groups.insert(group, self.changes.len());
            self.changes.push(change);
            return;
        };
        known.places.extend(change.places);
        known.uses.old.extend(change.uses.old);
        known.uses.new.extend(change.uses.new);
        for carried in change.carries {
            if !known.carries.contains(&carried) {
                known.carries.push(carried);
            }
        }
        match (&mut known.probe, change.probe) {
            (Probe::Members(known), Probe::Members(more)) => known.extend(more),
            // A hook or an error shows best where its values stand.
            (_, Probe::Nothing) => {}
            (known @ (Probe::Nothing | Probe::Error(_)), more) => *known = more,
            _ => {}
        }
    }

    /// The change of a group, if there is one.
    pub(super) fn grouped(&mut self, group: &str) -> Option<&mut Change> {
        let index = *self.groups.get(group)?;
        self.changes.get_mut(index)
    }

    fn identity(&mut self) {
        let (old, new) = (self.old, self.new);
        let forbidden = Verdict::Forbidden(Law::Identity);
        let schema = |change: Change, name: &str| change.at(DocumentKind::Schema, pointer(&[name]));
        if old.id != new.id {
            let change = Change::new(
                Kind::ProtocolId,
                Subject::Protocol,
                Verdict::Major,
                "has another id",
            )
            .was(format!("{:?}", old.id), format!("{:?}", new.id));
            let change = ["$id", "protocol", "protocolID"]
                .into_iter()
                .fold(change, schema);
            self.push(change);
        }
        if old.major != new.major {
            let change = Change::new(
                Kind::ProtocolMajor,
                Subject::Protocol,
                Verdict::Major,
                "has another major version",
            )
            .was(old.major, new.major);
            self.push(schema(change, "protocolMajor"));
        }
        if old.title != new.title {
            let change = Change::new(
                Kind::ProtocolTitle,
                Subject::Protocol,
                forbidden,
                "has another title",
            )
            .was(format!("{:?}", old.title), format!("{:?}", new.title));
            self.push(schema(change, "title"));
        }
        let payloads =
            |change: Change, name: &str| change.at(DocumentKind::Payloads, pointer(&[name]));
        match (&old.payloads, &new.payloads) {
            (Some(old), Some(new)) => {
                if old.id != new.id {
                    let change = Change::new(
                        Kind::PayloadsId,
                        Subject::Payloads,
                        forbidden,
                        "has another id",
                    )
                    .was(format!("{:?}", old.id), format!("{:?}", new.id));
                    self.push(payloads(change, "$id"));
                }
                if old.title != new.title {
                    let change = Change::new(
                        Kind::PayloadsTitle,
                        Subject::Payloads,
                        forbidden,
                        "has another title",
                    )
                    .was(format!("{:?}", old.title), format!("{:?}", new.title));
                    self.push(payloads(change, "title"));
                }
            }
            (None, None) => {}
            (old, _) => {
                let what = if old.is_none() {
                    "was added"
                } else {
                    "is gone"
                };
                let change =
                    Change::new(Kind::PayloadsDocument, Subject::Payloads, forbidden, what)
                        .at(DocumentKind::Payloads, String::new());
                self.push(change);
            }
        }
    }

    fn renamed_types(&mut self) {
        let pairs: Vec<(String, String)> = self
            .renames
            .iter()
            .map(|(old, new)| (old.to_owned(), new.to_owned()))
            .collect();
        for (old, new) in pairs {
            let places = self.type_places(&new, false);
            let change = Change::new(
                Kind::TypeRenamed,
                Subject::Type(new.clone()),
                Verdict::Forbidden(Law::Types),
                "has another name and says the same",
            )
            .was(format!("`{old}`"), format!("`{new}`"))
            .places(places)
            .probe(Probe::Type(old.clone()))
            .note(format!(
                "generated Rust: breaking, the public type `{old}` is gone"
            ))
            .note("canonical document: its bytes and its hash change, so a rename is not free");
            self.push(change);
        }
    }

    /// Where a type is defined; on the old side where it is gone.
    pub(super) fn type_places(&self, ty: &str, gone: bool) -> Vec<Place> {
        let contract = if gone { self.old } else { self.new };
        let Some(object) = contract.types.get(ty) else {
            return Vec::new();
        };
        [
            (DocumentKind::Schema, object.in_contract),
            (DocumentKind::Payloads, object.in_payloads),
        ]
        .into_iter()
        .filter(|(_, there)| *there)
        .map(|(document, _)| Place {
            document,
            pointer: pointer(&["$defs", ty]),
        })
        .collect()
    }

    /// Gives added types to the changes that use them, and removed ones to the changes that no longer
    /// do; what is left over is a change of its own.
    fn carry(&mut self) {
        let (old, new) = (self.old, self.new);
        let added: BTreeSet<&str> = new
            .types
            .iter()
            .filter(|(name, object)| {
                let before = old.types.get(self.renames.old_name(name));
                // A type may also come to stand in a second document.
                before.is_none_or(|before| {
                    (object.in_contract && !before.in_contract)
                        || (object.in_payloads && !before.in_payloads)
                })
            })
            .map(|(name, _)| name.as_str())
            .collect();
        let removed: BTreeSet<&str> = old
            .types
            .iter()
            .filter(|(name, object)| {
                let after = new.types.get(self.renames.new_name(name));
                after.is_none_or(|after| {
                    (object.in_contract && !after.in_contract)
                        || (object.in_payloads && !after.in_payloads)
                })
            })
            .map(|(name, _)| name.as_str())
            .collect();
        for (contract, mut left, gone) in [(new, added, false), (old, removed, true)] {
            let word = if gone { "without" } else { "with" };
            for change in &mut self.changes {
                let uses = if gone {
                    &change.uses.old
                } else {
                    &change.uses.new
                };
                let mut open: Vec<&str> = uses
                    .iter()
                    .filter_map(|name| left.get(name.as_str()).copied())
                    .collect();
                for name in &open {
                    left.remove(name);
                }
                while let Some(name) = open.pop() {
                    let line = format!("{word} the type `{name}`");
                    if !change.carries.contains(&line) {
                        change.carries.push(line);
                    }
                    for used in used_by(contract, name) {
                        if left.remove(used) {
                            open.push(used);
                        }
                    }
                }
                change.carries.sort();
            }
            for name in left {
                let (kind, what) = if gone {
                    (Kind::TypeRemoved, "is gone")
                } else {
                    (Kind::TypeAdded, "was added and nothing new uses it")
                };
                let known = |side: &Contract| side.types.contains_key(name);
                let what = if known(old) && known(new) {
                    "stands in other documents than before"
                } else {
                    what
                };
                let change = Change::new(
                    kind,
                    Subject::Type(name.to_owned()),
                    Verdict::Forbidden(Law::Types),
                    what,
                )
                .places(self.type_places(name, gone));
                self.changes.push(change);
            }
        }
    }
}

/// The types that a type refers to.
fn used_by<'c>(contract: &'c Contract, ty: &str) -> Vec<&'c str> {
    contract.types.get(ty).map_or_else(Vec::new, |object| {
        object
            .members
            .values()
            .flat_map(|member| {
                let inner = member.shape.used_type();
                let documents = member.documents.iter().flat_map(|of| of.types.values());
                inner.into_iter().chain(documents.map(String::as_str))
            })
            .collect()
    })
}

impl Uses {
    pub(super) fn of(
        old: impl IntoIterator<Item = String>,
        new: impl IntoIterator<Item = String>,
    ) -> Self {
        Self {
            old: old.into_iter().collect(),
            new: new.into_iter().collect(),
        }
    }
}

/// What a change that adds or removes may be: adding grows, removing breaks.
pub(super) fn grow_or_break(added: bool, growth: Growth, law: Law) -> Verdict {
    if added {
        Verdict::Allowed(growth)
    } else {
        Verdict::Forbidden(law)
    }
}
