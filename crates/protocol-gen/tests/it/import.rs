//! Documents are imported into a folder that has no definitions yet, whole or not at all.

use std::fs;

use crate::{command::contents, workspace::Workspace};

const RELEASE: &str = "schema/v1/releases/1.0.0";

#[test]
fn what_is_imported_generates_the_same_bytes() {
    let workspace = Workspace::new();
    let (out, _) = workspace.run(
        &[
            "import",
            &format!("{RELEASE}/schema.json"),
            "--payloads",
            &format!("{RELEASE}/payloads.json"),
            "--supplement",
            &format!("{RELEASE}/supplement.json"),
            "--out",
            "fork",
        ],
        0,
    );
    insta::assert_snapshot!(out);
    workspace.run(&["generate", "--root", "fork"], 0);
    for name in ["schema", "payloads"] {
        assert_eq!(
            workspace.read(&format!("fork/generated/{name}.generated.json")),
            workspace.read(&format!("generated/{name}.generated.json"))
        );
    }
    workspace.run(&["check", "--root", "fork"], 0);
    // The imported definitions are no change against the release that they were made of.
    let (out, _) = workspace.run(&["compat", "--root", "fork", "--against", RELEASE], 0);
    assert!(out.contains("no change"), "{out}");
}

#[test]
fn nothing_is_overwritten_and_nothing_is_half_written() {
    let workspace = Workspace::new();
    let before = contents(workspace.root());
    let document = format!("{RELEASE}/schema.json");
    let (_, err) = workspace.run(&["import", &document, "--out", "."], 2);
    assert!(err.contains("nothing is overwritten"), "{err}");
    let (_, err) = workspace.run(&["import", "nowhere.json", "--out", "new"], 2);
    assert!(err.contains("nowhere.json"), "{err}");
    workspace.run(&["import", &document], 2);
    for (from, to, says) in [
        (
            "\"additionalProperties\":false",
            "\"additionalProperties\":true",
            "types are closed",
        ),
        (
            "\"extension/shutdown\":",
            "\"extension shutdown\":",
            "shutdown",
        ),
        ("\"title\":\"Reasonix", "\"title\":\"<Reasonix>", "U+003C"),
        ("{", "", "not JSON"),
    ] {
        let text = workspace.read(&document).replacen(from, to, 1);
        fs::write(workspace.path("odd.json"), text).unwrap();
        let (_, err) = workspace.run(&["import", "odd.json", "--out", "new"], 3);
        assert!(err.contains(says), "{says}: {err}");
        assert!(!workspace.path("new").exists());
    }
    fs::remove_file(workspace.path("odd.json")).unwrap();
    assert!(contents(workspace.root()) == before);
}
