//! The resolved protocol: what every emitter reads. Knows no TOML and no output format.
//!
//! A [`Model`] exists only if every reference in the definitions resolves and every rule of naming
//! and shape holds, so emitters never fail. Collections are sorted by wire name unless said
//! otherwise: neither the order of files nor the order of tables in a file can reach an output.
//! The one exception is the declared order of the fields of a type and of the values of an enum,
//! which the Rust artifact keeps.

#![expect(
    clippy::exhaustive_enums,
    reason = "an emitter that forgets a variant must not compile"
)]

use std::collections::BTreeMap;

/// A whole protocol, checked.
#[derive(Clone, Debug)]
pub struct Model {
    /// Identity of the contract.
    pub protocol: Protocol,
    /// The package that is generated from it.
    pub package: Package,
    /// Identity of the second document, if there are payloads.
    pub payloads: Option<PayloadsDocument>,
    /// Groups of types, by `order`, then name.
    pub modules: Vec<Module>,
    /// Groups of methods, by `order`, then name.
    pub classes: Vec<Class>,
    /// Limits, by wire name.
    pub limits: Vec<Limit>,
    /// Shared strings and numbers with a meaning of their own, by wire name.
    pub scalars: BTreeMap<String, Scalar>,
    /// Enums, by wire name; `HookPoint` and `ErrorReason` are among them where there are hooks and
    /// errors.
    pub enums: BTreeMap<String, Enum>,
    /// Object types, by wire name.
    pub types: BTreeMap<String, Type>,
    /// Methods, by wire name.
    pub methods: Vec<Method>,
    /// Errors, by reason.
    pub errors: Vec<ErrorDef>,
    /// Timeout families of hooks, by name.
    pub timeouts: Vec<Timeout>,
    /// Replacement slots, by name.
    pub slots: Vec<Slot>,
    /// Hook points, by wire name.
    pub hooks: Vec<Hook>,
    /// Sequence diagrams of the index, by `order`, then name.
    pub diagrams: Vec<Diagram>,
}

/// `[diagrams.NAME]`: a sequence diagram of the index.
#[derive(Clone, Debug)]
pub struct Diagram {
    /// Its name.
    pub name: String,
    /// Wire names of methods, in the order in which they are called.
    pub steps: Vec<String>,
    /// What it shows.
    pub doc: Doc,
}

/// A name on the wire and the Rust identifier that stands for it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    /// As written on the wire.
    pub wire: String,
    /// As written in Rust, in the case of its position: `UpperCamelCase` for types, values, methods
    /// and hooks, `snake_case` for fields (keywords with a trailing underscore).
    pub rust: String,
}

/// Prose of a definition, as written: paragraphs, code spans, lists and code blocks, and no other
/// markup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Doc(pub String);

/// `[protocol]`.
#[derive(Clone, Debug)]
pub struct Protocol {
    /// `reasonix.extension.v1`.
    pub id: String,
    /// `Reasonix Extension Protocol v1`.
    pub title: String,
    /// `1`.
    pub major: u64,
    /// What the protocol is.
    pub doc: Doc,
}

/// `[package]`.
#[derive(Clone, Debug)]
pub struct Package {
    /// Name of the generated Cargo package.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its one-line description.
    pub description: String,
    /// Where its source lives, if published.
    pub repository: Option<String>,
    /// Folder of the generated package, below the root.
    pub directory: String,
    /// Path of the generated index, below the root.
    pub index: String,
}

/// `[payloads]`.
#[derive(Clone, Debug)]
pub struct PayloadsDocument {
    /// `$id` of the second canonical document.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Wire name of the type of structured error data, if there is one.
    pub error_data: Option<String>,
    /// Name of the enum of the decisions that hooks list, if one is named.
    pub decisions: Option<String>,
}

/// `[modules.NAME]`: the types of one concern; one Rust file.
#[derive(Clone, Debug)]
pub struct Module {
    /// Name, a Rust module name.
    pub name: String,
    /// Which canonical document its types stand in.
    pub document: Document,
    /// What the types are about.
    pub doc: Doc,
}

/// One of the two canonical documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Document {
    /// The frozen contract: what frames carry.
    Contract,
    /// The documents inside any-JSON fields.
    Payloads,
}

/// `[classes.NAME]`: a group of methods.
#[derive(Clone, Debug)]
pub struct Class {
    /// Wire name and Rust variant.
    pub name: Name,
    /// What the methods of this class do.
    pub doc: Doc,
}

/// `[limits.NAME]`.
#[derive(Clone, Debug)]
pub struct Limit {
    /// Wire name; the Rust name is in `SCREAMING_SNAKE_CASE`.
    pub name: Name,
    /// The value.
    pub value: u64,
    /// Its unit, a plural noun such as `bytes`.
    pub unit: String,
    /// What is limited, and what happens beyond.
    pub doc: Doc,
}

/// `[scalars.NAME]`: inlined in the canonical document, a newtype in Rust.
#[derive(Clone, Debug)]
pub struct Scalar {
    /// Definition name and Rust name.
    pub name: Name,
    /// Module that it stands in.
    pub module: String,
    /// What it means.
    pub doc: Doc,
    /// What it is made of.
    pub kind: ScalarKind,
    /// An example value, as JSON text.
    pub example: Option<String>,
}

/// What a scalar is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScalarKind {
    /// A string.
    String {
        /// Not empty and not white space alone; `minLength: 1` in the canonical document.
        non_blank: bool,
        /// Exactly this many lower-case hexadecimal digits. Not said in the canonical document.
        lower_hex: Option<u32>,
    },
    /// An integer.
    Integer(Integer),
}

/// An integer, its width and its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Integer {
    /// What the peer holds it in.
    pub width: Width,
    /// Declared lower bound, inclusive; `minimum` in the canonical document.
    pub min: Option<i128>,
    /// Declared upper bound, inclusive; `maximum` in the canonical document.
    pub max: Option<i128>,
}

/// The width of an integer. Not said in the canonical document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Width {
    /// Signed, 64 bits.
    I64,
    /// Unsigned, 64 bits.
    U64,
}

impl Integer {
    /// Lowest value that is accepted: the declared bound, or the lowest that the width holds.
    pub fn lowest(self) -> i128 {
        self.min.unwrap_or(match self.width {
            Width::I64 => i128::from(i64::MIN),
            Width::U64 => 0,
        })
    }

    /// Highest value that is accepted: the declared bound, or the highest that the width holds.
    pub fn highest(self) -> i128 {
        self.max.unwrap_or(match self.width {
            Width::I64 => i128::from(i64::MAX),
            Width::U64 => i128::from(u64::MAX),
        })
    }

    /// The width that its bounds ask for where nothing says it: signed, unless a bound is beyond that.
    /// Peers that count in signed integers are the rule.
    pub fn narrowest(self) -> Width {
        let beyond = |bound: Option<i128>| bound.is_some_and(|bound| bound > i128::from(i64::MAX));
        if beyond(self.min) || beyond(self.max) {
            Width::U64
        } else {
            Width::I64
        }
    }

    /// Whether Rust holds it in a `u64` (nothing below zero is accepted) rather than an `i64`.
    pub fn unsigned_in_rust(self) -> bool {
        self.lowest() >= 0
    }
}

/// `[enums.NAME]`: inlined and sorted in the canonical document, an enum in Rust.
#[derive(Clone, Debug)]
pub struct Enum {
    /// Definition name and Rust name.
    pub name: Name,
    /// Where its values come from.
    pub source: EnumSource,
    /// Module that it stands in; empty for the enums of hooks and errors, which have files of their
    /// own.
    pub module: String,
    /// What is chosen.
    pub doc: Doc,
    /// The values, in declared order.
    pub values: Vec<EnumValue>,
}

/// Where the values of an enum come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnumSource {
    /// `[enums.NAME]`.
    Declared,
    /// All hooks: the enum `HookPoint`.
    Hooks,
    /// All errors: the enum `ErrorReason`.
    Errors,
}

/// One value of an enum.
#[derive(Clone, Debug)]
pub struct EnumValue {
    /// Wire value and Rust variant.
    pub name: Name,
    /// What it means.
    pub doc: Doc,
}

/// `[types.NAME]`: a closed object.
#[derive(Clone, Debug)]
pub struct Type {
    /// Wire name and Rust name.
    pub name: Name,
    /// Module that it stands in.
    pub module: String,
    /// What it says.
    pub doc: Doc,
    /// Its members, in declared order.
    pub fields: Vec<Field>,
    /// What holds between members.
    pub rules: Vec<Rule>,
    /// It stands in its document though nothing refers to it.
    pub unused: bool,
}

/// One member of a type.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one key of the vocabulary, and they are independent"
)]
pub struct Field {
    /// Wire name and Rust name.
    pub name: Name,
    /// What it means, its unit and its bounds.
    pub doc: Doc,
    /// Type of its value.
    pub ty: TypeRef,
    /// Whether it may be absent, and what that means.
    pub presence: Presence,
    /// String field only: not empty and not white space alone.
    pub non_blank: bool,
    /// `null` may stand in its place, with a descriptor in `externalized`.
    pub externalizable: bool,
    /// Enum field only: an empty string reads as absent.
    pub empty_is_absent: bool,
    /// The type refers to itself through this member, so Rust boxes it.
    pub boxed: bool,
    /// Any-JSON field only: which document stands in it, chosen by another member.
    pub documents: Option<Documents>,
    /// An example value, as JSON text.
    pub example: Option<String>,
}

/// Whether a member may be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Always there.
    Required,
    /// May be absent; an `Option` in Rust.
    Optional,
    /// May be absent when read, and then is the zero of its type (`""`, `0`, `false`, `[]`, `{}`);
    /// always written. A plain value in Rust.
    ZeroIfAbsent,
}

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeRef {
    /// Any string.
    String,
    /// `true` or `false`.
    Bool,
    /// An integer.
    Integer(Integer),
    /// A double; the bound is an integer, inclusive.
    Number {
        /// Declared lower bound.
        min: Option<i64>,
        /// Declared upper bound.
        max: Option<i64>,
    },
    /// Any JSON.
    Json,
    /// A scalar, by definition name.
    Scalar(String),
    /// An enum, by definition name.
    Enum(String),
    /// An object type, by wire name.
    Object(String),
    /// A list.
    List(Box<TypeRef>),
    /// A map from strings.
    Map(Box<TypeRef>),
}

impl TypeRef {
    /// The wire name of the object type that it is, if it is one.
    pub fn object(&self) -> Option<&str> {
        if let Self::Object(name) = self {
            Some(name)
        } else {
            None
        }
    }

    /// The name of the enum that it is, if it is one.
    pub fn enumeration(&self) -> Option<&str> {
        if let Self::Enum(name) = self {
            Some(name)
        } else {
            None
        }
    }

    /// The bounds of the integer that it is, if it is one.
    pub fn integer(&self) -> Option<Integer> {
        if let Self::Integer(integer) = self {
            Some(*integer)
        } else {
            None
        }
    }

    /// The bounds of the double that it is, if it is one.
    pub fn number(&self) -> Option<(Option<i64>, Option<i64>)> {
        if let Self::Number { min, max } = self {
            Some((*min, *max))
        } else {
            None
        }
    }

    /// What lists and maps hold in the end.
    pub fn innermost(&self) -> &Self {
        let mut ty = self;
        while let Self::List(inner) | Self::Map(inner) = ty {
            ty = inner;
        }
        ty
    }
}

/// Which document stands in an any-JSON field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Documents {
    /// Wire name of the sibling field (an enum) that decides.
    pub by: String,
    /// From each value of that enum to the wire name of a payload type.
    pub types: BTreeMap<String, String>,
}

/// What a schema keyword cannot say about a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// When it applies; always, if `None`.
    pub condition: Option<Condition>,
    /// What must then hold.
    pub demand: Demand,
    /// The rule in words.
    pub doc: Doc,
}

/// When a rule applies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Condition {
    /// Wire name of a required enum field.
    pub field: String,
    /// A value of that enum.
    pub value: String,
    /// `true`: where the field has the value; `false`: where it has any other.
    pub equal: bool,
}

/// What a rule demands, each of wire names of fields.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Demand {
    /// These optional members are there.
    Requires(Vec<String>),
    /// These optional members are absent.
    Forbids(Vec<String>),
    /// These any-JSON members, where they are there, are objects.
    Object(Vec<String>),
}

/// A method.
#[derive(Clone, Debug)]
pub struct Method {
    /// Wire name and the name of its marker type in Rust.
    pub name: Name,
    /// Who sends it and whether it is answered.
    pub direction: Direction,
    /// Wire name of its class.
    pub class: String,
    /// Wire name of the type of its params.
    pub params: String,
    /// Wire name of the type of its result; `None` for a notification.
    pub result: Option<String>,
    /// What it does.
    pub doc: Doc,
    /// Example params, as JSON text.
    pub example: String,
    /// Example result, as JSON text; for requests.
    pub result_example: Option<String>,
}

/// Who sends a method and whether it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// `host_to_extension_request`.
    HostToExtensionRequest,
    /// `host_to_extension_notification`.
    HostToExtensionNotification,
    /// `extension_to_host_request`.
    ExtensionToHostRequest,
    /// `extension_to_host_notification`.
    ExtensionToHostNotification,
}

impl Direction {
    /// Every direction.
    pub const ALL: [Self; 4] = [
        Self::HostToExtensionRequest,
        Self::HostToExtensionNotification,
        Self::ExtensionToHostRequest,
        Self::ExtensionToHostNotification,
    ];

    /// As written in the contract.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::HostToExtensionRequest => "host_to_extension_request",
            Self::HostToExtensionNotification => "host_to_extension_notification",
            Self::ExtensionToHostRequest => "extension_to_host_request",
            Self::ExtensionToHostNotification => "extension_to_host_notification",
        }
    }

    /// Whether it is a notification.
    pub fn is_notification(self) -> bool {
        matches!(
            self,
            Self::HostToExtensionNotification | Self::ExtensionToHostNotification
        )
    }

    /// Whether the host sends it.
    pub fn from_host(self) -> bool {
        matches!(
            self,
            Self::HostToExtensionRequest | Self::HostToExtensionNotification
        )
    }
}

/// A frozen error.
#[derive(Clone, Debug)]
pub struct ErrorDef {
    /// Wire reason and Rust variant.
    pub name: Name,
    /// JSON-RPC code.
    pub code: i64,
    /// Whether the same call may succeed later.
    pub retryable: bool,
    /// The message, a value on the wire.
    pub message: String,
    /// When it is sent, and what the receiver does.
    pub doc: Doc,
}

/// A family of hook timeouts.
#[derive(Clone, Debug)]
pub struct Timeout {
    /// Name of the family.
    pub name: Name,
    /// Milliseconds.
    pub millis: u64,
    /// What the family is for.
    pub doc: Doc,
}

/// A replacement slot, or a family of them.
#[derive(Clone, Debug)]
pub struct Slot {
    /// Wire name (`system_prompt`), or the part before the colon (`tool`).
    pub name: Name,
    /// What follows the colon, for a family: `name` in `tool:<name>`.
    pub parameter: Option<String>,
    /// What its owner decides.
    pub doc: Doc,
}

/// A hook point.
#[derive(Clone, Debug)]
pub struct Hook {
    /// Wire name and the name of its marker type and variant in Rust.
    pub name: Name,
    /// Wire name of its payload type.
    pub payload: String,
    /// Name of its timeout family.
    pub timeout: String,
    /// Name of the slot whose owner rules last, if any.
    pub slot: Option<String>,
    /// Wire values of the decisions that are legal here, sorted.
    pub decisions: Vec<String>,
    /// Wire names of the payload members that a replacement can change, sorted.
    pub adopts: Vec<String>,
    /// Enum members of the payload that have one value at this point: field to value.
    pub fixed: BTreeMap<String, String>,
    /// What a replacement must satisfy beyond its type.
    pub replacement: Replacement,
    /// When it fires and what a ruling does.
    pub doc: Doc,
}

/// What a replacement payload must satisfy beyond its type; wire names of fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replacement {
    /// Members that must be written out even though a payload may leave them out.
    pub required: Vec<String>,
    /// String members that must not be empty.
    pub non_empty: Vec<String>,
    /// Members of which at least one must be written out.
    pub any_of: Vec<String>,
    /// String members that are empty or the text of one JSON object.
    pub object_text: Vec<String>,
}

impl Model {
    /// The module of that name.
    pub fn module(&self, name: &str) -> Option<&Module> {
        self.modules.iter().find(|module| module.name == name)
    }

    /// The document that a type stands in.
    pub fn document_of(&self, ty: &Type) -> Document {
        self.module(&ty.module)
            .map_or(Document::Contract, |module| module.document)
    }
}

/// Up to this many required fields are arguments of `new`; beyond it they are members of a struct,
/// because positional arguments of like types invite swaps.
const MAX_POSITIONAL: usize = 4;

impl Type {
    /// The required fields, in declared order.
    pub fn required(&self) -> impl Iterator<Item = &Field> {
        self.fields
            .iter()
            .filter(|field| field.presence == Presence::Required)
    }

    /// Whether the required fields come in a struct of their own rather than as arguments.
    pub fn takes_required_struct(&self) -> bool {
        self.required().count() > MAX_POSITIONAL
    }

    /// Rust name of the struct of the required fields.
    pub fn required_struct(&self) -> String {
        format!("{}Required", self.name.rust)
    }

    /// Rust name of the enum of the documents that one of the fields can hold.
    pub fn document_enum(&self) -> String {
        format!("{}Document", self.name.rust)
    }

    /// The field of that wire name.
    pub fn field(&self, wire: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name.wire == wire)
    }
}
