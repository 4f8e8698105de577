//! Since when each part of a contract exists, from the chain of releases, and the sentence that says it
//! in the prose of a model. Nothing of it is written by hand.

use std::collections::{BTreeMap, BTreeSet};

use super::Releases;
use crate::{
    contract::{Contract, Shape},
    model::{Doc, EnumSource, Model},
};

/// A part of a contract that can be new.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Type(String),
    Member(String, String),
    /// A value of a shared enum.
    Value(String, String),
    Method(String),
    Error(String),
    Hook(String),
}

/// What documents and Rust docs say of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Since {
    /// It is as old as the contract: nothing is said.
    Always,
    Release(String),
    Never,
}

impl Since {
    fn say(&self, doc: &mut Doc) {
        let sentence = match self {
            Self::Always => return,
            Self::Release(name) => format!("Since {name}."),
            Self::Never => "Not yet released.".to_owned(),
        };
        doc.0.push_str("\n\n");
        doc.0.push_str(&sentence);
    }
}

impl Releases {
    /// Says in the prose of a model since when what exists, where the first release does not have it.
    /// A part of something new is as old as the whole, and says nothing of its own.
    pub fn annotate(&self, model: &mut Model) {
        let Some((first, later)) = self.releases.split_first() else {
            return;
        };
        let mut seen: BTreeMap<Part, Since> = parts(&first.contract)
            .into_iter()
            .map(|part| (part, Since::Always))
            .collect();
        for release in later {
            for part in parts(&release.contract) {
                seen.entry(part)
                    .or_insert_with(|| Since::Release(release.name.clone()));
            }
        }
        let since = |part: Part| seen.get(&part).cloned().unwrap_or(Since::Never);
        for ty in model.types.values_mut() {
            let name = ty.name.wire.clone();
            let whole = since(Part::Type(name.clone()));
            for field in &mut ty.fields {
                let own = since(Part::Member(name.clone(), field.name.wire.clone()));
                if own != whole {
                    own.say(&mut field.doc);
                }
            }
            whole.say(&mut ty.doc);
        }
        for def in model.enums.values_mut() {
            let name = def.name.wire.clone();
            let source = def.source;
            let of = |value: &str| match source {
                EnumSource::Declared => since(Part::Value(name.clone(), value.to_owned())),
                EnumSource::Hooks => since(Part::Hook(value.to_owned())),
                EnumSource::Errors => since(Part::Error(value.to_owned())),
            };
            let values: Vec<Since> = def
                .values
                .iter()
                .map(|value| of(&value.name.wire))
                .collect();
            // An enum is as old as the oldest of its values.
            let all: BTreeSet<_> = values.iter().map(|since| format!("{since:?}")).collect();
            match values.first() {
                Some(whole) if all.len() == 1 && *whole != Since::Always => whole.say(&mut def.doc),
                _ => {
                    for (value, since) in def.values.iter_mut().zip(values) {
                        since.say(&mut value.doc);
                    }
                }
            }
        }
        for method in &mut model.methods {
            since(Part::Method(method.name.wire.clone())).say(&mut method.doc);
        }
        for error in &mut model.errors {
            since(Part::Error(error.name.wire.clone())).say(&mut error.doc);
        }
        for hook in &mut model.hooks {
            since(Part::Hook(hook.name.wire.clone())).say(&mut hook.doc);
        }
    }
}

fn parts(contract: &Contract) -> BTreeSet<Part> {
    let mut parts = BTreeSet::new();
    for (name, object) in &contract.types {
        parts.insert(Part::Type(name.clone()));
        for (member, of) in &object.members {
            parts.insert(Part::Member(name.clone(), member.clone()));
            if let (Some(shared), Shape::Enum(values)) = (&of.shared, of.shape.innermost()) {
                for value in values {
                    parts.insert(Part::Value(shared.clone(), value.clone()));
                }
            }
        }
    }
    parts.extend(contract.methods.keys().cloned().map(Part::Method));
    parts.extend(contract.errors.keys().cloned().map(Part::Error));
    parts.extend(contract.events.iter().cloned().map(Part::Hook));
    if let Some(payloads) = &contract.payloads {
        parts.extend(payloads.hooks.keys().cloned().map(Part::Hook));
    }
    parts
}
