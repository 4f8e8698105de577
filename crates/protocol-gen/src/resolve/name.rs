//! Names: what may stand on the wire, what Rust calls it, and where two meet.

use std::collections::HashMap;

use super::{ERROR_REASON, HOOK_POINT, Kind, Resolver};
use crate::{
    diagnostic::Code,
    model::{Model, Name},
    names,
    source::{At, Spanned},
};

/// Rust names of types that generated code needs for itself: the prelude, what the modules of types
/// import, and the derives.
const RESERVED_TYPES: &[&str] = &[
    "AsRef",
    "BTreeMap",
    "Box",
    "Clone",
    "Copy",
    "Debug",
    "Default",
    "Deserialize",
    "Deserializer",
    "Display",
    "Drop",
    "Eq",
    "Err",
    "ErrorReason",
    "Externalizable",
    "Fn",
    "FnMut",
    "FnOnce",
    "From",
    "FromStr",
    "Hash",
    "HookPoint",
    "Into",
    "InvalidValue",
    "Iterator",
    "None",
    "ObjectVisitor_",
    "Ok",
    "Option",
    "Ord",
    "PartialEq",
    "PartialOrd",
    "RawJson",
    "Result",
    "Self_",
    "Send",
    "Serialize",
    "Serializer",
    "Sized",
    "Some",
    "String",
    "Sync",
    "ToOwned",
    "ToString",
    "TryFrom",
    "TryInto",
    "Unpin",
    "ValueVisitor_",
    "Vec",
    "DecodeError",
];

/// Gives Rust names to the members of one namespace and finds those that meet.
pub(super) struct Namer {
    what: &'static str,
    taken: HashMap<String, (String, At)>,
}

impl Namer {
    pub(super) fn new(what: &'static str) -> Self {
        Self {
            what,
            taken: HashMap::new(),
        }
    }

    /// Checks a wire name and finds its Rust name: the given one, or one derived by `derive`.
    pub(super) fn name(
        &mut self,
        resolver: &mut Resolver<'_>,
        wire: &Spanned<String>,
        rust: Option<&Spanned<String>>,
        derive: fn(&str) -> Option<String>,
    ) -> Name {
        let sound = resolver.wire_name(self.what, wire, derive);
        let Some(name) = resolver.rust_name(self.what, wire, rust, derive, sound) else {
            return Name {
                wire: wire.value.clone(),
                rust: "Unnamed".to_owned(),
            };
        };
        let at = rust.map_or(wire.at, |rust| rust.at);
        match self.taken.get(&name) {
            Some((other, first)) if *other == wire.value => {
                let first = *first;
                resolver.duplicate(self.what, wire, first);
            }
            Some((other, first)) => {
                let (other, first) = (other.clone(), *first);
                resolver.collision(self.what, (&wire.value, at), (&other, first), &name);
            }
            None => {
                self.taken.insert(name.clone(), (wire.value.clone(), at));
            }
        }
        Name {
            wire: wire.value.clone(),
            rust: name,
        }
    }
}

impl Resolver<'_> {
    /// The name of a scalar, enum or type; [`Resolver::rust_type_names`] finds those that meet.
    pub(super) fn type_name(
        &mut self,
        wire: &Spanned<String>,
        rust: Option<&Spanned<String>>,
    ) -> Name {
        let sound = !wire.value.is_empty()
            && wire.value.starts_with(|c: char| c.is_ascii_alphabetic())
            && wire
                .value
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if !sound {
            self.diagnostics.report(
                Code::BadName,
                wire.at,
                format!("`{}` is no name for a type", wire.value),
                "use an ASCII letter, then ASCII letters, digits and underscores; prose may be in \
                 any script, names are ASCII",
            );
        } else if is_type_word(&wire.value) {
            self.diagnostics.report(
                Code::ReservedName,
                wire.at,
                format!("`{}` is a word of type expressions", wire.value),
                "choose another name",
            );
        }
        let name = self
            .rust_name("type", wire, rust, names::upper_camel, sound)
            .unwrap_or_else(|| "Unnamed".to_owned());
        // A built-in name has been reported as such.
        let built_in = matches!(wire.value.as_str(), HOOK_POINT | ERROR_REASON);
        if is_reserved_type(&name) && !built_in {
            let at = rust.map_or(wire.at, |rust| rust.at);
            self.diagnostics.report(
                Code::ReservedName,
                at,
                format!("a Rust type `{name}` would hide one that generated code needs"),
                format!("give another Rust name: `rust = \"Wire{name}\"`"),
            );
        }
        Name {
            wire: wire.value.clone(),
            rust: name,
        }
    }

    /// Finds Rust names of types that meet, those that the generator makes up among them.
    pub(super) fn rust_type_names(&mut self, model: &Model) {
        let mut claims: Vec<(String, String, At)> = Vec::new();
        let places = self.type_places();
        let mut claim = |rust: &str, wire: &str, why: &str| {
            if matches!(wire, HOOK_POINT | ERROR_REASON) {
                return;
            }
            let at = places.get(wire).copied().unwrap_or(At {
                file: 0,
                start: 0,
                end: 0,
            });
            claims.push((rust.to_owned(), format!("{why}`{wire}`"), at));
        };
        for scalar in model.scalars.values() {
            claim(&scalar.name.rust, &scalar.name.wire, "");
        }
        for def in model.enums.values() {
            claim(&def.name.rust, &def.name.wire, "");
        }
        for ty in model.types.values() {
            claim(&ty.name.rust, &ty.name.wire, "");
            if ty.takes_required_struct() {
                claim(
                    &ty.required_struct(),
                    &ty.name.wire,
                    "the struct of the required fields of ",
                );
            }
            if ty.fields.iter().any(|field| field.documents.is_some()) {
                claim(
                    &ty.document_enum(),
                    &ty.name.wire,
                    "the enum of the documents in ",
                );
            }
        }
        claims.sort_by(|a, b| (&a.0, a.2, &a.1).cmp(&(&b.0, b.2, &b.1)));
        for pair in claims.windows(2) {
            let [(rust, first, first_at), (again, second, second_at)] = pair else {
                continue;
            };
            if rust == again && rust != "Unnamed" {
                self.diagnostics
                    .report(
                        Code::RustCollision,
                        *second_at,
                        format!("{second} and {first} would both be `{rust}` in Rust"),
                        "rename one of them, or give it another Rust name: `rust = \"…\"`",
                    )
                    .label("this one")
                    .also(*first_at, "and this one");
            }
        }
    }

    pub(super) fn type_places(&self) -> HashMap<String, At> {
        let definitions = self.definitions;
        definitions
            .scalars
            .iter()
            .map(|item| &item.name)
            .chain(definitions.enums.iter().map(|item| &item.name))
            .chain(definitions.types.iter().map(|item| &item.name))
            .map(|name| (name.value.clone(), name.at))
            .collect()
    }

    /// Whether `wire` may stand on the wire as a name; reports it otherwise.
    fn wire_name(
        &mut self,
        what: &str,
        wire: &Spanned<String>,
        derive: fn(&str) -> Option<String>,
    ) -> bool {
        // Only an enum value may be empty, and only there is a Rust name derived for it.
        if wire.value.is_empty() && derive("").is_none() {
            self.diagnostics.report(
                Code::BadName,
                wire.at,
                format!("a {what} cannot have an empty name"),
                "give it a name",
            );
            return false;
        }
        let bad = wire.value.chars().find(|&c| !is_wire_character(c));
        let Some(bad) = bad else {
            return true;
        };
        let shown = if bad.is_control() || !bad.is_ascii() || bad == ' ' {
            format!("U+{:04X}", u32::from(bad))
        } else {
            format!("`{bad}`")
        };
        self.diagnostics.report(
            Code::BadCharacter,
            wire.at,
            format!("the name of a {what} cannot have {shown}"),
            "use printable ASCII without space, `\"`, `\\`, `<`, `>` and `&`: JSON writers differ \
             in how they escape other characters, so the contract has none of them; prose may be \
             in any script",
        );
        false
    }

    fn rust_name(
        &mut self,
        what: &str,
        wire: &Spanned<String>,
        rust: Option<&Spanned<String>>,
        derive: fn(&str) -> Option<String>,
        sound: bool,
    ) -> Option<String> {
        if let Some(rust) = rust {
            // The derived case of a given name has no other capitals than the name itself.
            let cased = match derive("aB").as_deref() {
                Some("a_b") => !rust.value.contains(|c: char| c.is_ascii_uppercase()),
                Some("A_B") => !rust.value.contains(|c: char| c.is_ascii_lowercase()),
                _ => rust.value.starts_with(|c: char| c.is_ascii_uppercase()),
            };
            if names::is_identifier(&rust.value) && cased {
                return Some(rust.value.clone());
            }
            let example = derive(&rust.value).unwrap_or_else(|| "Name".to_owned());
            self.diagnostics.report(
                Code::BadName,
                rust.at,
                format!("`{}` cannot be the Rust name of a {what}", rust.value),
                format!("write an identifier in the case of its position, such as `{example}`"),
            );
            return None;
        }
        let name = derive(&wire.value);
        if name.is_none() && sound {
            self.diagnostics.report(
                Code::NoRustName,
                wire.at,
                format!(
                    "no Rust name can be derived for the {what} `{}`",
                    wire.value
                ),
                "give one: `rust = \"…\"`",
            );
        }
        name
    }

    fn collision(&mut self, what: &str, second: (&str, At), first: (&str, At), rust: &str) {
        self.diagnostics
            .report(
                Code::RustCollision,
                second.1,
                format!(
                    "the {what}s `{}` and `{}` would both be `{rust}` in Rust",
                    first.0, second.0
                ),
                "rename one of them, or give it another Rust name: `rust = \"…\"`",
            )
            .label("this one")
            .also(first.1, "and this one");
    }

    pub(super) fn kind(&self, name: &str) -> Option<Kind> {
        self.kinds.get(name).copied()
    }
}

/// Whether generated code needs the Rust name of a type for itself.
pub(crate) fn is_reserved_type(rust: &str) -> bool {
    RESERVED_TYPES.contains(&rust)
}

/// Whether a name is a word of type expressions.
pub(crate) fn is_type_word(name: &str) -> bool {
    matches!(
        name,
        "string" | "bool" | "i64" | "u64" | "number" | "json" | "list" | "map"
    )
}

/// Whether a character may stand in a name on the wire.
pub(crate) fn is_wire_character(c: char) -> bool {
    c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '<' | '>' | '&')
}
