//! Documents of every kind go through definitions and come out as the same bytes.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use proptest::{
    collection::{btree_map, btree_set, vec},
    option,
    prelude::*,
    sample::select,
};
use serde_json::{Map, Value, json};

use super::{MARKER, import};
use crate::{
    canonical, compile,
    contract::{Contract, Documents},
    emit::{self, json_schema::DIALECT},
    model::Direction,
    source::{self, Source},
};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
}

/// The documents that the definitions made of these ones generate.
fn round_trip(documents: &Documents) -> Documents {
    let imported = import(documents).unwrap_or_else(|faults| panic!("{faults:#?}"));
    let sources: Vec<Source> = imported
        .files
        .iter()
        .map(|(path, text)| Source::new(path.clone(), text.as_bytes()))
        .collect();
    let model =
        compile(&sources).unwrap_or_else(|faults| panic!("{:#?}\n{faults:#?}", imported.files));
    let marks: usize = sources
        .iter()
        .map(|source| source.text().matches(MARKER).count())
        .sum();
    assert_eq!(marks, imported.marked);
    // Everything can be generated from it, not the documents alone.
    assert!(!emit::emit(&model).is_empty());
    Documents::of(&model)
}

#[test]
fn the_contract_of_this_workspace_comes_back_whole() {
    let documents = Documents::of(&compile(&source::read(root()).unwrap()).unwrap());
    assert_eq!(round_trip(&documents), documents);
    // And each part that its other documents do not say is filled.
    let alone = Documents::new(documents.schema.clone());
    assert_eq!(round_trip(&alone).schema, documents.schema);
    let mut without_supplement = documents.clone();
    without_supplement.supplement = None;
    let back = round_trip(&without_supplement);
    assert_eq!(
        (back.schema, back.payloads),
        (documents.schema, documents.payloads)
    );
}

#[test]
fn the_sample_protocols_come_back_whole() {
    for name in ["shapes", "minimal"] {
        let folder = root().join("tests/fixtures").join(name);
        let documents = Documents::of(&compile(&source::read(&folder).unwrap()).unwrap());
        let back = round_trip(&documents);
        assert_eq!(back, documents, "{name}");
    }
}

#[test]
fn what_people_met_in_other_tools_comes_back_as_the_same_bytes() {
    let folder = root().join("tests/fixtures/import");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(
            round_trip(&Documents::new(text.clone())).schema,
            text,
            "{}",
            path.display()
        );
        count += 1;
    }
    assert_eq!(count, 11);
}

#[test]
fn a_document_in_another_order_gives_the_canonical_one() {
    let other = root().join("tests/fixtures/compat/same-contract-other-order.json");
    let text = std::fs::read_to_string(other).unwrap();
    let hash = canonical::hash(round_trip(&Documents::new(text)).schema.as_bytes());
    assert_eq!(
        hash,
        "sha256:22338e662c66a0cb0f6055263afc18e122640e71f552b601251a1c7899593be3"
    );
}

#[test]
fn a_name_that_definitions_do_not_take_is_told_with_its_place() {
    let document = json!({
        "$defs": {
            "größe": { "additionalProperties": false, "properties": {}, "type": "object" },
            "map": { "additionalProperties": false, "properties": {
                "a b": { "type": "string" },
            }, "type": "object" },
        },
        "$id": "x", "$schema": DIALECT, "errors": [], "interceptEvents": ["<"], "limits": {},
        "methods": {}, "protocol": "x", "protocolID": "x", "protocolMajor": 1, "title": "x",
    });
    let faults = import(&Documents::new(canonical::to_string(&document))).unwrap_err();
    let places: Vec<&str> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
    assert_eq!(
        places,
        [
            "/$defs/größe",
            "/$defs/map",
            "/$defs/map/properties/a b",
            "/interceptEvents"
        ]
    );
}

/// Names that are words of Rust, of TOML, of JSON Schema and of this generator.
const WORDS: &[&str] = &[
    "Box",
    "Default",
    "Document",
    "Option",
    "RawJson",
    "Required",
    "Result",
    "Self",
    "String",
    "Vec",
    "async",
    "crate",
    "default",
    "doc",
    "enum",
    "false",
    "fields",
    "gen",
    "module",
    "new",
    "null",
    "properties",
    "ref",
    "self",
    "true",
    "type",
    "types",
    "unnamed",
    "values",
];

/// Anything that may stand on the wire as a name, near to what collides in Rust.
fn wire_name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[!#-%'-;=?-\\[\\]-~]{1,6}",
        "[aAbB]{1,3}[_.-]?[aAbB1]{0,2}",
        select(WORDS).prop_map(str::to_owned),
    ]
}

fn type_name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[A-Za-z][A-Za-z0-9_]{0,6}",
        "[aA][bB_]{0,2}",
        select(WORDS).prop_map(str::to_owned),
    ]
    .prop_filter("no word of type expressions", |name| {
        super::is_type_name(name)
    })
}

/// A text that may stand in a canonical document.
fn text() -> impl Strategy<Value = String> {
    "[ !#-%'-;=?-~\"\\\\ä漢🦀]{1,12}"
}

fn bounds() -> impl Strategy<Value = (Option<i128>, Option<i128>)> {
    let edge = prop_oneof![
        Just(i128::from(i64::MIN)),
        Just(-1),
        Just(0),
        Just(1),
        Just(i128::from(i64::MAX)),
        Just(i128::from(i64::MAX) + 1),
        Just(i128::from(u64::MAX)),
        any::<i64>().prop_map(i128::from),
    ];
    (option::of(edge.clone()), option::of(edge)).prop_map(|(a, b)| match (a, b) {
        (Some(a), Some(b)) if a > b => (Some(b), Some(a)),
        other => other,
    })
}

fn bounded(ty: &str, (min, max): (Option<i128>, Option<i128>)) -> Value {
    let mut schema = json!({ "type": ty });
    for (key, bound) in [("minimum", min), ("maximum", max)] {
        if let Some(bound) = bound {
            schema[key] = i64::try_from(bound)
                .map_or_else(|_| u64::try_from(bound).unwrap().into(), Value::from);
        }
    }
    schema
}

fn integer() -> impl Strategy<Value = Value> {
    bounds()
        .prop_filter("64 bits hold it", |(min, max)| {
            !(min.is_some_and(|min| min < 0) && max.is_some_and(|max| max > i128::from(i64::MAX)))
        })
        .prop_map(|bounds| bounded("integer", bounds))
}

fn number() -> impl Strategy<Value = Value> {
    (option::of(-9_i128..0), option::of(0_i128..9)).prop_map(|bounds| bounded("number", bounds))
}

fn enumeration() -> impl Strategy<Value = Value> {
    let value = prop_oneof![4 => wire_name(), 1 => Just(String::new())];
    btree_set(value, 1..5).prop_map(|values| json!({ "enum": values, "type": "string" }))
}

/// What can stand inside of a list or a map; types by number.
fn inner() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Bool(true)),
        Just(json!({ "type": "boolean" })),
        Just(json!({ "type": "string" })),
        Just(json!({ "type": "number" })),
        Just(json!({ "minLength": 1, "type": "string" })),
        integer(),
        enumeration(),
        (0_usize..8).prop_map(|index| json!({ "$ref": index })),
    ]
}

fn member() -> impl Strategy<Value = (Value, bool)> {
    let nested = inner().prop_recursive(3, 6, 1, |inner| {
        prop_oneof![
            inner
                .clone()
                .prop_map(|items| json!({ "items": items, "type": "array" })),
            inner.prop_map(|values| json!({ "additionalProperties": values, "type": "object" })),
        ]
    });
    let shape = prop_oneof![
        4 => nested,
        1 => number(),
        1 => Just(json!({ "x-externalizable": true })),
        1 => Just(json!({ "type": "string", "x-externalizable": true })),
    ];
    (shape, any::<bool>())
}

/// Replaces numbers of types by references, and says whether the type stands there itself.
fn resolve(schema: &mut Value, names: &[String]) {
    match schema {
        Value::Object(members) => {
            if let Some(index) = members.get("$ref").and_then(Value::as_u64) {
                let name = &names[usize::try_from(index).unwrap() % names.len()];
                members.insert("$ref".to_owned(), format!("#/$defs/{name}").into());
            }
            members.values_mut().for_each(|value| resolve(value, names));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| resolve(value, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

type Method = (Direction, String, usize, usize);

fn document() -> impl Strategy<Value = String> {
    let types = btree_map(type_name(), btree_map(wire_name(), member(), 0..8), 1..6);
    let method = (
        select(&Direction::ALL[..]),
        wire_name(),
        0_usize..8,
        0_usize..8,
    );
    let methods = btree_map(wire_name(), method, 0..4);
    let errors = btree_map(wire_name(), (any::<i64>(), text(), any::<bool>()), 0..4);
    let limits = btree_map(wire_name(), any::<u64>(), 0..3);
    let events = btree_set(wire_name(), 0..4);
    let identity = (text(), text(), 0_u64..99);
    let share = vec(any::<bool>(), 2);
    (types, methods, errors, limits, events, identity, share).prop_map(
        |(types, methods, errors, limits, events, (id, title, major), share)| {
            let names: Vec<String> = types.keys().cloned().collect();
            let mut defs = definitions(types, &names);
            // Members that hold all hooks, or all reasons.
            let all = [
                events.iter().cloned().collect::<Vec<_>>(),
                errors.keys().cloned().collect(),
            ];
            for (values, wanted) in all.into_iter().zip(share) {
                if wanted && !values.is_empty() {
                    defs[&names[0]]["properties"][format!("all{}", values.len())] =
                        json!({ "enum": values, "type": "string" });
                }
            }
            canonical::to_string(&json!({
                "$defs": defs,
                "$id": id,
                "$schema": DIALECT,
                "errors": errors.iter().map(|(reason, (code, message, retryable))| json!({
                    "jsonRpcCode": code, "message": message, "reason": reason,
                    "retryable": retryable,
                })).collect::<Vec<_>>(),
                "interceptEvents": events,
                "limits": limits,
                "methods": methods_of(methods, &names),
                "protocol": id,
                "protocolID": id,
                "protocolMajor": major,
                "title": title,
            }))
        },
    )
}

fn definitions(
    types: BTreeMap<String, BTreeMap<String, (Value, bool)>>,
    names: &[String],
) -> Value {
    let mut defs = Map::new();
    for (index, (name, members)) in types.into_iter().enumerate() {
        let mut properties = Map::new();
        let mut required = BTreeSet::new();
        for (member, (mut schema, is_required)) in members {
            let target = schema.get("$ref").and_then(Value::as_u64);
            let target = target.map(|target| usize::try_from(target).unwrap() % names.len());
            resolve(&mut schema, names);
            // What always contains itself is refused elsewhere, as is an optional member that can
            // only be empty.
            let is_empty = schema["enum"] == json!([""]);
            if is_empty || (is_required && target.is_none_or(|target| target < index)) {
                required.insert(member.clone());
            }
            properties.insert(member, schema);
        }
        let mut object = json!({
            "additionalProperties": false, "properties": properties, "type": "object",
        });
        if !required.is_empty() {
            object["required"] = json!(required);
        }
        defs.insert(name, object);
    }
    defs.into()
}

fn methods_of(methods: BTreeMap<String, Method>, names: &[String]) -> Value {
    let reference =
        |index: usize| json!({ "$ref": format!("#/$defs/{}", names[index % names.len()]) });
    let mut all = Map::new();
    for (name, (direction, class, params, result)) in methods {
        let notification = direction.is_notification();
        all.insert(
            name,
            json!({
                "class": class,
                "direction": direction.as_str(),
                "notification": notification,
                "params": reference(params),
                "result": if notification { Value::Null } else { reference(result) },
            }),
        );
    }
    all.into()
}

/// Few in a run of the tests; `cargo xtask soak` sets the variable that proptest reads.
fn cases() -> ProptestConfig {
    const FEW: u32 = 64;
    let given = ProptestConfig::default();
    ProptestConfig {
        cases: std::env::var_os("PROPTEST_CASES").map_or(FEW, |_| given.cases),
        failure_persistence: None,
        ..given
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn every_document_of_the_shape_comes_back_as_the_same_bytes(document in document()) {
        let given = Documents::new(document.clone());
        prop_assert!(Contract::read(&given).is_ok(), "{:#?}", Contract::read(&given));
        let back = round_trip(&given);
        prop_assert_eq!(&back.schema, &document);
        // What the first pass filled in is then said by documents, and stays as it is.
        prop_assert_eq!(round_trip(&back), back);
    }
}
