//! Rust names where the derived one does not do, and the names of what documents leave without one.

use std::collections::{BTreeMap, BTreeSet};

use super::UNKNOWN_PAYLOAD;
use crate::{
    contract::{Contract, Object},
    names,
    resolve::{ERROR_REASON, HOOK_POINT, is_reserved_type, is_type_word, is_wire_character},
};

/// How names of one position are derived and, where nothing follows from the wire name, begun.
#[derive(Clone, Copy)]
pub(super) struct Position {
    derive: fn(&str) -> Option<String>,
    fallback: &'static str,
    /// What stands before the number of a name that is taken.
    joint: &'static str,
}

pub(super) const TYPE: Position = Position {
    derive: names::upper_camel,
    fallback: "Unnamed",
    joint: "",
};
pub(super) const VALUE: Position = Position {
    derive: names::variant,
    fallback: "Unnamed",
    joint: "",
};
pub(super) const FIELD: Position = Position {
    derive: names::snake,
    fallback: "unnamed",
    joint: "_",
};
pub(super) const CONSTANT: Position = Position {
    derive: names::screaming_snake,
    fallback: "UNNAMED",
    joint: "_",
};

/// The Rust name of a wire name among those that are taken, if it is not the derived one.
pub(super) fn give(wire: &str, position: Position, taken: &mut BTreeSet<String>) -> Option<String> {
    let derived = (position.derive)(wire);
    let base = derived.as_deref().unwrap_or(position.fallback);
    let name = numbered(base, position.joint, |name| !taken.contains(name));
    taken.insert(name.clone());
    (derived.as_ref() != Some(&name)).then_some(name)
}

/// A name, or the first of `name2`, `name3` and so on, that is free.
fn numbered(base: &str, joint: &str, is_free: impl Fn(&str) -> bool) -> String {
    if is_free(base) {
        return base.to_owned();
    }
    // A number right behind a number would read as one.
    let joint = if base.ends_with(|c: char| c.is_ascii_digit()) {
        "_"
    } else {
        joint
    };
    let mut number = 2_usize;
    loop {
        // Finitely many are taken.
        let name = format!("{base}{joint}{number}");
        if is_free(&name) {
            return name;
        }
        number += 1;
    }
}

/// Names of types, enums and scalars: definition names and Rust names.
pub(super) struct Names {
    /// Every definition name.
    wire: BTreeSet<String>,
    /// Every Rust name that something claims.
    claims: BTreeSet<String>,
    /// Rust names that are not the derived ones, by definition name.
    rust: BTreeMap<String, String>,
    /// The type of payloads of which nothing is known.
    pub(super) unknown_payload: String,
}

impl Names {
    /// Names the types of a contract.
    pub(super) fn of(contract: &Contract) -> Self {
        let mut names = Self {
            wire: [HOOK_POINT, ERROR_REASON].map(str::to_owned).into(),
            claims: BTreeSet::new(),
            rust: BTreeMap::new(),
            unknown_payload: String::new(),
        };
        names.wire.extend(contract.types.keys().cloned());
        for (name, object) in &contract.types {
            names.claim(name, &made_up(object));
        }
        names.unknown_payload = names.new_name(UNKNOWN_PAYLOAD);
        names
    }

    /// A definition name for something that documents leave without one, from what it may be called.
    pub(super) fn new_name(&mut self, base: &str) -> String {
        let name = numbered(base, "", |name| {
            is_type_name(name) && !self.wire.contains(name)
        });
        self.wire.insert(name.clone());
        self.claim(&name, &[]);
        name
    }

    /// Whether a definition name is free.
    pub(super) fn is_free(&self, name: &str) -> bool {
        is_type_name(name) && !self.wire.contains(name)
    }

    /// The Rust name of a definition, if it is not the derived one.
    pub(super) fn rust(&self, name: &str) -> Option<String> {
        self.rust.get(name).cloned()
    }

    fn claim(&mut self, name: &str, made_up: &[&str]) {
        let derived = names::upper_camel(name);
        let base = derived.as_deref().unwrap_or(TYPE.fallback);
        let rust = numbered(base, TYPE.joint, |rust| {
            !is_reserved_type(rust)
                && !self.claims.contains(rust)
                && made_up
                    .iter()
                    .all(|end| !self.claims.contains(&format!("{rust}{end}")))
        });
        self.claims
            .extend(made_up.iter().map(|end| format!("{rust}{end}")));
        self.claims.insert(rust.clone());
        if derived.as_ref() != Some(&rust) {
            self.rust.insert(name.to_owned(), rust);
        }
    }
}

/// How the names of types end that the generator makes beside an object. All are kept free, so that an
/// object can grow.
fn made_up(_: &Object) -> Vec<&'static str> {
    vec!["Required", "Document"]
}

/// Whether definitions take a name for a type.
pub(super) fn is_type_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !is_type_word(name)
        && !matches!(name, HOOK_POINT | ERROR_REASON)
}

/// Whether definitions take a name for anything else.
pub(super) fn is_wire_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(is_wire_character)
}
