//! Enums and scalars, which documents write out at every place: which places share one, and its name.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    PAYLOADS, TYPES,
    names::{self, Names},
    toml::{Inline, Text, key, string},
    width,
};
use crate::{
    contract::{Contract, DocumentKind, Member, Shape, ShapeFault, push_segment},
    model::Integer,
    names as rust,
    resolve::{ERROR_REASON, HOOK_POINT},
};

/// What an enum or a scalar is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Enum(BTreeSet<String>),
    Text {
        non_blank: bool,
        lower_hex: Option<u32>,
    },
    /// Width, lower and upper bound.
    Integer(&'static str, Option<i128>, Option<i128>),
}

/// The enums and scalars of a contract.
pub(super) struct Shared {
    /// Names, by what they are and what the supplement calls them.
    named: BTreeMap<(What, Option<String>), Definition>,
    /// The name at each member that has one.
    members: BTreeMap<(String, String), String>,
}

struct Definition {
    name: String,
    rust: Option<String>,
    in_contract: bool,
}

impl Shared {
    /// Finds what has to be named: every enum; every string and integer with terms inside of a list or a
    /// map, where only a scalar can state them; and whatever the supplement names. Equal ones share a
    /// name where nothing says that they do not.
    pub(super) fn of(contract: &Contract, names: &mut Names, faults: &mut Vec<ShapeFault>) -> Self {
        let mut shared = Self {
            named: BTreeMap::new(),
            members: BTreeMap::new(),
        };
        let reasons: BTreeSet<String> = contract.errors.keys().cloned().collect();
        // The contract first: what it shares with payloads stands in it.
        let mut types: Vec<_> = contract.types.iter().collect();
        types.sort_by_key(|(_, object)| !object.in_contract);
        for (ty, object) in types {
            for (name, member) in &object.members {
                let mut fault = |message: &str| {
                    let mut pointer = String::new();
                    for segment in ["$defs", ty, "properties", name] {
                        push_segment(&mut pointer, segment);
                    }
                    faults.push(ShapeFault {
                        document: if object.in_contract {
                            DocumentKind::Schema
                        } else {
                            DocumentKind::Payloads
                        },
                        pointer,
                        message: message.to_owned(),
                    });
                };
                let nested = matches!(member.shape, Shape::List(_) | Shape::Map(_));
                let what = match member.shape.innermost() {
                    Shape::Enum(values) => {
                        let mut values = values.clone();
                        if empty_is_absent(member) {
                            values.remove("");
                        }
                        if values.is_empty() {
                            fault(
                                "definitions cannot have an optional member whose only value is empty",
                            );
                            continue;
                        }
                        let built_in = [(HOOK_POINT, &contract.events), (ERROR_REASON, &reasons)]
                            .into_iter()
                            .find(|(name, all)| {
                                values == **all
                                    && member.shared.as_deref().is_none_or(|of| of == *name)
                            });
                        if let Some((built_in, _)) = built_in {
                            shared.name_member(ty, name, built_in);
                            continue;
                        }
                        What::Enum(values)
                    }
                    Shape::Text(text)
                        if !member.externalizable
                            && (member.shared.is_some()
                                || text.lower_hex.is_some()
                                || (nested && text.non_blank)) =>
                    {
                        What::Text {
                            non_blank: text.non_blank,
                            lower_hex: text.lower_hex,
                        }
                    }
                    Shape::Integer(integer)
                        if member.shared.is_some()
                            || (nested && (integer.min.is_some() || integer.max.is_some())) =>
                    {
                        let Integer { min, max, .. } = *integer;
                        What::Integer(width(*integer), min, max)
                    }
                    Shape::Number { min, max } if nested && (min.is_some() || max.is_some()) => {
                        fault(
                            "definitions cannot bound a number that is not an integer inside of a list \
                             or a map",
                        );
                        continue;
                    }
                    Shape::Any
                    | Shape::Bool
                    | Shape::Text(_)
                    | Shape::Integer(_)
                    | Shape::Number { .. }
                    | Shape::Type(_)
                    | Shape::List(_)
                    | Shape::Map(_) => continue,
                };
                let group = (what, member.shared.clone());
                let definition = shared.named.entry(group).or_insert_with(|| {
                    let free = member.shared.clone().filter(|shared| names.is_free(shared));
                    let made = || {
                        let member = rust::upper_camel(name).unwrap_or_else(|| "Value".to_owned());
                        format!("{ty}{member}")
                    };
                    let name = names.new_name(&free.unwrap_or_else(made));
                    Definition {
                        rust: names.rust(&name),
                        name,
                        in_contract: object.in_contract,
                    }
                });
                let definition = definition.name.clone();
                shared.name_member(ty, name, &definition);
            }
        }
        shared
    }

    fn name_member(&mut self, ty: &str, member: &str, name: &str) {
        self.members
            .insert((ty.to_owned(), member.to_owned()), name.to_owned());
    }

    /// The name of the enum or scalar that a member holds.
    pub(super) fn of_member(&self, ty: &str, member: &str) -> Option<&str> {
        self.members
            .get(&(ty.to_owned(), member.to_owned()))
            .map(String::as_str)
    }

    /// Writes those of a module.
    pub(super) fn write(&self, module: &str, text: &mut Text) {
        debug_assert!(
            module == TYPES || module == PAYLOADS,
            "there are two modules"
        );
        let mut of_module: Vec<_> = self
            .named
            .iter()
            .filter(|(_, definition)| definition.in_contract == (module == TYPES))
            .collect();
        of_module.sort_by_key(|((what, _), definition)| {
            (matches!(what, What::Enum(_)), definition.name.as_str())
        });
        for ((what, _), definition) in of_module {
            match what {
                What::Enum(values) => write_enum(definition, values, text),
                What::Text {
                    non_blank,
                    lower_hex,
                } => {
                    text.table(&["scalars", &definition.name]);
                    text.key("type", &string("string"));
                    if *non_blank {
                        text.key("non_blank", "true");
                    }
                    if let Some(digits) = lower_hex {
                        text.key("lower_hex", &digits.to_string());
                    }
                    text.rust(definition.rust.clone());
                    text.todo("say what it means.");
                }
                What::Integer(width, min, max) => {
                    text.table(&["scalars", &definition.name]);
                    text.key("type", &string(width));
                    for (key, bound) in [("min", min), ("max", max)] {
                        if let Some(bound) = bound {
                            text.key(key, &super::toml::integer(*bound));
                        }
                    }
                    text.rust(definition.rust.clone());
                    text.todo("say what it counts.");
                }
            }
        }
    }
}

fn write_enum(definition: &Definition, values: &BTreeSet<String>, text: &mut Text) {
    text.table(&["enums", &definition.name]);
    text.rust(definition.rust.clone());
    text.todo("say what is chosen.");
    text.table_below(&["enums", &definition.name, "values"]);
    let mut taken = BTreeSet::new();
    for value in values {
        let mut inline = Inline::default();
        let doc = string(&format!("{}: say what it means.", super::MARKER));
        match names::give(value, names::VALUE, &mut taken) {
            Some(rust) => {
                inline.key("doc", &doc);
                inline.key("rust", &string(&rust));
                text.key(&key(value), &inline.finish());
            }
            None => text.key(&key(value), &doc),
        }
    }
}

/// Whether an empty string of a member reads as its absence.
pub(super) fn empty_is_absent(member: &Member) -> bool {
    !member.required && matches!(&member.shape, Shape::Enum(values) if values.contains(""))
}
