//! The three forms of a report.

use super::*;

const BAD_NAME: &str = "pkg/100%,a b.txt";

/// One file of each kind.
fn report(foreign: bool) -> Report {
    let workspace = Workspace::with(&[
        ("pkg/a.rs", "one\n\u{1b}two\n"),
        ("pkg/b.generated.json", r#"{"a":1}"#),
        ("pkg/c.rs", "x\r\n"),
        ("pkg/old.rs", "// @generated\n"),
    ]);
    if foreign {
        workspace.put(BAD_NAME, "");
    }
    workspace.check(&[
        ("pkg/a.rs", "one\n2\n"),
        ("pkg/b.generated.json", r#"{"a":2}"#),
        ("pkg/c.rs", "x\n"),
        ("pkg/new.rs", "// new\n"),
    ])
}

#[test]
fn the_text_shows_each_file_and_ends_with_the_command() {
    assert_eq!(
        report(false).to_text("cargo xtask codegen"),
        "\
pkg/a.rs: stale: the text differs
    --- pkg/a.rs (on disk)
    +++ pkg/a.rs (generated)
    @@ -1,2 +1,2 @@
     one
    -␛two
    +2

pkg/b.generated.json: stale: JSON values differ
    $.a
     - 1
     + 2

pkg/c.rs: stale: only line ends differ, CRLF instead of LF
    git converts line ends on checkout: run `git config core.autocrlf false`, or pin the generated files with `text eol=lf` in `.gitattributes` and run `git add --renormalize .`

pkg/new.rs: missing (7 bytes)
    --- /dev/null
    +++ pkg/new.rs (generated)
    @@ -0,0 +1 @@
    +// new

pkg/old.rs: left over: it is no longer generated
    --- pkg/old.rs (on disk)
    +++ /dev/null
    @@ -1 +0,0 @@
    -// @generated

error: 5 generated files are out of date
hint: run `cargo xtask codegen` and commit the result
"
    );
}

#[test]
fn the_text_says_so_where_the_command_alone_does_not_mend_it() {
    let text = report(true).to_text(COMMAND);
    assert!(text.contains(
        "pkg/100%,a b.txt: left over: nothing says that it was generated; move it out of this \
         folder or delete it\n"
    ));
    assert!(text.ends_with(
        "hint: move or mend what is in the way, then run `gen` and commit the result\n"
    ));
}

#[test]
fn a_clean_report_says_how_much_was_compared() {
    let workspace = Workspace::with(&[("pkg/a", "")]);
    let report = workspace.check(&[("pkg/a", "")]);
    assert_eq!(report.to_text(COMMAND), "1 generated file is up to date\n");
    assert_eq!(report.to_github(COMMAND), report.to_text(COMMAND));
    assert_eq!(
        report.to_json(COMMAND),
        "{\"version\":1,\"clean\":true,\"command\":\"gen\",\"artifacts\":1,\"findings\":[],\
         \"unsearched\":[]}\n"
    );
}

#[test]
fn the_json_is_one_line_with_a_version_and_all_details() {
    let json = report(true).to_json(COMMAND);
    assert_eq!(json.matches('\n').count(), 1);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["version"], 1);
    assert_eq!(json["clean"], false);
    let kinds: Vec<_> = json["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| {
            let problem = &finding["problem"];
            (
                finding["path"].as_str().unwrap(),
                problem["kind"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        kinds,
        [
            (BAD_NAME, "leftover"),
            ("pkg/a.rs", "stale"),
            ("pkg/b.generated.json", "stale"),
            ("pkg/c.rs", "stale"),
            ("pkg/new.rs", "missing"),
            ("pkg/old.rs", "leftover"),
        ]
    );
    assert_eq!(
        json["findings"][2]["problem"],
        serde_json::json!({
            "kind": "stale",
            "difference": {
                "difference": "json",
                "diff": {
                    "changes": [{"path": "$.a", "old": "1", "new": "2"}],
                    "hidden_changes": 0,
                },
            },
        })
    );
}

#[test]
fn annotations_are_one_escaped_line_each() {
    let github = report(true).to_github(COMMAND);
    let lines: Vec<_> = github.lines().collect();
    assert_eq!(lines.len(), 8);
    assert_eq!(
        lines[0],
        "::error file=pkg/100%25%2Ca b.txt,title=file among generated files::left over: nothing \
         says that it was generated; move it out of this folder or delete it%0Ahint: move or mend \
         what is in the way, then run `gen` and commit the result"
    );
    assert_eq!(
        lines[1],
        "::error file=pkg/a.rs,line=2,title=generated file is stale::stale: the text \
         differs%0A--- pkg/a.rs (on disk)%0A+++ pkg/a.rs (generated)%0A@@ -1,2 +1,2 @@%0A one%0A\
         -␛two%0A+2%0Ahint: run `gen` and commit the result"
    );
    assert_eq!(lines[6], "error: 6 generated files are out of date");
}

#[cfg(unix)]
#[test]
fn a_file_name_cannot_inject_a_line() {
    let workspace = Workspace::with(&[("pkg/a\n::error::x", "")]);
    let report = workspace.check(&[]);
    assert!(
        report
            .to_text(COMMAND)
            .starts_with("pkg/a␊::error::x: left over")
    );
    let github = report.to_github(COMMAND);
    assert!(github.starts_with("::error file=pkg/a%0A%3A%3Aerror%3A%3Ax,title="));
}
