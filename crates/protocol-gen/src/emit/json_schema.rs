//! The two canonical documents: the frozen contract, and the documents inside its any-JSON fields.

use serde_json::{Map, Value, json};

use crate::{
    artifact::Artifact,
    canonical,
    model::{Document, Field, Hook, Integer, Model, Presence, ScalarKind, Type, TypeRef},
};

/// Dialect of both documents.
pub(crate) const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Name of the file of the frozen contract, in the folder of the package.
pub(crate) const CONTRACT_FILE: &str = "schema.generated.json";
/// Name of the file of the payloads document, in the folder of the package.
pub(crate) const PAYLOADS_FILE: &str = "payloads.generated.json";

/// A canonical document: its bytes and their hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CanonicalDocument {
    /// The document, without a newline at the end.
    pub json: String,
    /// SHA-256 of its bytes, as `sha256:<hex>`.
    pub hash: String,
}

impl CanonicalDocument {
    fn new(value: &Value) -> Self {
        let json = canonical::to_string(value);
        let hash = canonical::hash(json.as_bytes());
        Self { json, hash }
    }
}

/// The canonical documents and their hashes, as files.
pub fn emit(model: &Model) -> Vec<Artifact> {
    let mut artifacts = files(model, CONTRACT_FILE, contract(model));
    if let Some(payloads) = payloads(model) {
        artifacts.extend(files(model, PAYLOADS_FILE, payloads));
    }
    artifacts
}

/// The frozen contract.
pub fn contract(model: &Model) -> CanonicalDocument {
    let methods: Map<String, Value> = model
        .methods
        .iter()
        .map(|method| {
            let entry = json!({
                "class": method.class,
                "direction": method.direction.as_str(),
                "notification": method.direction.is_notification(),
                "params": reference(&method.params),
                "result": method.result.as_deref().map(reference),
            });
            (method.name.wire.clone(), entry)
        })
        .collect();
    let errors: Vec<Value> = model
        .errors
        .iter()
        .map(|error| {
            json!({
                "jsonRpcCode": error.code,
                "message": error.message,
                "reason": error.name.wire,
                "retryable": error.retryable,
            })
        })
        .collect();
    let limits: Map<String, Value> = model
        .limits
        .iter()
        .map(|limit| (limit.name.wire.clone(), limit.value.into()))
        .collect();
    let events: Vec<&str> = model
        .hooks
        .iter()
        .map(|hook| hook.name.wire.as_str())
        .collect();
    CanonicalDocument::new(&json!({
        "$defs": definitions(model, |ty| model.document_of(ty) == Document::Contract),
        "$id": model.protocol.id,
        "$schema": DIALECT,
        "errors": errors,
        "interceptEvents": events,
        "limits": limits,
        "methods": methods,
        "protocol": model.protocol.id,
        "protocolID": model.protocol.id,
        "protocolMajor": model.protocol.major,
        "title": model.protocol.title,
    }))
}

/// The documents inside any-JSON fields, with a map from hook points and deciding values to them.
///
/// It stands alone: types of the contract that payloads refer to are in its `$defs` too.
pub fn payloads(model: &Model) -> Option<CanonicalDocument> {
    let identity = model.payloads.as_ref()?;
    let mut document = json!({
        "$id": identity.id,
        "$schema": DIALECT,
        "protocol": model.protocol.id,
        "title": identity.title,
    });
    let mut roots: Vec<&str> = Vec::new();

    let mut hooks = Map::new();
    for hook in &model.hooks {
        roots.push(&hook.payload);
        hooks.insert(
            hook.name.wire.clone(),
            json!({ "payload": payload(hook), "replacement": replacement(hook) }),
        );
    }
    let mut documents = Map::new();
    for ty in model.types.values() {
        for field in &ty.fields {
            if let Some(of) = &field.documents {
                roots.extend(of.types.values().map(String::as_str));
                let types: Map<String, Value> = of
                    .types
                    .iter()
                    .map(|(value, name)| (value.clone(), reference(name)))
                    .collect();
                documents.insert(
                    format!("{}.{}", ty.name.wire, field.name.wire),
                    json!({ "by": of.by, "types": types }),
                );
            }
        }
    }
    if let Some(error_data) = &identity.error_data {
        roots.push(error_data);
    }

    let unused = model.types.values().filter(|ty| ty.unused);
    roots.extend(
        unused
            .filter(|ty| model.document_of(ty) == Document::Payloads)
            .map(|ty| ty.name.wire.as_str()),
    );

    let reached = reach(model, roots);
    if let Some(members) = document.as_object_mut() {
        members.insert(
            "$defs".to_owned(),
            definitions(model, |ty| reached.contains(&ty.name.wire)).into(),
        );
        members.insert("hooks".to_owned(), hooks.into());
        members.insert("documents".to_owned(), documents.into());
        if let Some(error_data) = &identity.error_data {
            members.insert("errorData".to_owned(), reference(error_data));
        }
    }
    Some(CanonicalDocument::new(&document))
}

fn files(model: &Model, name: &str, document: CanonicalDocument) -> Vec<Artifact> {
    let path = format!("{}/{name}", model.package.directory);
    let hash_path = path.replace(".json", ".sha256");
    vec![
        Artifact {
            path,
            bytes: document.json.into_bytes(),
        },
        Artifact {
            path: hash_path,
            bytes: format!("{}\n", document.hash).into_bytes(),
        },
    ]
}

fn definitions(model: &Model, wanted: impl Fn(&Type) -> bool) -> Map<String, Value> {
    model
        .types
        .values()
        .filter(|ty| wanted(ty))
        .map(|ty| (ty.name.wire.clone(), object(model, ty)))
        .collect()
}

fn object(model: &Model, ty: &Type) -> Value {
    let properties: Map<String, Value> = ty
        .fields
        .iter()
        .map(|field| (field.name.wire.clone(), member(model, field)))
        .collect();
    let mut object = json!({
        "additionalProperties": false,
        "properties": properties,
        "type": "object",
    });
    let mut required: Vec<&str> = ty
        .required()
        .map(|field| field.name.wire.as_str())
        .collect();
    required.sort_unstable();
    if !required.is_empty()
        && let Some(members) = object.as_object_mut()
    {
        members.insert("required".to_owned(), required.into());
    }
    object
}

fn member(model: &Model, field: &Field) -> Value {
    let mut schema = schema(model, &field.ty);
    if field.externalizable {
        if schema == Value::Bool(true) {
            schema = json!({});
        }
        insert(&mut schema, "x-externalizable", true.into());
    }
    if field.non_blank {
        insert(&mut schema, "minLength", 1.into());
    }
    if field.empty_is_absent
        && let Some(values) = schema.get_mut("enum").and_then(Value::as_array_mut)
    {
        values.insert(0, "".into());
    }
    debug_assert!(
        field.presence != Presence::ZeroIfAbsent || !field.externalizable,
        "a member that is written always has a value"
    );
    schema
}

fn schema(model: &Model, ty: &TypeRef) -> Value {
    match ty {
        TypeRef::String => json!({ "type": "string" }),
        TypeRef::Bool => json!({ "type": "boolean" }),
        TypeRef::Integer(integer) => integer_schema(*integer),
        TypeRef::Number { min, max } => {
            let mut schema = json!({ "type": "number" });
            for (key, bound) in [("minimum", min), ("maximum", max)] {
                if let Some(bound) = bound {
                    insert(&mut schema, key, (*bound).into());
                }
            }
            schema
        }
        TypeRef::Json => Value::Bool(true),
        TypeRef::Scalar(name) => match model.scalars.get(name).map(|scalar| &scalar.kind) {
            Some(ScalarKind::Integer(integer)) => integer_schema(*integer),
            Some(ScalarKind::String {
                non_blank: true, ..
            }) => json!({ "minLength": 1, "type": "string" }),
            Some(ScalarKind::String { .. }) | None => json!({ "type": "string" }),
        },
        TypeRef::Enum(name) => {
            let mut values: Vec<&str> = model
                .enums
                .get(name)
                .map(|def| def.values.iter().map(|v| v.name.wire.as_str()).collect())
                .unwrap_or_default();
            values.sort_unstable();
            json!({ "enum": values, "type": "string" })
        }
        TypeRef::Object(name) => reference(name),
        TypeRef::List(inner) => json!({ "items": schema(model, inner), "type": "array" }),
        TypeRef::Map(inner) => {
            json!({ "additionalProperties": schema(model, inner), "type": "object" })
        }
    }
}

fn integer_schema(integer: Integer) -> Value {
    let mut schema = json!({ "type": "integer" });
    for (key, bound) in [("minimum", integer.min), ("maximum", integer.max)] {
        // A bound is within 64 bits, signed or not: the model holds no other.
        let number = bound.and_then(|bound| {
            i64::try_from(bound)
                .map(Value::from)
                .or_else(|_| u64::try_from(bound).map(Value::from))
                .ok()
        });
        if let Some(number) = number {
            insert(&mut schema, key, number);
        }
    }
    schema
}

fn insert(schema: &mut Value, key: &str, value: Value) {
    if let Some(members) = schema.as_object_mut() {
        members.insert(key.to_owned(), value);
    }
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

/// What a payload is at this point: its type, and the members that have one value here.
fn payload(hook: &Hook) -> Value {
    let mut schema = reference(&hook.payload);
    let fixed: Map<String, Value> = hook
        .fixed
        .iter()
        .map(|(field, value)| (field.clone(), json!({ "const": value })))
        .collect();
    if !fixed.is_empty() {
        insert(&mut schema, "properties", fixed.into());
    }
    schema
}

/// What a replacement must be beyond a payload.
fn replacement(hook: &Hook) -> Value {
    let mut schema = payload(hook);
    let demand = &hook.replacement;
    if !demand.required.is_empty() {
        insert(&mut schema, "required", demand.required.clone().into());
    }
    if !demand.any_of.is_empty() {
        let any: Vec<Value> = demand
            .any_of
            .iter()
            .map(|name| json!({ "required": [name] }))
            .collect();
        insert(&mut schema, "anyOf", any.into());
    }
    if !demand.non_empty.is_empty() || !demand.object_text.is_empty() {
        let mut properties = match schema.get("properties").and_then(Value::as_object) {
            Some(properties) => properties.clone(),
            None => Map::new(),
        };
        for name in &demand.non_empty {
            properties.insert(name.clone(), json!({ "minLength": 1 }));
        }
        for name in &demand.object_text {
            // That the text is one whole JSON object is beyond a pattern; this is its beginning.
            properties.insert(name.clone(), json!({ "pattern": "^(\\s*\\{|$)" }));
        }
        insert(&mut schema, "properties", properties.into());
    }
    schema
}

fn reach(model: &Model, roots: Vec<&str>) -> std::collections::BTreeSet<String> {
    let mut queue: Vec<String> = roots.into_iter().map(str::to_owned).collect();
    let mut reached = std::collections::BTreeSet::new();
    while let Some(name) = queue.pop() {
        let Some(ty) = model.types.get(&name) else {
            continue;
        };
        if reached.insert(name) {
            for field in &ty.fields {
                if let TypeRef::Object(name) = field.ty.innermost() {
                    queue.push(name.clone());
                }
            }
        }
    }
    reached
}
