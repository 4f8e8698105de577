//! Releases are recorded, held to, and told apart from what is not yet released.

use std::{fmt::Write as _, fs};

use crate::{command::contents, workspace::Workspace};

const FIRST: &str = "schema/v1/releases/1.0.0";

/// An optional member, a value, a method and an error, as the contract may grow.
fn grow(workspace: &Workspace) {
    workspace.edit(
        "schema/v1/types/lifecycle.toml",
        "[types.ShutdownResult.fields]",
        "[types.ShutdownResult.fields]\nnote = { type = \"string\", optional = true, doc = \"Why.\" }",
    );
    workspace.edit(
        "schema/v1/types/provider.toml",
        "[enums.ChunkType.values]",
        "[enums.ChunkType.values]\nimage = \"A picture.\"",
    );
    workspace.append(
        "schema/v1/methods.toml",
        "\n[methods.\"extension/ping\"]\ndirection = \"host_to_extension_request\"\nclass = \"lifecycle\"\n\
         params = \"PingParams\"\nresult = \"ShutdownResult\"\ndoc = \"Asks for a sign of life.\"\n\
         example = '{}'\nresult_example = '{\"accepted\":true}'\n",
    );
    workspace.append(
        "schema/v1/types/lifecycle.toml",
        "\n[types.PingParams]\ndoc = \"Says nothing.\"\n",
    );
    workspace.append(
        "schema/v1/errors.toml",
        "\n[errors.too_busy]\ncode = -32000\nretryable = true\nmessage = \"Too busy.\"\ndoc = \"Too busy.\"\n",
    );
}

/// The lines of the artifacts that say since when something exists, with what they are said of.
fn since(workspace: &Workspace) -> String {
    let mut found = String::new();
    for (path, bytes) in contents(workspace.root()) {
        let path = path.to_string_lossy().replace('\\', "/");
        let text = String::from_utf8_lossy(&bytes);
        if !path.starts_with("generated") && !path.starts_with("docs/EXTENSION") {
            continue;
        }
        let lines: Vec<&str> = text.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            if line.contains("Since 1.") || line.contains("Not yet released") {
                // What the docs are said of, in Rust.
                let of = lines
                    .iter()
                    .skip(index + 1)
                    .find(|next| path.starts_with("generated") && !next.contains("///"));
                let of = of.map_or("", |next| next.trim());
                found.push_str(format!("{path}: {} {of}", line.trim()).trim_end());
                found.push('\n');
            }
        }
    }
    found
}

#[test]
fn what_is_new_says_so_until_it_is_released_and_since_when_afterwards() {
    let workspace = Workspace::new();
    assert_eq!(since(&workspace), "");
    grow(&workspace);
    workspace.run(&["generate"], 0);
    insta::assert_snapshot!("not_yet_released", since(&workspace));

    let (out, _) = workspace.run(&["release", "1.1.0"], 0);
    assert!(out.contains("recorded 1.1.0 of "), "{out}");
    workspace.run(&["check"], 0);
    insta::assert_snapshot!("released", since(&workspace));
    let (out, _) = workspace.run(&["compat", "--against", "release:1.0.0"], 0);
    assert!(out.contains("release 1.0.0"), "{out}");
    let (out, _) = workspace.run(
        &["compat", "release:1.0.0", "--against", "release:1.1.0"],
        4,
    );
    assert!(out.contains("forbidden"), "{out}");
    // The newest one is what the definitions are held to.
    let (out, _) = workspace.run(&["compat"], 0);
    assert!(
        out.contains("from  release 1.1.0") && out.contains("no change"),
        "{out}"
    );
}

#[test]
fn a_release_is_refused_where_something_is_not_as_it_should_be_and_then_nothing_is_written() {
    let workspace = Workspace::new();
    let before = || contents(&workspace.path("schema/v1/releases"));
    let (files, record) = (before(), workspace.read("schema/v1/releases.toml"));
    let refused = |arguments: &[&str], code, says: &str| {
        let (_, err) = workspace.run(arguments, code);
        assert!(err.contains(says), "{err}");
        assert!(before() == files, "{arguments:?}");
        assert_eq!(workspace.read("schema/v1/releases.toml"), record);
    };
    refused(
        &["release", "1.1.0"],
        2,
        "nothing has changed since the release 1.0.0",
    );

    grow(&workspace);
    refused(
        &["release", "1.1.0"],
        1,
        "a committed artifact is not what the definitions say",
    );
    workspace.run(&["generate"], 0);
    for name in [
        "",
        "..",
        ".hidden",
        "a/b",
        "a b",
        "-x",
        "ä",
        &"1".repeat(65),
    ] {
        refused(&["release", "--", name], 2, "is no name of a release");
    }
    refused(&["release", "1.0.0"], 2, "recorded already");

    workspace.edit(
        "schema/v1/types/provider.toml",
        "[enums.ChunkType.values]\nimage = \"A picture.\"\n",
        "[enums.ChunkType.values]\n",
    );
    let text = workspace.read("schema/v1/errors.toml");
    fs::write(
        workspace.path("schema/v1/errors.toml"),
        text.replacen("retryable = true", "retryable = false", 1),
    )
    .unwrap();
    workspace.run(&["generate"], 0);
    refused(
        &["release", "1.1.0"],
        4,
        "the contract is broken against the release 1.0.0",
    );
}

#[test]
fn a_value_of_an_older_release_is_held_to_as_well() {
    let workspace = Workspace::new();
    grow(&workspace);
    workspace.run(&["generate"], 0);
    workspace.run(&["release", "1.1.0"], 0);
    workspace.edit(
        "schema/v1/types/provider.toml",
        "[enums.ChunkType.values]\nimage = \"A picture.\"\n",
        "[enums.ChunkType.values]\n",
    );
    workspace.run(&["generate"], 0);
    let (_, err) = workspace.run(&["release", "1.2.0"], 4);
    assert!(err.contains("against the release 1.1.0"), "{err}");
}

#[test]
fn whatever_is_done_to_the_record_is_found_and_says_what_to_do() {
    type Damage = fn(&Workspace);
    let damages: [(&str, Damage); 9] = [
        ("a frozen document was edited", |workspace| {
            workspace.edit(
                &format!("{FIRST}/schema.json"),
                "\"protocolMajor\":1",
                "\"protocolMajor\":2",
            );
        }),
        ("a frozen document was formatted", |workspace| {
            workspace.append(&format!("{FIRST}/payloads.json"), "\n");
        }),
        ("a hash was edited", |workspace| {
            workspace.edit(
                "schema/v1/releases.toml",
                "sha256:22338e66",
                "sha256:22338e67",
            );
        }),
        ("a frozen document was removed", |workspace| {
            fs::remove_file(workspace.path(&format!("{FIRST}/supplement.json"))).unwrap();
        }),
        ("the payloads are no longer named", |workspace| {
            let text = workspace.read("schema/v1/releases.toml");
            let lines: Vec<&str> = text
                .lines()
                .filter(|line| !line.starts_with("payloads"))
                .collect();
            fs::write(
                workspace.path("schema/v1/releases.toml"),
                lines.join("\n") + "\n",
            )
            .unwrap();
        }),
        ("a release stands twice", |workspace| {
            let text = workspace.read("schema/v1/releases.toml");
            let (_, entry) = text.split_once("[[releases]]").unwrap();
            workspace.append("schema/v1/releases.toml", &format!("\n[[releases]]{entry}"));
        }),
        ("a release is no longer named", |workspace| {
            fs::write(workspace.path("schema/v1/releases.toml"), "").unwrap();
        }),
        ("the date is no day", |workspace| {
            let text = workspace.read("schema/v1/releases.toml");
            let text = text.replace("\ndate = ", "\ndate = 12:00:00 # ");
            fs::write(workspace.path("schema/v1/releases.toml"), text).unwrap();
        }),
        ("the record is no TOML", |workspace| {
            workspace.append("schema/v1/releases.toml", "name = \n");
        }),
    ];
    let mut told = String::new();
    for (what, damage) in damages {
        let workspace = Workspace::new();
        damage(&workspace);
        let (out, _) = workspace.run(&["check"], 4);
        writeln!(told, "## {what}\n{out}").unwrap();
        let (out, _) = workspace.run(&["check", "--format", "json"], 4);
        let report: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!(report["clean"], false, "{what}");
        assert!(
            report["releases"][0]["message"].is_string(),
            "{what}: {out}"
        );
        let (out, _) = workspace.run(&["check", "--format", "github"], 4);
        assert!(
            out.starts_with("::error file=schema/v1/releases"),
            "{what}: {out}"
        );
        // Whatever is built on the record is refused, and says the same.
        for arguments in [&["generate"][..], &["compat"], &["release", "2"]] {
            let (_, err) = workspace.run(arguments, 4);
            assert!(err.contains("hint: "), "{what}: {err}");
        }
    }
    insta::assert_snapshot!(told);
}

#[test]
fn a_release_that_is_no_growth_of_the_one_before_is_found() {
    let workspace = Workspace::new();
    grow(&workspace);
    workspace.run(&["generate"], 0);
    workspace.run(&["release", "1.1.0"], 0);
    let text = workspace.read("schema/v1/releases.toml");
    let parts: Vec<&str> = text.split("\n[[releases]]").collect();
    let [head, first, second] = parts.as_slice() else {
        panic!("{text}");
    };
    fs::write(
        workspace.path("schema/v1/releases.toml"),
        format!("{head}\n[[releases]]{second}\n[[releases]]{first}"),
    )
    .unwrap();
    let (out, _) = workspace.run(&["check"], 4);
    assert!(
        out.contains("the release 1.0.0 is not a permitted growth of the release 1.1.0")
            && out.contains("value `image` of `ChunkType` is gone"),
        "{out}"
    );
}
