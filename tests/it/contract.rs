//! The frozen contract: its bytes, its hash, and what the decoders make of its examples.

use std::fs;

use extension_protocol_gen::{canonical, emit::json_schema, source};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};
use reasonix_extension_protocol as protocol;
use reasonix_extension_protocol::{
    DecodeError, ErrorReason, FaultKind, HookPoint, RawJson, decode_str, encode, hooks,
    hooks::Hook as _, limits, methods::MethodName, payloads, types,
};
use reasonix_extension_tests::workspace;
use serde::de::DeserializeOwned;

/// The hash of the published contract. It is a fact of the outside world, so it stands here by hand.
const PUBLISHED: &str = "sha256:22338e662c66a0cb0f6055263afc18e122640e71f552b601251a1c7899593be3";
/// The length of the published contract, in bytes.
const PUBLISHED_BYTES: usize = 17_558;

#[test]
fn the_definitions_generate_the_published_contract_byte_for_byte() {
    let sources = source::read(workspace()).unwrap();
    let model = extension_protocol_gen::compile(&sources).expect("the definitions are sound");
    let contract = json_schema::contract(&model);
    assert_eq!(contract.json.len(), PUBLISHED_BYTES);
    assert_eq!(canonical::hash(contract.json.as_bytes()), PUBLISHED);
    assert_eq!(contract.json, protocol::SCHEMA_JSON);
}

#[test]
fn the_crate_carries_the_contract_the_payloads_and_their_hashes() {
    assert_eq!(protocol::SCHEMA_HASH, PUBLISHED);
    for (json, hash, file) in [
        (protocol::SCHEMA_JSON, protocol::SCHEMA_HASH, "schema"),
        (protocol::PAYLOADS_JSON, protocol::PAYLOADS_HASH, "payloads"),
    ] {
        assert_eq!(canonical::hash(json.as_bytes()), hash, "{file}");
        let path = workspace().join(format!("generated/{file}.generated.sha256"));
        assert_eq!(fs::read_to_string(path).unwrap(), format!("{hash}\n"));
        assert!(!json.ends_with('\n'), "{file}");
    }
    assert_eq!(protocol::PROTOCOL_ID, "reasonix.extension.v1");
    assert_eq!(protocol::PROTOCOL_MAJOR, 1);
}

#[test]
fn both_documents_are_json_schema() {
    for json in [protocol::SCHEMA_JSON, protocol::PAYLOADS_JSON] {
        let document: serde_json::Value = serde_json::from_str(json).unwrap();
        jsonschema::meta::validate(&document).expect("a sound schema of its dialect");
    }
}

#[test]
fn the_definitions_are_what_the_meta_schema_allows_and_say_so_in_their_first_line() {
    let path = workspace().join("schema/definitions.generated.json");
    let schema: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for source in source::read(workspace()).unwrap() {
        let up = "../".repeat(source.path.matches('/').count() - 1);
        let first = source.text().lines().next().unwrap_or_default();
        assert_eq!(
            first,
            format!("#:schema {up}definitions.generated.json"),
            "{}",
            source.path
        );
        let table: toml::Table = source.text().parse().unwrap();
        let value = serde_json::to_value(table).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", source.path);
    }
}

/// Every code block of a language in a Markdown text.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "of what Markdown has, code blocks matter here"
)]
fn code_blocks(markdown: &str, language: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open = false;
    for event in Parser::new(markdown) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) if &*info == language => {
                open = true;
                blocks.push(String::new());
            }
            Event::Text(text) if open => {
                if let Some(block) = blocks.last_mut() {
                    block.push_str(&text);
                }
            }
            Event::End(TagEnd::CodeBlock) => open = false,
            _ => {}
        }
    }
    blocks
}

#[test]
fn every_example_of_the_index_is_a_message_that_the_types_accept() {
    let index =
        fs::read_to_string(workspace().join("docs/EXTENSION_PROTOCOL.generated.md")).unwrap();
    let mut asked: Option<MethodName> = None;
    let mut seen = Vec::new();
    for block in code_blocks(&index, "json") {
        let message: serde_json::Value = serde_json::from_str(&block).expect(&block);
        if let Some(name) = message.get("method").and_then(|name| name.as_str()) {
            let method = MethodName::from_wire(name).expect(name);
            let params = serde_json::to_vec(&message["params"]).unwrap();
            method
                .check_params(Some(&params))
                .unwrap_or_else(|error| panic!("{block}: {error}"));
            assert_eq!(
                message.get("id").is_none(),
                method.is_notification(),
                "{name}"
            );
            seen.push(method);
            asked = Some(method);
        } else {
            let method = asked.expect("a result follows its request");
            let result = serde_json::to_vec(&message["result"]).unwrap();
            method
                .check_result(&result)
                .unwrap_or_else(|error| panic!("{block}: {error}"));
        }
    }
    seen.sort();
    assert_eq!(seen, MethodName::ALL, "one example a method");
}

#[test]
fn the_tables_of_the_crate_are_those_of_the_contract() {
    let contract: serde_json::Value = serde_json::from_str(protocol::SCHEMA_JSON).unwrap();
    let events: Vec<&str> = HookPoint::ALL.iter().map(|point| point.as_str()).collect();
    assert_eq!(contract["interceptEvents"], serde_json::json!(events));
    let errors: Vec<_> = ErrorReason::ALL
        .iter()
        .map(|reason| {
            serde_json::json!({
                "jsonRpcCode": reason.code(),
                "message": reason.message(),
                "reason": reason.as_str(),
                "retryable": reason.is_retryable(),
            })
        })
        .collect();
    assert_eq!(contract["errors"], serde_json::json!(errors));
    assert_eq!(contract["limits"]["frameBytes"], limits::FRAME_BYTES);
    assert_eq!(
        contract["limits"]["contentRefChunkBytes"],
        limits::CONTENT_REF_CHUNK_BYTES
    );
    let methods = contract["methods"].as_object().unwrap();
    assert_eq!(methods.len(), MethodName::ALL.len());
    for method in MethodName::ALL {
        let entry = &methods[method.as_str()];
        assert_eq!(entry["class"], method.class().as_str(), "{method}");
        assert_eq!(entry["notification"], method.is_notification(), "{method}");
    }
}

/// Verdict over a row: accepted, or refused with the place and the kind of fault.
type Verdict = Result<(), (&'static str, FaultKind)>;

#[track_caller]
fn check<T: DeserializeOwned>(json: &str, expected: Verdict) {
    let outcome: Result<T, DecodeError> = decode_str(json);
    let verdict = outcome
        .as_ref()
        .map(|_| ())
        .map_err(|error| (error.pointer(), error.kind()));
    assert_eq!(verdict, expected, "{json}");
}

#[test]
fn a_message_is_held_to_its_type_at_every_depth() {
    use FaultKind::{
        Blank, DuplicateMember, Format, MissingMember, Null, OutOfRange, Rule, UnknownMember,
        UnknownValue, WrongType,
    };
    use types::{
        ContentReadResult, EventParams, InitializeResult, InterceptParams, InterceptResult,
        ProviderChunk, ProviderDescriptor, ProviderMessage, ProviderToolSchema, StreamChunkParams,
        StreamEndParams,
    };

    check::<InterceptResult>(
        r#"{"decision":"continue","note":"x"}"#,
        Err(("/note", UnknownMember)),
    );
    check::<InterceptResult>(r#"["continue"]"#, Err(("", WrongType)));
    check::<InterceptResult>(
        r#"{"decision":{"allow":null}}"#,
        Err(("/decision", WrongType)),
    );
    check::<InterceptResult>(r#"{"decision":"maybe"}"#, Err(("/decision", UnknownValue)));
    check::<InterceptResult>(r#"{"decision":"replace","replacement":null}"#, Ok(()));
    check::<StreamChunkParams>(
        r#"{"streamId":"s","seq":1,"chunk":{"type":"usage","usage":{"promptTokens":1,"completionTokens":1,"totalTokens":2,"cacheHitTokens":0,"cacheMissTokens":1,"reasoningTokens":0,"cost":1}}}"#,
        Err(("/chunk/usage/cost", UnknownMember)),
    );
    check::<InitializeResult>(
        r#"{"protocolVersion":"1","name":"n","version":"1","stateSchemaVersion":0,"uiActions":[{"actionId":"a","hotkey":"x"}]}"#,
        Err(("/uiActions/0/hotkey", UnknownMember)),
    );
    check::<InitializeResult>(
        r#"{"protocolVersion":"1","name":"n","version":"1","stateSchemaVersion":0,"providers":null}"#,
        Err(("/providers", Null)),
    );
    check::<ProviderChunk>(r#"{"type":"text","text":null}"#, Err(("/text", Null)));
    check::<ProviderChunk>(r#"{"type":"text"}"#, Ok(()));
    check::<ProviderChunk>(r#"{"type":"error"}"#, Err(("", Rule)));
    check::<ProviderChunk>(
        r#"{"type":"text","error":{"code":"provider_failed","message":"m"}}"#,
        Err(("", Rule)),
    );
    check::<ProviderChunk>(r#"{"type":"usage"}"#, Err(("", Rule)));
    check::<ProviderToolSchema>(r#"{"name":"t","parameters":[]}"#, Err(("", Rule)));
    check::<ProviderToolSchema>(
        r#"{"name":"t","parameters":{"a":1,"a":2}}"#,
        Err(("/parameters/a", DuplicateMember)),
    );
    check::<StreamEndParams>(
        r#"{"streamId":"s","lastSeq":0,"error":null}"#,
        Err(("/error", Null)),
    );
    check::<StreamEndParams>(
        r#"{"streamId":"s","lastSeq":9223372036854775808}"#,
        Err(("/lastSeq", OutOfRange)),
    );
    check::<StreamEndParams>(
        r#"{"streamId":"s","lastSeq":1.0}"#,
        Err(("/lastSeq", WrongType)),
    );
    check::<StreamEndParams>(
        r#"{"streamId":"\u00a0","lastSeq":1}"#,
        Err(("/streamId", Blank)),
    );
    check::<EventParams>(
        r#"{"event":"tool.after"}"#,
        Err(("/payload", MissingMember)),
    );
    check::<EventParams>(r#"{"event":"tool.after","payload":null}"#, Ok(()));
    check::<EventParams>(
        r#"{"event":"tool.after","payload":{},"PAYLOAD":{}}"#,
        Err(("/PAYLOAD", UnknownMember)),
    );
    check::<InterceptParams>(
        r#"{"event":"tool.after","payload":{},"timeoutMillis":0,"seq":18446744073709551615}"#,
        Ok(()),
    );
    check::<InterceptParams>(
        r#"{"event":"tool.after","payload":{},"timeoutMillis":0,"ſeq":1}"#,
        Err(("/ſeq", UnknownMember)),
    );
    check::<ProviderMessage>(r#"{"role":""}"#, Err(("/role", UnknownValue)));
    check::<ProviderMessage>(r#"{"content":null}"#, Ok(()));
    check::<ProviderMessage>(r#"{"images":[null]}"#, Err(("/images/0", Null)));
    check::<ProviderDescriptor>(
        r#"{"ref":"r","inputPerMillion":-0.5}"#,
        Err(("/inputPerMillion", OutOfRange)),
    );
    check::<types::UiSubmitParams>(
        r#"{"surfaceId":"s","sessionId":"s","generation":0,"values":{"a":null}}"#,
        Err(("/values/a", Null)),
    );
    check::<types::UiActionParams>(
        r#"{"actionId":"a","sessionId":"s","generation":-1}"#,
        Err(("/generation", OutOfRange)),
    );
    check::<ContentReadResult>(
        r#"{"contentRef":"c","offset":0,"dataBase64":"","encoding":"utf8","totalBytes":0,"sha256":"E3B0"}"#,
        Err(("/sha256", Format)),
    );
}

#[test]
fn payloads_and_replacements_are_held_to_their_point() {
    let raw = |json: &str| RawJson::parse(json).unwrap();
    // What the public host leaves out is the zero of its type.
    let context = hooks::ContextPrepare::decode_payload(&raw("{}")).unwrap();
    assert!(context.messages.is_empty());
    assert_eq!(encode(&context).unwrap(), br#"{"messages":[]}"#);

    let replacement = |point: HookPoint, json: &str| {
        point
            .check_replacement(&raw(json))
            .map_err(|error| (error.pointer().to_owned(), error.kind()))
    };
    let refused = |pointer: &str, kind| Err((pointer.to_owned(), kind));
    for (point, json, expected) in [
        (
            HookPoint::ContextPrepare,
            "{}",
            refused("/messages", FaultKind::MissingMember),
        ),
        (HookPoint::ContextPrepare, r#"{"messages":[]}"#, Ok(())),
        (
            HookPoint::InputReceive,
            r#"{"text":""}"#,
            refused("/text", FaultKind::Rule),
        ),
        (HookPoint::InputReceive, r#"{"text":"   "}"#, Ok(())),
        (
            HookPoint::ProviderResponse,
            "{}",
            refused("", FaultKind::Rule),
        ),
        (HookPoint::ProviderResponse, r#"{"text":""}"#, Ok(())),
        (
            HookPoint::ToolBefore,
            r#"{"name":"t","arguments":"[]"}"#,
            refused("/arguments", FaultKind::Rule),
        ),
        (
            HookPoint::ToolBefore,
            r#"{"name":"t","arguments":" {} "}"#,
            Ok(()),
        ),
        (
            HookPoint::SessionSave,
            r#"{"phase":"load"}"#,
            refused("/phase", FaultKind::Rule),
        ),
        (HookPoint::SessionSave, r#"{"phase":"save"}"#, Ok(())),
        (
            HookPoint::ProviderRequest,
            r#"{"request":{"messages":[{"role":"robot"}],"tools":[],"maxTokens":0}}"#,
            refused("/request/messages/0/role", FaultKind::UnknownValue),
        ),
    ] {
        assert_eq!(replacement(point, json), expected, "{point}: {json}");
    }
}

#[test]
fn a_surface_is_decoded_as_the_document_that_its_kind_says() {
    let publish = |kind: &str, payload: &str| {
        decode_str::<types::UiPublishParams>(&format!(
            r#"{{"surfaceId":"s","sessionId":"s","generation":1,"kind":"{kind}","payload":{payload}}}"#
        ))
        .unwrap()
        .document()
    };
    let status = publish("status", r#"{"label":"Building","severity":""}"#).unwrap();
    let types::UiPublishParamsDocument::Status(status) = status else {
        panic!("a status");
    };
    assert_eq!(status.label, "Building");
    assert_eq!(status.severity, None);
    assert!(matches!(
        publish("card", "{}"),
        Ok(types::UiPublishParamsDocument::Card(
            payloads::UiCardPayload { .. }
        ))
    ));
    let error = publish("form", r#"{"fields":[{"key":"k","kind":"dial"}]}"#).unwrap_err();
    assert_eq!(error.pointer(), "/fields/0/kind");
}
