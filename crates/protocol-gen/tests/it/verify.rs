//! Copies of the documents are held to themselves and told by name.

use std::fs;

use crate::workspace::Workspace;

/// A vendored copy: documents, hash files and index in one folder.
fn vendored(workspace: &Workspace) {
    fs::create_dir(workspace.path("copy")).unwrap();
    for (from, to) in [
        ("generated/schema.generated.json", "schema.json"),
        ("generated/schema.generated.sha256", "schema.sha256"),
        ("generated/payloads.generated.json", "payloads.json"),
        ("generated/payloads.generated.sha256", "payloads.sha256"),
        ("docs/EXTENSION_PROTOCOL.generated.md", "PROTOCOL.md"),
    ] {
        fs::copy(workspace.path(from), workspace.path("copy").join(to)).unwrap();
    }
}

#[test]
fn an_unchanged_copy_agrees_with_itself_and_is_known_by_its_release() {
    let workspace = Workspace::new();
    vendored(&workspace);
    let (out, _) = workspace.run(&["verify", "copy"], 0);
    insta::assert_snapshot!("unchanged", out);
    let (out, _) = workspace.run(&["verify", "copy", "--format", "json"], 0);
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["consistent"], true);
    assert_eq!(report["documents"][1]["knownAs"][0], "release 1.0.0");
    assert_eq!(report["stated"].as_array().unwrap().len(), 4);
    workspace.run(&["verify", "copy/schema.json"], 0);
}

#[test]
fn a_fork_that_kept_the_old_hash_in_its_documentation_is_named_with_both_hashes() {
    let workspace = Workspace::new();
    vendored(&workspace);
    for name in ["schema.json", "payloads.json", "PROTOCOL.md"] {
        let path = format!("copy/{name}");
        let text = workspace.read(&path).replace("reasonix.", "forked.");
        fs::write(workspace.path(&path), text).unwrap();
    }
    let (out, _) = workspace.run(&["verify", "copy"], 1);
    insta::assert_snapshot!("fork", out);
}

#[test]
fn a_copy_that_somebody_formatted_is_told_with_both_hashes_and_its_release() {
    let workspace = Workspace::new();
    let text = workspace.read("generated/schema.generated.json");
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    fs::write(
        workspace.path("pretty.json"),
        serde_json::to_string_pretty(&value).unwrap(),
    )
    .unwrap();
    let (out, _) = workspace.run(&["verify", "pretty.json"], 1);
    assert!(
        out.contains("not in canonical form") && out.contains("release 1.0.0"),
        "{out}"
    );
}

#[test]
fn a_sound_copy_of_another_contract_is_no_known_release_and_agrees_with_itself() {
    let workspace = Workspace::new();
    let text = workspace
        .read("generated/schema.generated.json")
        .replace("reasonix.", "forked.");
    fs::write(workspace.path("fork.json"), text).unwrap();
    let (out, _) = workspace.run(&["verify", "fork.json"], 0);
    assert!(out.contains("no known release"), "{out}");
}

#[test]
fn what_is_no_copy_is_told_apart_from_one_that_is_wrong() {
    let workspace = Workspace::new();
    let (_, err) = workspace.run(&["verify", "nowhere"], 2);
    assert!(err.contains("nowhere"), "{err}");
    let (_, err) = workspace.run(&["verify", "schema/v1/types"], 3);
    assert!(err.contains("hint: "), "{err}");
    let text = workspace
        .read("generated/schema.generated.json")
        .replace("\"type\":\"boolean\"", "\"type\":\"bool\"");
    fs::write(workspace.path("odd.json"), text).unwrap();
    let (_, err) = workspace.run(&["verify", "odd.json"], 3);
    assert!(err.contains("/$defs/"), "{err}");
}
