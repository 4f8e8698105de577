//! Verdicts and witnesses over the contract of this workspace, edited as people reported it of other
//! tools.

mod edits;
mod random;

use std::{fmt::Write as _, path::Path};

use super::{Comparison, Side, Sides, Verdict, compare};
use crate::{
    canonical, compile,
    contract::{Contract, Documents},
    source,
};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
}

fn fixture(name: &str) -> String {
    std::fs::read_to_string(root().join("tests/fixtures/compat").join(name)).unwrap()
}

/// The documents of the protocol of this workspace.
fn v1() -> Documents {
    Documents::of(&compile(&source::read(root()).unwrap()).unwrap())
}

/// The contract document of this workspace, and what a patch makes of it, both read alone.
fn patched(name: &str) -> (Contract, Contract, String) {
    let schema = v1().schema;
    let mut edited: serde_json::Value = serde_json::from_str(&schema).unwrap();
    let patch: json_patch::Patch = serde_json::from_str(&fixture(name)).unwrap();
    json_patch::patch(&mut edited, &patch).unwrap();
    let edited = canonical::to_string(&edited);
    let hash = canonical::hash(edited.as_bytes());
    let read = |text: &str| Contract::read(&Documents::new(text)).unwrap();
    (read(&schema), read(&edited), hash)
}

fn compared(name: &str) -> (Comparison, String) {
    let (old, new, sha256) = patched(name);
    let mut comparison = compare(&old, &new);
    comparison.find_witnesses();
    (comparison, sha256)
}

/// What a person reads, without what is the same in all of them.
fn text(comparison: &Comparison) -> String {
    let sides = Sides {
        old: Side {
            name: "old".to_owned(),
            canonical: true,
            ..Side::default()
        },
        new: Side {
            name: "new".to_owned(),
            canonical: true,
            ..Side::default()
        },
        ..Sides::default()
    };
    comparison.to_text(&sides)
}

/// Kind, verdict and witnesses of every change: what a test asks of a report first.
fn outline(comparison: &Comparison) -> String {
    let mut outline = String::new();
    for change in &comparison.changes {
        let verdict = match change.verdict {
            Verdict::Forbidden(law) => format!("forbidden {}", law.as_str()),
            Verdict::Allowed(growth) => format!("allowed {}", growth.as_str()),
            verdict @ (Verdict::Major | Verdict::Unseen) => verdict.as_str().to_owned(),
        };
        writeln!(
            outline,
            "{} {}: {verdict}",
            change.kind.as_str(),
            change.subject
        )
        .unwrap();
        for witness in &change.witnesses {
            writeln!(
                outline,
                "  {} {:?} {} {}",
                witness.accepted_by.as_str(),
                witness.carrier.sender,
                witness.refusal.pointer,
                witness.message
            )
            .unwrap();
        }
    }
    outline
}

#[test]
fn public_faults_of_comparable_tools_are_judged_right() {
    for (name, sha256) in [
        ("opt-added-to-extension", "a40720eb077a"),
        ("required-added", "323da4654d5a"),
        ("enum-value-added", "b1f9923e15ef"),
        ("map-value-type", "04348ad11459"),
        ("type-renamed", "bea7908d14d3"),
        ("constraint-added", "bfa24a2d5969"),
        ("method-removed-turned", "a38313f4acd2"),
        ("error-text", "69f28fb6c1df"),
        ("annotation-on", "0c998a88bc52"),
        ("one-change-one-finding", "7659e250ae5c"),
        ("integer-number", "4f8ab159e716"),
    ] {
        let (comparison, found) = compared(&format!("{name}.patch.json"));
        assert!(
            found.starts_with(&format!("sha256:{sha256}")),
            "{name}: {found}"
        );
        insta::assert_snapshot!(name, text(&comparison));
    }
}

#[test]
fn a_type_that_refers_to_itself_is_compared_and_shown_by_a_finite_message() {
    let text = fixture("recursive.schema.json");
    let read = |text: &str| Contract::read(&Documents::new(text)).unwrap();
    let old = read(&text);
    assert_eq!(compare(&old, &old).changes, []);
    let mut edited: serde_json::Value = serde_json::from_str(&text).unwrap();
    let peer = &mut edited["$defs"]["Peer"];
    peer["required"]
        .as_array_mut()
        .unwrap()
        .retain(|name| name != "tags");
    let mut comparison = compare(&old, &read(&canonical::to_string(&edited)));
    comparison.find_witnesses();
    insta::assert_snapshot!(outline(&comparison));
}

#[test]
fn a_type_that_no_finite_message_can_have_is_refused() {
    let text = fixture("recursive.schema.json");
    let mut edited: serde_json::Value = serde_json::from_str(&text).unwrap();
    edited["$defs"]["Peer"]["properties"]["self"] = serde_json::json!({"$ref": "#/$defs/Peer"});
    edited["$defs"]["Peer"]["required"]
        .as_array_mut()
        .unwrap()
        .insert(0, "self".into());
    let faults = Contract::read(&Documents::new(canonical::to_string(&edited))).unwrap_err();
    assert!(
        faults
            .iter()
            .any(|fault| fault.pointer == "/$defs/Peer/properties/self"),
        "{faults:?}"
    );
}

#[test]
fn order_and_white_space_are_no_change() {
    let other = Contract::read(&Documents::new(fixture("same-contract-other-order.json"))).unwrap();
    let old = Contract::read(&Documents::new(v1().schema)).unwrap();
    assert_eq!(compare(&old, &other).changes, []);
}
