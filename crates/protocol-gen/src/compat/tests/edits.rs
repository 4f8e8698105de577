//! Random edits of the documents of a contract. Judges nothing.

use fastrand::Rng;
use serde_json::{Map, Value, json};

/// The three documents as values.
#[derive(Clone)]
pub(super) struct Values {
    pub(super) schema: Value,
    pub(super) payloads: Value,
    pub(super) supplement: Value,
}

type Edit = fn(&mut Values, &mut Rng) -> Option<()>;

/// What can be done to a contract. Some results are no contract; whoever edits reads it again.
const EDITS: &[Edit] = &[
    add_member,
    add_member,
    add_member,
    add_value,
    add_value,
    add_method,
    add_error,
    add_event,
    remove_member,
    rename_member,
    require,
    bound,
    blank,
    shape,
    remove_value,
    externalize,
    remove_method,
    method_term,
    error_term,
    remove_error,
    limit,
    add_type,
    rename_type,
    unused_type,
    width,
    lower_hex,
    absent_is_zero,
    shared,
    add_rule,
    remove_rule,
    hook_term,
    timeout,
    slot,
    unit,
    replacement,
    fixed,
    payload,
    remove_hook,
    documents,
    identity,
];

pub(super) fn edit(values: &mut Values, rng: &mut Rng) {
    while rng
        .choice(EDITS)
        .and_then(|edit| edit(values, rng))
        .is_none()
    {}
}

fn key(value: &Value, rng: &mut Rng) -> Option<String> {
    rng.choice(value.as_object()?.keys()).cloned()
}

/// One of the two documents that have types.
fn document<'v>(values: &'v mut Values, rng: &mut Rng) -> &'v mut Value {
    if rng.bool() {
        &mut values.schema
    } else {
        &mut values.payloads
    }
}

fn object<'v>(values: &'v mut Values, rng: &mut Rng) -> Option<&'v mut Value> {
    let document = document(values, rng);
    let ty = key(&document["$defs"], rng)?;
    Some(&mut document["$defs"][ty])
}

/// The shape of a member, what lists and maps hold in the end.
fn member<'v>(values: &'v mut Values, rng: &mut Rng) -> Option<&'v mut Value> {
    let object = object(values, rng)?;
    let name = key(&object["properties"], rng)?;
    let mut shape = &mut object["properties"][name];
    for inner in ["items", "additionalProperties", "items"] {
        if shape.get(inner).is_some_and(Value::is_object) {
            shape = &mut shape[inner];
        }
    }
    Some(shape)
}

fn scalar(rng: &mut Rng) -> Value {
    match rng.u8(..8) {
        0 => json!({"type": "boolean"}),
        1 => json!({"type": "string"}),
        2 => json!({"type": "string", "minLength": 1}),
        3 => json!({"type": "integer", "minimum": rng.i64(-3..3)}),
        4 => json!({"type": "integer", "minimum": 0, "maximum": rng.i64(1..9)}),
        5 => json!({"type": "number"}),
        6 => json!({"type": "string", "enum": ["a", "b"]}),
        _ => json!(true),
    }
}

fn any_shape(document: &Value, rng: &mut Rng) -> Value {
    let inner = if rng.u8(..4) == 0 {
        match key(&document["$defs"], rng) {
            Some(ty) => json!({"$ref": format!("#/$defs/{ty}")}),
            None => scalar(rng),
        }
    } else {
        scalar(rng)
    };
    match rng.u8(..6) {
        0 => json!({"type": "array", "items": inner}),
        1 => json!({"type": "object", "additionalProperties": inner}),
        _ => inner,
    }
}

fn add_member(values: &mut Values, rng: &mut Rng) -> Option<()> {
    let document = document(values, rng);
    let shape = any_shape(document, rng);
    let ty = key(&document["$defs"], rng)?;
    let object = &mut document["$defs"][ty];
    let name = format!("new{}", rng.u8(..9));
    object["properties"][&name] = shape;
    if rng.u8(..4) == 0 {
        require_name(object, &name);
    }
    Some(())
}

fn require_name(object: &mut Value, name: &str) {
    let mut names: Vec<Value> = object["required"].as_array().cloned().unwrap_or_default();
    if let Some(at) = names.iter().position(|known| known == name) {
        names.remove(at);
    } else {
        names.push(name.into());
        names.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
    }
    if names.is_empty() {
        object.as_object_mut().unwrap().remove("required");
    } else {
        object["required"] = names.into();
    }
}

fn remove_member(values: &mut Values, rng: &mut Rng) -> Option<()> {
    let object = object(values, rng)?;
    let name = key(&object["properties"], rng)?;
    object["properties"].as_object_mut()?.remove(&name);
    if object["required"]
        .as_array()
        .is_some_and(|names| names.iter().any(|known| *known == name))
    {
        require_name(object, &name);
    }
    Some(())
}

fn rename_member(values: &mut Values, rng: &mut Rng) -> Option<()> {
    let object = object(values, rng)?;
    let name = key(&object["properties"], rng)?;
    let member = object["properties"].as_object_mut()?.remove(&name)?;
    let other = format!("{name}X");
    object["properties"][&other] = member;
    if object["required"]
        .as_array()
        .is_some_and(|names| names.iter().any(|known| *known == name))
    {
        require_name(object, &name);
        require_name(object, &other);
    }
    Some(())
}

fn require(values: &mut Values, rng: &mut Rng) -> Option<()> {
    let object = object(values, rng)?;
    let name = key(&object["properties"], rng)?;
    require_name(object, &name);
    Some(())
}

fn bound(values: &mut Values, rng: &mut Rng) -> Option<()> {
    let member = member(values, rng)?;
    let ty = member.get("type")?.as_str()?;
    if ty != "integer" && ty != "number" {
        return None;
    }
    let keyword = if rng.bool() { "minimum" } else { "maximum" };
    if rng.u8(..3) == 0 {
        member.as_object_mut()?.remove(keyword)?;
    } else {
        member[keyword] = rng.i64(-2..20).into();
    }
    Some(())
}

fn blank(values: &mut Values, rng: &mut Rng) -> Option<()> {
    let member = member(values, rng)?.as_object_mut()?;
    if member.get("type")? != "string" || member.contains_key("enum") {
        return None;
    }
    if member.remove("minLength").is_none() {
        member.insert("minLength".to_owned(), 1.into());
    }
    Some(())
}

fn shape(values: &mut Values, rng: &mut Rng) -> Option<()> {
    let document = document(values, rng);
    let shape = any_shape(document, rng);
    let ty = key(&document["$defs"], rng)?;
    let name = key(&document["$defs"][&ty]["properties"], rng)?;
    document["$defs"][ty]["properties"][name] = shape;
    Some(())
}

/// Changes an enum everywhere where the same values stand.
fn values_of(value: &mut Value, from: &Value, to: &Value) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                if (name == "enum" || name == "interceptEvents") && value == from {
                    value.clone_from(to);
                } else {
                    values_of(value, from, to);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| values_of(item, from, to)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn change_values(
    values: &mut Values,
    rng: &mut Rng,
    change: impl FnOnce(&mut Vec<Value>, &mut Rng),
) -> Option<()> {
    let one = rng.u8(..3) == 0;
    let member = member(values, rng)?;
    let from = member.get("enum")?.clone();
    let mut to = from.as_array()?.clone();
    change(&mut to, rng);
    to.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
    to.dedup();
    let to = Value::from(to);
    if one {
        member["enum"] = to;
    } else {
        values_of(&mut values.schema, &from, &to);
        values_of(&mut values.payloads, &from, &to);
    }
    Some(())
}

fn add_value(values: &mut Values, rng: &mut Rng) -> Option<()> {
    change_values(values, rng, |list, rng| {
        list.push(format!("new{}", rng.u8(..9)).into());
    })
}

fn remove_value(values: &mut Values, rng: &mut Rng) -> Option<()> {
    change_values(values, rng, |list, rng| {
        if list.len() > 1 {
            let at = rng.usize(..list.len());
            list.remove(at);
        }
    })
}

fn externalize(values: &mut Values, rng: &mut Rng) -> Option<()> {
    let object = object(values, rng)?;
    let name = key(&object["properties"], rng)?;
    let member = &mut object["properties"][name];
    if *member == true {
        *member = json!({"x-externalizable": true});
        return Some(());
    }
    let member = member.as_object_mut()?;
    if member.remove("x-externalizable").is_none() {
        member.insert("x-externalizable".to_owned(), true.into());
    }
    Some(())
}

fn add_method(values: &mut Values, rng: &mut Rng) -> Option<()> {
    let like = key(&values.schema["methods"], rng)?;
    let mut method = values.schema["methods"][like].clone();
    if rng.bool() {
        let name = format!("New{}Params", rng.u8(..9));
        values.schema["$defs"][&name] = json!({"type": "object", "additionalProperties": false, "properties": {"a": scalar(rng)}});
        method["params"] = json!({"$ref": format!("#/$defs/{name}")});
    }
    values.schema["methods"][format!("new/{}", rng.u8(..9))] = method;
    Some(())
}

fn remove_method(values: &mut Values, rng: &mut Rng) -> Option<()> {
    let name = key(&values.schema["methods"], rng)?;
    values.schema["methods"].as_object_mut()?.remove(&name)?;
    Some(())
}

fn method_term(values: &mut Values, rng: &mut Rng) -> Option<()> {
    let name = key(&values.schema["methods"], rng)?;
    let other = key(&values.schema["methods"], rng)?;
    let ty = key(&values.schema["$defs"], rng)?;
    let other = values.schema["methods"][other].clone();
    let method = &mut values.schema["methods"][name];
    match rng.u8(..4) {
        0 => method["class"] = other["class"].clone(),
        1 => method["params"] = json!({"$ref": format!("#/$defs/{ty}")}),
        2 if !method["result"].is_null() => {
            method["result"] = json!({"$ref": format!("#/$defs/{ty}")});
        }
        _ => {
            for term in ["direction", "notification", "result"] {
                method[term] = other[term].clone();
            }
        }
    }
    Some(())
}

/// All members that name a reason, in both documents.
fn reasons(values: &mut Values, from: &Value) -> Option<()> {
    let to: Vec<Value> = values.schema["errors"]
        .as_array()?
        .iter()
        .map(|error| error["reason"].clone())
        .collect();
    let to = Value::from(to);
    values_of(&mut values.schema, from, &to);
    values_of(&mut values.payloads, from, &to);
    Some(())
}

fn all_reasons(values: &Values) -> Option<Value> {
    let reasons = values.schema["errors"].as_array()?;
    Some(
        reasons
            .iter()
            .map(|error| error["reason"].clone())
            .collect::<Vec<_>>()
            .into(),
    )
}

fn add_error(values: &mut Values, rng: &mut Rng) -> Option<()> {
    let from = all_reasons(values)?;
    let mut error = rng.choice(values.schema["errors"].as_array()?)?.clone();
    error["reason"] = format!("new_{}", rng.u8(..9)).into();
    let errors = values.schema["errors"].as_array_mut()?;
    errors.push(error);
    errors.sort_by(|a, b| a["reason"].as_str().cmp(&b["reason"].as_str()));
    reasons(values, &from)
}

fn remove_error(values: &mut Values, rng: &mut Rng) -> Option<()> {
    let from = all_reasons(values)?;
    let errors = values.schema["errors"].as_array_mut()?;
    let at = rng.usize(..errors.len());
    errors.remove(at);
    reasons(values, &from)
}

fn error_term(values: &mut Values, rng: &mut Rng) -> Option<()> {
    let errors = values.schema["errors"].as_array_mut()?;
    let at = rng.usize(..errors.len());
    let error = &mut errors[at];
    match rng.u8(..3) {
        0 => error["jsonRpcCode"] = rng.i64(-32099..-32000).into(),
        1 => error["message"] = format!("Message {}.", rng.u8(..9)).into(),
        _ => error["retryable"] = (!error["retryable"].as_bool()?).into(),
    }
    Some(())
}

fn add_event(values: &mut Values, rng: &mut Rng) -> Option<()> {
    let from = values.schema["interceptEvents"].clone();
    let mut to = from.as_array()?.clone();
    let point = format!("new.{}", rng.u8(..9));
    to.push(point.clone().into());
    to.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
    values_of(&mut values.schema, &from, &to.into());
    let like = key(&values.payloads["hooks"], rng)?;
    values.payloads["hooks"][&point] = values.payloads["hooks"][&like].clone();
    values.supplement["hooks"][&point] = values.supplement["hooks"][&like].clone();
    Some(())
}

fn remove_hook(values: &mut Values, rng: &mut Rng) -> Option<()> {
    let point = key(&values.payloads["hooks"], rng)?;
    values.payloads["hooks"].as_object_mut()?.remove(&point);
    values.supplement["hooks"].as_object_mut()?.remove(&point);
    let from = values.schema["interceptEvents"].clone();
    let mut to = from.as_array()?.clone();
    to.retain(|known| *known != point);
    values_of(&mut values.schema, &from, &to.into());
    Some(())
}

fn limit(values: &mut Values, rng: &mut Rng) -> Option<()> {
    let name = key(&values.schema["limits"], rng)?;
    match rng.u8(..3) {
        0 => {
            values.schema["limits"].as_object_mut()?.remove(&name);
            values.supplement["units"].as_object_mut()?.remove(&name);
        }
        1 => {
            values.schema["limits"]["newLimit"] = rng.u64(1..99).into();
            values.supplement["units"]["newLimit"] = values.supplement["units"][&name].clone();
        }
        _ => values.schema["limits"][name] = rng.u64(1..99).into(),
    }
    Some(())
}

fn unit(values: &mut Values, rng: &mut Rng) -> Option<()> {
    let name = key(&values.supplement["units"], rng)?;
    let other = key(&values.supplement["units"], rng)?;
    values.supplement["units"][name] = values.supplement["units"][other].clone();
    Some(())
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "an edit says whether it found a place, and this one always does"
)]
fn unused_type(values: &mut Values, rng: &mut Rng) -> Option<()> {
    let document = document(values, rng);
    document["$defs"][format!("Unused{}", rng.u8(..9))] =
        json!({"type": "object", "additionalProperties": false, "properties": {}});
    Some(())
}

/// A type with what uses it.
fn add_type(values: &mut Values, rng: &mut Rng) -> Option<()> {
    let document = document(values, rng);
    let name = format!("Added{}", rng.u8(..9));
    let user = key(&document["$defs"], rng)?;
    document["$defs"][&name] =
        json!({"type": "object", "additionalProperties": false, "properties": {"a": scalar(rng)}});
    document["$defs"][user]["properties"]["added"] = json!({"$ref": format!("#/$defs/{name}")});
    Some(())
}

fn rename_type(values: &mut Values, rng: &mut Rng) -> Option<()> {
    let document = document(values, rng);
    let name = key(&document["$defs"], rng)?;
    let other = format!("{name}Renamed");
    let ty = document["$defs"].as_object_mut()?.remove(&name)?;
    document["$defs"][&other] = ty;
    refer(
        document,
        &format!("#/$defs/{name}"),
        &format!("#/$defs/{other}"),
    );
    let member_prefix = format!("{name}.");
    let renamed = |map: &mut Map<String, Value>| {
        *map = std::mem::take(map)
            .into_iter()
            .map(|(place, value)| match place.strip_prefix(&member_prefix) {
                Some(member) => (format!("{other}.{member}"), value),
                None if place == name => (other.clone(), value),
                None => (place, value),
            })
            .collect();
    };
    renamed(values.supplement["members"].as_object_mut()?);
    renamed(values.supplement["rules"].as_object_mut()?);
    renamed(values.payloads["documents"].as_object_mut()?);
    Some(())
}

fn refer(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::Object(members) => members
            .values_mut()
            .for_each(|value| refer(value, from, to)),
        Value::Array(items) => items.iter_mut().for_each(|value| refer(value, from, to)),
        Value::String(text) if text == from => to.clone_into(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The terms of a member in the supplement.
fn terms<'v>(values: &'v mut Values, rng: &mut Rng) -> Option<&'v mut Map<String, Value>> {
    let document = if rng.bool() {
        &values.schema
    } else {
        &values.payloads
    };
    let ty = key(&document["$defs"], rng)?;
    let member = key(&document["$defs"][&ty]["properties"], rng)?;
    let place = format!("{ty}.{member}");
    let members = values.supplement["members"].as_object_mut()?;
    members
        .entry(place)
        .or_insert_with(|| json!({}))
        .as_object_mut()
}

fn width(values: &mut Values, rng: &mut Rng) -> Option<()> {
    let width = if rng.bool() { "u64" } else { "i64" };
    let place = rng
        .choice(values.supplement["members"].as_object()?.keys())?
        .clone();
    values.supplement["members"][place]["width"].as_str()?;
    let place = rng
        .choice(values.supplement["members"].as_object()?.keys())?
        .clone();
    values.supplement["members"][place]["width"] = width.into();
    Some(())
}

fn lower_hex(values: &mut Values, rng: &mut Rng) -> Option<()> {
    let digits = rng.u32(1..9);
    let terms = terms(values, rng)?;
    if terms.remove("lowerHex").is_none() {
        terms.insert("lowerHex".to_owned(), digits.into());
    }
    Some(())
}

fn absent_is_zero(values: &mut Values, rng: &mut Rng) -> Option<()> {
    let terms = terms(values, rng)?;
    if terms.remove("absentIsZero").is_none() {
        terms.insert("absentIsZero".to_owned(), true.into());
    }
    Some(())
}

fn shared(values: &mut Values, rng: &mut Rng) -> Option<()> {
    let terms = terms(values, rng)?;
    if terms.remove("shared").is_none() {
        terms.insert("shared".to_owned(), "Shared".into());
    }
    Some(())
}

fn add_rule(values: &mut Values, rng: &mut Rng) -> Option<()> {
    let document = if rng.bool() {
        &values.schema
    } else {
        &values.payloads
    };
    let ty = key(&document["$defs"], rng)?;
    let properties = &document["$defs"][&ty]["properties"];
    let member = key(properties, rng)?;
    let by = properties
        .as_object()?
        .iter()
        .find(|(name, shape)| **name != member && shape.get("enum").is_some());
    let mut rule = Map::new();
    if let Some((by, shape)) = by {
        let value = rng.choice(shape["enum"].as_array()?)?.clone();
        let word = if rng.bool() { "when" } else { "unless" };
        rule.insert(word.to_owned(), json!({"member": by, "value": value}));
    }
    let demand = *rng.choice(&["requires", "forbids", "object"])?;
    rule.insert(demand.to_owned(), json!([member]));
    let rules = values.supplement["rules"].as_object_mut()?;
    let rules = rules.entry(ty).or_insert_with(|| json!([]));
    rules.as_array_mut()?.push(rule.into());
    Some(())
}

fn remove_rule(values: &mut Values, rng: &mut Rng) -> Option<()> {
    let ty = key(&values.supplement["rules"], rng)?;
    let rules = values.supplement["rules"][&ty].as_array_mut()?;
    let at = rng.usize(..rules.len());
    rules.remove(at);
    if rules.is_empty() {
        values.supplement["rules"].as_object_mut()?.remove(&ty);
    }
    Some(())
}

fn hook_term(values: &mut Values, rng: &mut Rng) -> Option<()> {
    let point = key(&values.supplement["hooks"], rng)?;
    let other = key(&values.supplement["hooks"], rng)?;
    let term = *rng.choice(&["timeout", "slot", "decisions", "adopts"])?;
    let other = values.supplement["hooks"][other][term].clone();
    let hook = values.supplement["hooks"][point].as_object_mut()?;
    if other.is_null() {
        hook.remove(term);
    } else {
        hook.insert(term.to_owned(), other);
    }
    Some(())
}

fn timeout(values: &mut Values, rng: &mut Rng) -> Option<()> {
    let name = key(&values.supplement["timeouts"], rng)?;
    if rng.bool() {
        values.supplement["timeouts"][name] = rng.u64(1..9999).into();
    } else {
        values.supplement["timeouts"]["newFamily"] = 5.into();
    }
    Some(())
}

fn slot(values: &mut Values, rng: &mut Rng) -> Option<()> {
    let name = key(&values.supplement["slots"], rng)?;
    match rng.u8(..2) {
        0 => values.supplement["slots"]["new_slot"] = Value::Null,
        _ => values.supplement["slots"][name] = "name".into(),
    }
    Some(())
}

fn replacement(values: &mut Values, rng: &mut Rng) -> Option<()> {
    let point = key(&values.payloads["hooks"], rng)?;
    let payload = values.payloads["hooks"][&point]["payload"]["$ref"].as_str()?;
    let ty = payload.strip_prefix("#/$defs/")?.to_owned();
    let member = key(&values.payloads["$defs"][&ty]["properties"], rng)?;
    let replacement = &mut values.payloads["hooks"][point]["replacement"];
    match rng.u8(..4) {
        0 => {
            replacement.as_object_mut()?.remove("properties")?;
        }
        1 => replacement["required"] = json!([member]),
        2 => replacement["properties"][member] = json!({"minLength": 1}),
        _ => replacement["anyOf"] = json!([{"required": [member]}]),
    }
    Some(())
}

fn fixed(values: &mut Values, rng: &mut Rng) -> Option<()> {
    let point = key(&values.payloads["hooks"], rng)?;
    let other = key(&values.payloads["hooks"], rng)?;
    let other = values.payloads["hooks"][other].clone();
    for part in ["payload", "replacement"] {
        other[part].get("properties")?;
        values.payloads["hooks"][&point][part]["properties"] = other[part]["properties"].clone();
    }
    Some(())
}

fn payload(values: &mut Values, rng: &mut Rng) -> Option<()> {
    let point = key(&values.payloads["hooks"], rng)?;
    let other = key(&values.payloads["hooks"], rng)?;
    values.payloads["hooks"][point] = values.payloads["hooks"][other].clone();
    Some(())
}

fn documents(values: &mut Values, rng: &mut Rng) -> Option<()> {
    let place = key(&values.payloads["documents"], rng)?;
    let types = values.payloads["documents"][&place]["types"].as_object_mut()?;
    let names: Vec<String> = types.keys().cloned().collect();
    let (one, other) = (rng.choice(&names)?, rng.choice(&names)?);
    if rng.bool() {
        types.remove(one);
    } else {
        types[one] = types[other].clone();
    }
    Some(())
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "an edit says whether it found a place, and this one always does"
)]
fn identity(values: &mut Values, rng: &mut Rng) -> Option<()> {
    match rng.u8(..4) {
        0 => values.schema["title"] = "Another title".into(),
        1 => values.payloads["title"] = "Another title".into(),
        2 => values.payloads["$id"] = "another.payloads".into(),
        _ => {
            values.schema["protocolMajor"] = 2.into();
            for name in ["$id", "protocol", "protocolID"] {
                values.schema[name] = "another.v2".into();
            }
            values.payloads["protocol"] = "another.v2".into();
            values.supplement["protocol"] = "another.v2".into();
        }
    }
    Some(())
}
