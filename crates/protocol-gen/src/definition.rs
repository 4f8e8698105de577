//! The definitions as written: TOML with the place of every value. Checks keys and kinds of values,
//! and collects every fault; knows nothing of what the names refer to.
//!
//! The types here are the vocabulary: their fields are the keys, their doc comments are what an
//! editor shows. The meta-schema is made from them through schemars, and so is the list of keys
//! that reading accepts, so neither can drift from the other.

mod read;

use indexmap::IndexMap;
use schemars::JsonSchema;

pub(crate) use self::read::{nearest, read};
use crate::source::{At, Spanned};

/// A value, if it was there and of the right kind.
pub(crate) type Given<T> = Option<Spanned<T>>;

/// Named items, in the order in which they are written.
pub(crate) type Items<T> = Vec<Item<T>>;

/// One named item.
#[derive(Clone, Debug)]
pub(crate) struct Item<T> {
    /// Its name, where it is defined.
    pub(crate) name: Spanned<String>,
    /// The module of the file that it stands in.
    pub(crate) module: Given<String>,
    /// What is written under the name.
    pub(crate) def: T,
}

/// Everything that the definition files say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Definitions {
    pub(crate) protocol: Vec<(At, ProtocolDef)>,
    pub(crate) package: Vec<(At, PackageDef)>,
    pub(crate) payloads: Vec<(At, PayloadsDef)>,
    pub(crate) modules: Items<ModuleDef>,
    pub(crate) classes: Items<ClassDef>,
    pub(crate) limits: Items<LimitDef>,
    pub(crate) methods: Items<MethodDef>,
    pub(crate) errors: Items<ErrorDef>,
    pub(crate) timeouts: Items<TimeoutDef>,
    pub(crate) slots: Items<SlotDef>,
    pub(crate) hooks: Items<HookDef>,
    pub(crate) scalars: Items<ScalarDef>,
    pub(crate) enums: Items<EnumDef>,
    pub(crate) types: Items<TypeDef>,
    pub(crate) diagrams: Items<DiagramDef>,
}

/// One definition file. Any section may stand in any file; by convention there is one file a
/// concern.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields, title = "Protocol definitions")]
#[expect(
    dead_code,
    reason = "stands for the sections in the meta-schema and in the list of keys"
)]
pub(crate) struct FileDef {
    /// Module of the scalars, enums and types in this file: one of `[modules]`.
    pub(crate) module: Given<String>,
    /// Identity of the protocol. Stands once in all files.
    pub(crate) protocol: Option<ProtocolDef>,
    /// The package that is generated. Stands once in all files.
    pub(crate) package: Option<PackageDef>,
    /// Identity of the second canonical document. Stands at most once in all files.
    pub(crate) payloads: Option<PayloadsDef>,
    /// Groups of types, by the name of the Rust module.
    pub(crate) modules: Option<IndexMap<String, ModuleDef>>,
    /// Groups of methods, by wire name.
    pub(crate) classes: Option<IndexMap<String, ClassDef>>,
    /// Limits, by wire name.
    pub(crate) limits: Option<IndexMap<String, LimitDef>>,
    /// Methods, by wire name.
    pub(crate) methods: Option<IndexMap<String, MethodDef>>,
    /// Errors, by wire reason.
    pub(crate) errors: Option<IndexMap<String, ErrorDef>>,
    /// Families of hook timeouts, by name.
    pub(crate) timeouts: Option<IndexMap<String, TimeoutDef>>,
    /// Replacement slots, by wire name or by what stands before the colon.
    pub(crate) slots: Option<IndexMap<String, SlotDef>>,
    /// Hook points, by wire name.
    pub(crate) hooks: Option<IndexMap<String, HookDef>>,
    /// Strings and numbers with a meaning and a constraint of their own, by name.
    pub(crate) scalars: Option<IndexMap<String, ScalarDef>>,
    /// Named sets of strings, by name.
    pub(crate) enums: Option<IndexMap<String, EnumDef>>,
    /// Closed objects, by wire name.
    pub(crate) types: Option<IndexMap<String, TypeDef>>,
    /// Sequence diagrams of the index, by name.
    pub(crate) diagrams: Option<IndexMap<String, DiagramDef>>,
}

/// Identity of the protocol.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct ProtocolDef {
    /// The protocol's id, such as `reasonix.extension.v1`.
    #[schemars(required)]
    pub(crate) id: Given<String>,
    /// Its title for people.
    #[schemars(required)]
    pub(crate) title: Given<String>,
    /// Its major version.
    #[schemars(required)]
    pub(crate) major: Given<u64>,
    /// What it is.
    #[schemars(required)]
    pub(crate) doc: Given<String>,
}

/// The package that is generated.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct PackageDef {
    /// Name of the Cargo package.
    #[schemars(required)]
    pub(crate) name: Given<String>,
    /// Its version.
    #[schemars(required)]
    pub(crate) version: Given<String>,
    /// Its description, one line.
    #[schemars(required)]
    pub(crate) description: Given<String>,
    /// Address of its source.
    pub(crate) repository: Given<String>,
    /// Folder of the package, below the root.
    #[schemars(required)]
    pub(crate) directory: Given<String>,
    /// Path of the generated index, below the root; its name contains `.generated.`.
    #[schemars(required)]
    pub(crate) index: Given<String>,
}

/// Identity of the second canonical document: the documents inside any-JSON fields.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct PayloadsDef {
    /// Its id.
    #[schemars(required)]
    pub(crate) id: Given<String>,
    /// Its title for people.
    #[schemars(required)]
    pub(crate) title: Given<String>,
    /// Type of the structured data of an error.
    pub(crate) error_data: Given<String>,
    /// Enum of the decisions that hooks list.
    pub(crate) decisions: Given<String>,
}

/// A group of types: one Rust file.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct ModuleDef {
    /// Place among the modules.
    #[schemars(required)]
    pub(crate) order: Given<u64>,
    /// `contract` for what frames carry, `payloads` for the documents inside any-JSON fields.
    #[schemars(required)]
    pub(crate) document: Given<String>,
    /// What its types are about.
    #[schemars(required)]
    pub(crate) doc: Given<String>,
}

/// A group of methods.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct ClassDef {
    /// Place among the classes.
    #[schemars(required)]
    pub(crate) order: Given<u64>,
    /// Name in Rust, where the derived one does not do.
    pub(crate) rust: Given<String>,
    /// What its methods do.
    #[schemars(required)]
    pub(crate) doc: Given<String>,
}

/// A limit of the contract.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct LimitDef {
    /// The value, from 0 to what 64 bits hold.
    #[schemars(required)]
    pub(crate) value: Given<Bound>,
    /// Its unit, a plural noun.
    #[schemars(required)]
    pub(crate) unit: Given<String>,
    /// Name in Rust, where the derived one does not do.
    pub(crate) rust: Given<String>,
    /// What is limited, and what happens beyond.
    #[schemars(required)]
    pub(crate) doc: Given<String>,
}

/// A method.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct MethodDef {
    /// Who sends it and whether it is answered: `host_to_extension_request`,
    /// `host_to_extension_notification`, `extension_to_host_request` or
    /// `extension_to_host_notification`.
    #[schemars(required)]
    pub(crate) direction: Given<String>,
    /// One of `[classes]`.
    #[schemars(required)]
    pub(crate) class: Given<String>,
    /// Type of its params.
    #[schemars(required)]
    pub(crate) params: Given<String>,
    /// Type of its result; for requests, and only for them.
    pub(crate) result: Given<String>,
    /// Name in Rust, where the derived one does not do.
    pub(crate) rust: Given<String>,
    /// What it does.
    #[schemars(required)]
    pub(crate) doc: Given<String>,
    /// Example of its params, as JSON.
    #[schemars(required)]
    pub(crate) example: Given<String>,
    /// Example of its result, as JSON; for requests, and only for them.
    pub(crate) result_example: Given<String>,
}

/// A sequence diagram of the index.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct DiagramDef {
    /// Place among the diagrams.
    #[schemars(required)]
    pub(crate) order: Given<u64>,
    /// Methods in the order in which they are called.
    #[schemars(required)]
    pub(crate) steps: Given<Vec<Spanned<String>>>,
    /// What the diagram shows.
    #[schemars(required)]
    pub(crate) doc: Given<String>,
}

/// A frozen error.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct ErrorDef {
    /// JSON-RPC error code.
    #[schemars(required)]
    pub(crate) code: Given<i64>,
    /// Whether the same call may succeed later.
    #[schemars(required)]
    pub(crate) retryable: Given<bool>,
    /// The message, a value on the wire.
    #[schemars(required)]
    pub(crate) message: Given<String>,
    /// Name in Rust, where the derived one does not do.
    pub(crate) rust: Given<String>,
    /// When it is sent, and what the receiver does.
    #[schemars(required)]
    pub(crate) doc: Given<String>,
}

/// A family of hook timeouts.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct TimeoutDef {
    /// Milliseconds.
    #[schemars(required)]
    pub(crate) millis: Given<u64>,
    /// Name in Rust, where the derived one does not do.
    pub(crate) rust: Given<String>,
    /// What the family is for.
    #[schemars(required)]
    pub(crate) doc: Given<String>,
}

/// A replacement slot, or a family of them.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct SlotDef {
    /// What follows the colon, for a family: `name` in `tool:<name>`.
    pub(crate) parameter: Given<String>,
    /// Name in Rust, where the derived one does not do.
    pub(crate) rust: Given<String>,
    /// What its owner decides.
    #[schemars(required)]
    pub(crate) doc: Given<String>,
}

/// A hook point.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct HookDef {
    /// Type of its payload.
    #[schemars(required)]
    pub(crate) payload: Given<String>,
    /// One of `[timeouts]`.
    #[schemars(required)]
    pub(crate) timeout: Given<String>,
    /// One of `[slots]`: its owner rules last.
    pub(crate) slot: Given<String>,
    /// Decisions that are legal here.
    #[schemars(required)]
    pub(crate) decisions: Given<Vec<Spanned<String>>>,
    /// Members of the payload that a replacement can change for the host.
    #[schemars(required)]
    pub(crate) adopts: Given<Vec<Spanned<String>>>,
    /// Enum members of the payload that have one value at this point.
    #[schemars(with = "Option<IndexMap<String, String>>")]
    pub(crate) fixed: Vec<(Spanned<String>, Spanned<String>)>,
    /// What a replacement must satisfy beyond its type.
    pub(crate) replacement: Option<ReplacementDef>,
    /// Name in Rust, where the derived one does not do.
    pub(crate) rust: Given<String>,
    /// When it fires, and what a ruling does.
    #[schemars(required)]
    pub(crate) doc: Given<String>,
}

/// What a replacement must satisfy beyond its type; each a list of members of the payload.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct ReplacementDef {
    /// Members that must be written out.
    pub(crate) required: Given<Vec<Spanned<String>>>,
    /// String members that must not be empty.
    pub(crate) non_empty: Given<Vec<Spanned<String>>>,
    /// Members of which at least one must be written out.
    pub(crate) any_of: Given<Vec<Spanned<String>>>,
    /// String members that are empty or the text of one JSON object.
    pub(crate) object_text: Given<Vec<Spanned<String>>>,
}

/// A string or number with a meaning and a constraint of its own.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct ScalarDef {
    /// `string`, `i64` or `u64`.
    #[schemars(required, rename = "type")]
    pub(crate) ty: Given<String>,
    /// String: neither empty nor white space alone.
    pub(crate) non_blank: Given<bool>,
    /// String: exactly this many lower-case hexadecimal digits.
    pub(crate) lower_hex: Given<u64>,
    /// Number: lowest value.
    pub(crate) min: Given<Bound>,
    /// Number: highest value.
    pub(crate) max: Given<Bound>,
    /// Example value, as JSON.
    pub(crate) example: Given<String>,
    /// Name in Rust, where the derived one does not do.
    pub(crate) rust: Given<String>,
    /// What it means.
    #[schemars(required)]
    pub(crate) doc: Given<String>,
}

/// A named set of strings.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct EnumDef {
    /// The values, by wire value.
    #[schemars(with = "IndexMap<String, ValueOrDoc>")]
    pub(crate) values: Vec<(Spanned<String>, ValueDef)>,
    /// Name in Rust, where the derived one does not do.
    pub(crate) rust: Given<String>,
    /// What is chosen.
    #[schemars(required)]
    pub(crate) doc: Given<String>,
}

/// One value of an enum.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct ValueDef {
    /// Name in Rust, where the derived one does not do.
    pub(crate) rust: Given<String>,
    /// What it means.
    #[schemars(required)]
    pub(crate) doc: Given<String>,
}

/// One value of an enum: what it means, or a table.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "stands for the shape in the meta-schema only")]
enum ValueOrDoc {
    /// What it means.
    Doc(String),
    /// What it means, and its name in Rust.
    Value(ValueDef),
}

/// A closed object.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct TypeDef {
    /// Its members, by wire name, in the order in which Rust shows them. May be left out where
    /// there are none.
    #[schemars(with = "Option<IndexMap<String, FieldDef>>")]
    pub(crate) fields: Vec<(Spanned<String>, FieldDef)>,
    /// What holds between members.
    #[schemars(with = "Option<Vec<RuleDef>>")]
    pub(crate) rules: Vec<(At, RuleDef)>,
    /// It stands in its document though nothing refers to it.
    pub(crate) unused: Given<bool>,
    /// Name in Rust, where the derived one does not do.
    pub(crate) rust: Given<String>,
    /// What it says.
    #[schemars(required)]
    pub(crate) doc: Given<String>,
}

/// One member of a type.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct FieldDef {
    /// `string`, `bool`, `i64`, `u64`, `number`, `json`, a defined name, `list<T>` or `map<T>`.
    #[schemars(required, rename = "type")]
    pub(crate) ty: Given<String>,
    /// It may be absent.
    pub(crate) optional: Given<bool>,
    /// It may be absent when read and then is the zero of its type; it is always written.
    pub(crate) absent_is_zero: Given<bool>,
    /// Optional enum: an empty string reads as absent.
    pub(crate) empty_is_absent: Given<bool>,
    /// String: neither empty nor white space alone.
    pub(crate) non_blank: Given<bool>,
    /// Number: lowest value, an integer.
    pub(crate) min: Given<Bound>,
    /// Number: highest value, an integer.
    pub(crate) max: Given<Bound>,
    /// `null` may stand in its place, with a descriptor beside it.
    pub(crate) externalizable: Given<bool>,
    /// Any JSON: which document stands in it.
    pub(crate) documents: Option<DocumentsDef>,
    /// Example value, as JSON.
    pub(crate) example: Given<String>,
    /// Name in Rust, where the derived one does not do.
    pub(crate) rust: Given<String>,
    /// What it means, its unit and its bounds.
    #[schemars(required)]
    pub(crate) doc: Given<String>,
}

/// Which document stands in an any-JSON field.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct DocumentsDef {
    /// The sibling field, an enum, that decides.
    #[schemars(required)]
    pub(crate) by: Given<String>,
    /// From each value of that enum to a type.
    #[schemars(with = "IndexMap<String, String>")]
    pub(crate) types: Vec<(Spanned<String>, Spanned<String>)>,
}

/// What holds between the members of a type. At most one of `when` and `unless`, exactly one of
/// `requires`, `forbids` and `object`.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct RuleDef {
    /// Applies where this enum member has this value.
    #[schemars(with = "Option<IndexMap<String, String>>")]
    pub(crate) when: Vec<(Spanned<String>, Spanned<String>)>,
    /// Applies where this enum member has another value.
    #[schemars(with = "Option<IndexMap<String, String>>")]
    pub(crate) unless: Vec<(Spanned<String>, Spanned<String>)>,
    /// These optional members must be there.
    pub(crate) requires: Given<Vec<Spanned<String>>>,
    /// These optional members must be absent.
    pub(crate) forbids: Given<Vec<Spanned<String>>>,
    /// These any-JSON members must be objects.
    pub(crate) object: Given<Vec<Spanned<String>>>,
    /// The rule in words.
    #[schemars(required)]
    pub(crate) doc: Given<String>,
}

/// A bound: an integer, or its digits as a string where it is beyond 64 signed bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bound(pub(crate) i128);

impl JsonSchema for Bound {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Bound".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "An integer, or its digits as a string where it is beyond 64 signed bits.",
            "anyOf": [{ "type": "integer" }, { "type": "string", "pattern": "^-?[0-9]+$" }],
        })
    }
}

impl<T: JsonSchema> JsonSchema for Spanned<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> std::borrow::Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        T::json_schema(generator)
    }
}
