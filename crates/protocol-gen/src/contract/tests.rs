//! Contracts as they are read, and messages as they are judged by them.

use std::path::Path;

use super::{Contract, Documents, FaultKind, Shape};
use crate::{compile, source};

/// The documents of the protocol of this workspace.
fn v1() -> Documents {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    let sources = source::read(root.unwrap()).unwrap();
    Documents::of(&compile(&sources).unwrap())
}

#[test]
fn the_documents_of_a_model_are_of_the_shape() {
    let contract = Contract::read(&v1()).unwrap();
    assert_eq!(contract.id, "reasonix.extension.v1");
    assert_eq!(contract.methods.len(), 16);
    assert_eq!(contract.events.len(), 17);
    assert!(contract.supplemented);
}

#[test]
fn what_a_message_breaks_is_found_with_place_and_kind() {
    let contract = Contract::read(&v1()).unwrap();
    let kind = |ty: &str, message: &str| {
        contract
            .decode(ty, message)
            .err()
            .map(|fault| (fault.pointer, fault.kind))
    };
    let chunk = |rest: &str| format!(r#"{{"streamId":"s","seq":1,"chunk":{{{rest}}}}}"#);
    let ty = "StreamChunkParams";
    assert_eq!(kind(ty, &chunk(r#""type":"text","text":"a""#)), None);
    for (rest, pointer, fault) in [
        (r#""type":"smell""#, "/chunk/type", FaultKind::UnknownValue),
        (r#""type":"error""#, "/chunk", FaultKind::Rule),
        (
            r#""type":"text","text":null"#,
            "/chunk/text",
            FaultKind::Null,
        ),
        (
            r#""type":"text","Text":"""#,
            "/chunk/Text",
            FaultKind::UnknownMember,
        ),
        (r#""text":"""#, "/chunk/type", FaultKind::MissingMember),
        (
            r#""type":"text","type":"text""#,
            "/chunk/type",
            FaultKind::DuplicateMember,
        ),
    ] {
        assert_eq!(
            kind(ty, &chunk(rest)),
            Some((pointer.to_owned(), fault)),
            "{rest}"
        );
    }
    let ty = "EventParams";
    let event = |payload: &str| format!(r#"{{"event":"tool.after","payload":{payload}}}"#);
    assert_eq!(kind(ty, &event("null")), None);
    assert_eq!(
        kind(ty, &event(r#"[{"a":{"b":1,"c":"}","b":2}}]"#)),
        Some(("/payload/0/a/b".to_owned(), FaultKind::DuplicateMember))
    );
}

#[test]
fn what_is_not_of_the_shape_is_refused_at_its_place() {
    let refused = |edit: &dyn Fn(&str) -> String| {
        let mut documents = v1();
        documents.schema = edit(&documents.schema);
        Contract::read(&documents)
            .unwrap_err()
            .into_iter()
            .map(|fault| fault.to_string())
            .collect::<Vec<_>>()
    };
    let replaced = |from: &'static str, to: &'static str| {
        refused(&move |text: &str| {
            assert!(text.contains(from), "{from}");
            text.replacen(from, to, 1)
        })
    };
    assert_eq!(
        replaced(r#""offset":{"minimum":0,"#, r#""offset":{"minimum":0.0,"#),
        [
            "contract: `/$defs/ContentReadParams/properties/offset/minimum`: expected an integer of \
             64 bits; bounds are written without a fraction"
        ]
    );
    assert_eq!(
        replaced(
            r#""protocolID":"reasonix.extension.v1""#,
            r#""protocolID":"x""#
        ),
        ["contract: `/protocolID`: expected \"reasonix.extension.v1\", as `protocol` says"]
    );
    assert_eq!(
        replaced(
            r##""params":{"$ref":"#/$defs/ContentReadParams"}"##,
            r##""params":{"$ref":"#/$defs/Nobody"}"##
        ),
        ["contract: `/methods/host~1content~1read/params`: there is no type \"Nobody\" in `$defs`"]
    );
    assert_eq!(
        replaced(r#""title":"#, r#""description":"","title":"#).len(),
        1
    );
    assert_eq!(
        replaced(r#""title":"#, r#""title":"","title":"#),
        [
            "contract: it is not JSON: the member \"title\" stands twice in one object at line 1 column \
          17535"
        ]
    );
}

#[test]
fn documents_alone_say_less_and_are_enough() {
    let mut documents = v1();
    documents.supplement = None;
    let contract = Contract::read(&documents).unwrap();
    assert!(!contract.supplemented);
    let seq = &contract.types["InterceptParams"].members["seq"];
    assert!(matches!(seq.shape, Shape::Integer(_)));
    documents.payloads = None;
    assert!(Contract::read(&documents).unwrap().payloads.is_none());
}
