//! The Rust type of every field, by typify: a Rust-side view of the model goes in, types come out.
//!
//! The view differs from the canonical document on purpose: scalars and enums are named definitions
//! that are referred to, not inlined, so that each becomes one Rust type; integers carry the width
//! that the canonical form does not say; every member is required, because whether it may be absent
//! is finished here. Definitions and members go in under placeholder names: typify re-cases names,
//! and the names of the model are final.

use std::collections::{BTreeMap, HashMap};

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use schemars08::schema::Schema;
use serde_json::{Map, Value, json};
use typify::{TypeDetails, TypeId, TypeSpace, TypeSpaceSettings};

use crate::model::{Field, Integer, Model, Presence, TypeRef};

/// The types of the fields of every type, by wire name of the type, in declared order; presence,
/// boxes and externalization are not in them yet.
pub(crate) struct Shapes {
    fields: HashMap<String, Vec<TokenStream>>,
}

/// Placeholder of any JSON.
const JSON: &str = "Json";

impl Shapes {
    pub(crate) fn new(model: &Model) -> Self {
        let mut settings = TypeSpaceSettings::default();
        settings.with_map_type("BTreeMap".to_owned());
        settings.with_replacement(JSON, "RawJson", [].into_iter());

        // Placeholder of each definition, and the Rust name that it stands for.
        let mut placeholders: HashMap<&str, String> = HashMap::new();
        let mut rust_names: HashMap<String, &str> = HashMap::new();
        let names = model
            .scalars
            .values()
            .map(|def| &def.name)
            .chain(model.enums.values().map(|def| &def.name))
            .chain(model.types.values().map(|def| &def.name));
        for (index, name) in names.enumerate() {
            let placeholder = format!("Type{index}");
            placeholders.insert(&name.wire, placeholder.clone());
            rust_names.insert(placeholder, &name.rust);
        }
        let leaves = model.scalars.keys().chain(model.enums.keys());
        for placeholder in leaves.filter_map(|wire| placeholders.get(wire.as_str())) {
            settings.with_replacement(placeholder, placeholder, [].into_iter());
        }

        let mut space = TypeSpace::new(&settings);
        space
            .add_ref_types(definitions(model, &placeholders))
            .expect("the view has only shapes that typify knows");

        let mut fields = HashMap::new();
        let by_placeholder: HashMap<&str, &str> = placeholders
            .iter()
            .map(|(wire, placeholder)| (placeholder.as_str(), *wire))
            .collect();
        let reader = Reader {
            space: &space,
            rust_names: &rust_names,
        };
        for ty in space.iter_types() {
            let TypeDetails::Struct(details) = ty.details() else {
                continue;
            };
            let name = ty.name();
            let Some(&wire) = by_placeholder.get(name.as_str()) else {
                continue;
            };
            // Members come back sorted by name; their placeholders count in declared order.
            let by_index: BTreeMap<usize, TokenStream> = details
                .properties_info()
                .filter_map(|member| {
                    let index = member.name.strip_prefix("member")?.parse().ok()?;
                    Some((index, reader.tokens(&member.type_id)))
                })
                .collect();
            fields.insert(wire.to_owned(), by_index.into_values().collect());
        }
        Self { fields }
    }

    /// The fields of a type with their finished Rust types.
    pub(crate) fn of<'a>(
        &'a self,
        wire: &str,
        fields: &'a [Field],
    ) -> impl Iterator<Item = (&'a Field, TokenStream)> {
        let shapes = self.fields.get(wire).map_or(&[][..], Vec::as_slice);
        debug_assert_eq!(shapes.len(), fields.len(), "one shape a field of `{wire}`");
        fields.iter().zip(shapes).map(|(field, shape)| {
            let bare = bare(field, shape);
            let ty = match field.presence {
                Presence::Optional => quote!(Option<#bare>),
                Presence::Required | Presence::ZeroIfAbsent => bare,
            };
            (field, ty)
        })
    }

    /// The Rust type of a value of the field when it is there.
    pub(crate) fn value(&self, wire: &str, index: usize, field: &Field) -> TokenStream {
        self.fields
            .get(wire)
            .and_then(|shapes| shapes.get(index))
            .map_or_else(TokenStream::new, |shape| bare(field, shape))
    }
}

fn bare(field: &Field, shape: &TokenStream) -> TokenStream {
    if field.externalizable {
        quote!(Externalizable<#shape>)
    } else if field.boxed {
        quote!(Box<#shape>)
    } else {
        shape.clone()
    }
}

struct Reader<'a> {
    space: &'a TypeSpace,
    rust_names: &'a HashMap<String, &'a str>,
}

impl Reader<'_> {
    fn tokens(&self, id: &TypeId) -> TokenStream {
        let ty = self
            .space
            .get_type(id)
            .expect("the id comes from this space");
        match ty.details() {
            TypeDetails::Vec(inner) => {
                let inner = self.tokens(&inner);
                quote!(Vec<#inner>)
            }
            TypeDetails::Map(_, inner) => {
                let inner = self.tokens(&inner);
                quote!(BTreeMap<String, #inner>)
            }
            // Where typify breaks a cycle is its own choice; the model has made ours.
            TypeDetails::Box(inner) | TypeDetails::Option(inner) => self.tokens(&inner),
            TypeDetails::String => quote!(String),
            TypeDetails::Struct(_)
            | TypeDetails::Builtin(_)
            | TypeDetails::Enum(_)
            | TypeDetails::Newtype(_)
            | TypeDetails::Set(_)
            | TypeDetails::Tuple(_)
            | TypeDetails::Array(..)
            | TypeDetails::Unit => {
                let name = ty.name();
                let name = self.rust_names.get(&name).copied().unwrap_or(&name);
                let ident = format_ident!("{name}");
                quote!(#ident)
            }
        }
    }
}

fn definitions(model: &Model, placeholders: &HashMap<&str, String>) -> Vec<(String, Schema)> {
    let mut out = vec![(JSON.to_owned(), Schema::Bool(true))];
    let mut add = |wire: &str, value: Value| {
        let schema = serde_json::from_value(value).expect("the view is a JSON Schema");
        out.push((placeholder(wire, placeholders), schema));
    };
    for def in model.scalars.values() {
        add(&def.name.wire, json!({ "type": "string" }));
    }
    for def in model.enums.values() {
        add(&def.name.wire, json!({ "type": "string" }));
    }
    for ty in model.types.values() {
        let members: Map<String, Value> = ty
            .fields
            .iter()
            .enumerate()
            .map(|(index, field)| (format!("member{index}"), view(&field.ty, placeholders)))
            .collect();
        let required: Vec<String> = members.keys().cloned().collect();
        add(
            &ty.name.wire,
            json!({
                "type": "object",
                "properties": members,
                "required": required,
                "additionalProperties": false,
            }),
        );
    }
    out
}

/// The placeholder of a definition; the model refers to none that it does not have.
fn placeholder(wire: &str, placeholders: &HashMap<&str, String>) -> String {
    placeholders.get(wire).cloned().unwrap_or_default()
}

fn view(ty: &TypeRef, placeholders: &HashMap<&str, String>) -> Value {
    match ty {
        TypeRef::String => json!({ "type": "string" }),
        TypeRef::Bool => json!({ "type": "boolean" }),
        TypeRef::Integer(integer) => {
            json!({ "type": "integer", "format": rust_integer(*integer) })
        }
        TypeRef::Number { .. } => json!({ "type": "number", "format": "double" }),
        TypeRef::Json => json!({ "$ref": format!("#/definitions/{JSON}") }),
        TypeRef::Scalar(name) | TypeRef::Enum(name) | TypeRef::Object(name) => {
            json!({ "$ref": format!("#/definitions/{}", placeholder(name, placeholders)) })
        }
        TypeRef::List(inner) => json!({ "type": "array", "items": view(inner, placeholders) }),
        TypeRef::Map(inner) => json!({
            "type": "object",
            "additionalProperties": view(inner, placeholders),
        }),
    }
}

/// What Rust holds an integer in, as JSON Schema calls it.
fn rust_integer(integer: Integer) -> &'static str {
    if integer.unsigned_in_rust() {
        "uint64"
    } else {
        "int64"
    }
}
