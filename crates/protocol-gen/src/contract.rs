//! A contract as its canonical documents say it: what comparing, importing and verifying read.
//! Knows no definitions, no prose and no Rust.
//!
//! A [`Contract`] is read from documents alone, also where definitions are at hand: they are emitted
//! first, so that what is judged is what is published.

mod decode;
mod finite;
mod hooks;
mod json;
pub mod messages;
mod read;
pub(crate) mod sample;
mod supplement;

use std::collections::{BTreeMap, BTreeSet};

pub(crate) use self::{decode::expected, json::push_segment};
pub use self::{
    decode::{Fault, FaultKind},
    read::{DocumentKind, ShapeFault},
    supplement::Supplement,
};
use crate::{
    emit::json_schema,
    model::{Condition, Demand, Direction, Integer, Model, Replacement},
};

/// The documents of one contract, as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Documents {
    /// The canonical document of the frozen contract.
    pub schema: String,
    /// The canonical document of the payloads, where it is known.
    pub payloads: Option<String>,
    /// What neither of them can say, where it is known.
    pub supplement: Option<String>,
}

impl Documents {
    /// The contract document alone.
    pub fn new(schema: impl Into<String>) -> Self {
        Self {
            schema: schema.into(),
            payloads: None,
            supplement: None,
        }
    }

    /// The text of one of them.
    pub fn text(&self, kind: DocumentKind) -> Option<&str> {
        match kind {
            DocumentKind::Schema => Some(&self.schema),
            DocumentKind::Payloads => self.payloads.as_deref(),
            DocumentKind::Supplement => self.supplement.as_deref(),
        }
    }

    /// Sets the text of one of them.
    pub fn set(&mut self, kind: DocumentKind, text: String) {
        match kind {
            DocumentKind::Schema => self.schema = text,
            DocumentKind::Payloads => self.payloads = Some(text),
            DocumentKind::Supplement => self.supplement = Some(text),
        }
    }

    /// All documents of a model.
    pub fn of(model: &Model) -> Self {
        Self {
            schema: json_schema::contract(model).json,
            payloads: json_schema::payloads(model).map(|document| document.json),
            supplement: Some(Supplement::of(model).to_canonical()),
        }
    }
}

/// A whole contract, as far as its documents say it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Contract {
    /// `protocol`, `protocolID` and `$id` of the document, which are one.
    pub id: String,
    /// `title`.
    pub title: String,
    /// `protocolMajor`.
    pub major: u64,
    /// Types of both documents, by wire name.
    pub types: BTreeMap<String, Object>,
    /// Methods, by wire name.
    pub methods: BTreeMap<String, Method>,
    /// Errors, by reason.
    pub errors: BTreeMap<String, ErrorTerms>,
    /// Limits, by name.
    pub limits: BTreeMap<String, Limit>,
    /// Hook points that the contract names.
    pub events: BTreeSet<String>,
    /// The second document, where it is known.
    pub payloads: Option<Payloads>,
    /// Timeout families of hooks in milliseconds, by name; from the supplement.
    pub timeouts: BTreeMap<String, u64>,
    /// Replacement slots, with the parameter of families; from the supplement.
    pub slots: BTreeMap<String, Option<String>>,
    /// Whether a supplement was there, so that widths, spellings and rules are known.
    pub supplemented: bool,
}

/// A closed object.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Object {
    /// Whether it stands in the contract.
    pub in_contract: bool,
    /// Whether it stands in the payloads.
    pub in_payloads: bool,
    /// Its members, by wire name.
    pub members: BTreeMap<String, Member>,
    /// What holds between members, sorted; from the supplement.
    pub rules: Vec<Rule>,
}

/// A member of an object.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Member {
    /// What its value is.
    pub shape: Shape,
    /// Whether it must be there.
    pub required: bool,
    /// Whether `null` may stand in its place.
    pub externalizable: bool,
    /// What stands in it, chosen by a sibling; from the payloads.
    pub documents: Option<MemberDocuments>,
    /// Name of the scalar or enum that it shares with others; from the supplement.
    pub shared: Option<String>,
    /// Whether absence means the zero of its type; from the supplement.
    pub absent_is_zero: bool,
}

/// Which document stands in an any-JSON member.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemberDocuments {
    /// The sibling that decides.
    pub by: String,
    /// From each value of it to a type.
    pub types: BTreeMap<String, String>,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "whoever forgets a shape must not compile"
)]
pub enum Shape {
    /// Any JSON but `null`.
    Any,
    /// `true` or `false`.
    Bool,
    /// A string.
    Text(Text),
    /// An integer.
    Integer(Integer),
    /// A number; the bounds are integers, inclusive.
    Number {
        /// Lower bound.
        min: Option<i64>,
        /// Upper bound.
        max: Option<i64>,
    },
    /// One of these strings.
    Enum(BTreeSet<String>),
    /// An object type, by wire name.
    Type(String),
    /// A list.
    List(Box<Shape>),
    /// An object with any keys.
    Map(Box<Shape>),
}

impl Shape {
    /// What lists and maps hold in the end.
    pub fn innermost(&self) -> &Self {
        let mut shape = self;
        while let Self::List(inner) | Self::Map(inner) = shape {
            shape = inner;
        }
        shape
    }

    /// The type that it holds in the end, if it holds one.
    pub(crate) fn used_type(&self) -> Option<&str> {
        match self.innermost() {
            Self::Type(name) => Some(name),
            Self::Any
            | Self::Bool
            | Self::Text(_)
            | Self::Integer(_)
            | Self::Number { .. }
            | Self::Enum(_)
            | Self::List(_)
            | Self::Map(_) => None,
        }
    }

    pub(crate) fn innermost_mut(&mut self) -> &mut Self {
        let mut shape = self;
        while let Self::List(inner) | Self::Map(inner) = shape {
            shape = inner;
        }
        shape
    }
}

/// What a string must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Text {
    /// At least one character that is not white space; `minLength` 1 in the document.
    pub non_blank: bool,
    /// Exactly this many lower-case hexadecimal digits; from the supplement.
    pub lower_hex: Option<u32>,
}

/// What holds between the members of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Rule {
    /// When it applies; always, if `None`.
    pub condition: Option<Condition>,
    /// What must then hold.
    pub demand: Demand,
}

/// A method.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Method {
    /// Who sends it and whether it is answered.
    pub direction: Direction,
    /// Its class.
    pub class: String,
    /// Type of its params.
    pub params: String,
    /// Type of its result; `None` for a notification.
    pub result: Option<String>,
}

/// A frozen error.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErrorTerms {
    /// JSON-RPC code.
    pub code: i64,
    /// The message, a value on the wire.
    pub message: String,
    /// Whether the same call may succeed later.
    pub retryable: bool,
}

/// A limit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limit {
    /// The value.
    pub value: u64,
    /// Its unit; from the supplement.
    pub unit: Option<String>,
}

/// What the payloads document says beyond types.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Payloads {
    /// `$id`.
    pub id: String,
    /// `title`.
    pub title: String,
    /// Hook points, by name.
    pub hooks: BTreeMap<String, Hook>,
    /// Type of the data of errors.
    pub error_data: Option<String>,
}

/// A hook point.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hook {
    /// Type of its payload.
    pub payload: String,
    /// Members of the payload that have one value at this point.
    pub fixed: BTreeMap<String, String>,
    /// What a replacement must be beyond its type.
    pub replacement: Replacement,
    /// What the documents do not say; from the supplement.
    pub terms: Option<HookTerms>,
}

/// What the documents do not say of a hook point.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HookTerms {
    /// Its timeout family.
    pub timeout: String,
    /// Its slot.
    pub slot: Option<String>,
    /// The decisions that are legal.
    pub decisions: BTreeSet<String>,
    /// The members that the host takes from a replacement.
    pub adopts: BTreeSet<String>,
}

impl Contract {
    /// Reads the documents of a contract.
    ///
    /// # Errors
    ///
    /// Every place at which a document is not of the shape, each with what was expected there.
    pub fn read(documents: &Documents) -> Result<Self, Vec<ShapeFault>> {
        read::read(documents)
    }

    /// The types that a method, a hook, a document or the data of errors refers to, and what these refer
    /// to in turn.
    pub(crate) fn used(&self) -> BTreeSet<&str> {
        let mut queue: Vec<&str> = Vec::new();
        for method in self.methods.values() {
            queue.push(&method.params);
            queue.extend(method.result.as_deref());
        }
        if let Some(payloads) = &self.payloads {
            queue.extend(payloads.hooks.values().map(|hook| hook.payload.as_str()));
            queue.extend(payloads.error_data.as_deref());
        }
        let mut used = BTreeSet::new();
        while let Some(name) = queue.pop() {
            let Some((name, object)) = self.types.get_key_value(name) else {
                continue;
            };
            if !used.insert(name.as_str()) {
                continue;
            }
            for member in object.members.values() {
                if let Shape::Type(inner) = member.shape.innermost() {
                    queue.push(inner);
                }
                let documents = member.documents.iter();
                queue.extend(documents.flat_map(|of| of.types.values().map(String::as_str)));
            }
        }
        used
    }

    /// The contract of a model: what its documents say.
    ///
    /// # Errors
    ///
    /// None for a model that was compiled: the emitters and this reader agree on the shape.
    pub fn of(model: &Model) -> Result<Self, Vec<ShapeFault>> {
        Self::read(&Documents::of(model))
    }

    /// Decodes a message as a type and holds it to its rules, as a strict peer does.
    ///
    /// # Errors
    ///
    /// The first fault that is met, with its place.
    pub fn decode(&self, ty: &str, message: &str) -> Result<(), Fault> {
        decode::decode(self, ty, message)
    }

    /// Decodes the payload of a hook point, as a strict extension does.
    ///
    /// # Errors
    ///
    /// The first fault that is met, with its place; also for a point that the contract does not have.
    pub fn decode_payload(&self, point: &str, message: &str) -> Result<(), Fault> {
        hooks::payload(self, point, message)
    }

    /// Decodes the replacement of a hook point, as a strict host does.
    ///
    /// # Errors
    ///
    /// The first fault that is met, with its place; also for a point that the contract does not have.
    pub fn decode_replacement(&self, point: &str, message: &str) -> Result<(), Fault> {
        hooks::replacement(self, point, message)
    }
}

#[cfg(test)]
mod tests;
