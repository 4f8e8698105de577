//! What a check finds, and that it leaves no trace.

use std::fs;

use super::{
    super::{Difference, JsonDifference, LineEndAdvice, TextDifference},
    *,
};

const PATH: &str = "pkg/a.rs";
const JSON: &str = "pkg/a.generated.json";

/// How the file `path` with the bytes `old` differs from `new`.
#[track_caller]
fn difference(path: &str, old: impl AsRef<[u8]>, new: &str) -> Difference {
    let workspace = Workspace::new();
    workspace.put(path, old);
    let mut findings = workspace.check(&[(path, new)]).findings;
    assert_eq!(findings.len(), 1);
    let Problem::Stale { difference } = findings.remove(0).problem else {
        panic!("not stale");
    };
    difference
}

#[track_caller]
fn text_difference(old: &str, new: &str) -> TextDifference {
    let found = difference(PATH, old, new);
    let Difference::Text {
        diff,
        line_ends_too: false,
    } = found
    else {
        panic!("no text: {found:?}");
    };
    diff
}

#[track_caller]
fn json_difference(old: &str, new: &str) -> JsonDifference {
    let found = difference(JSON, old, new);
    let Difference::Json { diff } = found else {
        panic!("no JSON: {found:?}");
    };
    diff
}

/// `count` lines that differ.
fn numbered(word: &str, count: usize) -> String {
    let lines: Vec<_> = (0..count).map(|n| format!("{word} {n}\n")).collect();
    lines.concat()
}

#[test]
fn a_disk_equal_to_the_plan_is_clean() {
    let artifacts = [
        ("pkg/a", "1"),
        ("docs/b.generated.md", "2"),
        ("pkg/c/d", ""),
    ];
    let report = Workspace::with(&artifacts).check(&artifacts);
    assert!(report.is_clean());
    assert_eq!(report.artifacts, 3);
}

#[test]
fn every_fault_is_reported_in_the_order_of_paths() {
    let workspace = Workspace::with(&[("pkg/b", "old"), ("pkg/z/old.rs", "// @generated\n")]);
    workspace.put("docs/x.generated.md", "left");
    workspace.put("pkg/notes.txt", "mine");
    let report = workspace.check(&[("pkg/c", ""), ("pkg/b", "new"), ("pkg/a/b", "")]);
    assert_eq!(
        paths(&report),
        [
            ("docs/x.generated.md", "owned"),
            ("pkg/a/b", "missing"),
            ("pkg/b", "stale"),
            ("pkg/c", "missing"),
            ("pkg/notes.txt", "foreign"),
            ("pkg/z/old.rs", "owned"),
        ]
    );
}

#[test]
fn a_check_changes_no_date_and_makes_no_file() {
    let workspace = Workspace::with(&[("pkg/b", "old"), ("pkg/old.rs", "// @generated\n")]);
    let before = workspace.state();
    workspace.check(&[("pkg/b", "new"), ("pkg/c/d", "")]);
    assert_eq!(workspace.state(), before);
}

#[cfg(unix)]
#[test]
fn a_check_works_on_a_tree_that_nobody_may_write() {
    use std::os::unix::fs::PermissionsExt as _;

    let workspace = Workspace::with(&[("pkg/b", "old")]);
    let set_mode = |mode| {
        for path in ["pkg", "schema", ""] {
            fs::set_permissions(workspace.path(path), fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    set_mode(0o555);
    let report = workspace.check(&[("pkg/b", "new"), ("pkg/c/d", "")]);
    set_mode(0o755);
    assert_eq!(paths(&report), [("pkg/b", "stale"), ("pkg/c/d", "missing")]);
}

#[test]
fn a_missing_root_is_an_error() {
    let plan = Plan::new("no/such/root", "lock", Vec::new(), Ownership::new("pkg")).unwrap();
    let error = check(&plan).unwrap_err();
    assert_eq!(error.to_string(), "read the folder `no/such/root`");
}

#[test]
fn a_missing_file_is_shown_by_its_start() {
    let report = Workspace::new().check(&[(PATH, &"line\n".repeat(100))]);
    let Problem::Missing {
        bytes: 500,
        content: Some(content),
    } = &report.findings[0].problem
    else {
        panic!("{report:?}");
    };
    assert_eq!(
        content.to_text(),
        "@@ -0,0 +1,100 @@\n+line\n+line\n+line\n+line\n+line\n… 95 more changed lines not shown\n"
    );
}

#[test]
fn a_changed_line_is_shown_with_its_surroundings() {
    let diff = text_difference(
        "1\n2\n3\n4\nfive\n6\n7\n8\n9\n",
        "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
    );
    assert_eq!(diff.first_line, 5);
    assert_eq!(
        diff.to_text(),
        "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-five\n+5\n 6\n 7\n 8\n"
    );
}

#[test]
fn a_diff_has_at_most_forty_lines_and_says_what_is_cut() {
    let old = numbered("old", 1000);
    let new = numbered("new", 1000);
    let diff = text_difference(&old, &new);
    assert_eq!(diff.lines.len(), 40);
    assert_eq!(diff.hidden_changes, 1961);
    assert!(!diff.hidden_more);
    assert!(
        diff.to_text()
            .ends_with("\n… 1961 more changed lines not shown\n")
    );
}

#[test]
fn a_huge_difference_is_cut_before_it_is_compared() {
    let old = numbered("old", 200_000);
    let new = numbered("new", 200_000);
    let diff = text_difference(&old, &new);
    assert_eq!(diff.lines.len(), 40);
    assert!(diff.hidden_more);
    assert!(
        diff.to_text()
            .ends_with("\n… at least 7961 more changed lines not shown\n")
    );
}

#[test]
fn a_long_line_is_cut_to_the_columns_around_its_change() {
    let long = "x".repeat(5_000);
    let diff = text_difference(&format!("{long}old{long}\n"), &format!("{long}new{long}\n"));
    let lead = "x".repeat(40);
    assert_eq!(
        diff.lines,
        [
            "@@ -1 +1 @@".to_owned(),
            format!("-…{lead}old{}… (4883 more characters)", "x".repeat(117)),
            format!("+…{lead}new{}… (4883 more characters)", "x".repeat(117)),
        ]
    );
}

#[test]
fn what_a_terminal_would_obey_or_hide_is_shown_as_signs() {
    let diff = text_difference("\u{1b}[2J\ta\rb  \n", "\u{202E}a\u{200B}\u{7f}\n");
    assert_eq!(
        diff.lines,
        ["@@ -1 +1 @@", "-␛[2J␉a␍b··", "+<U+202E>a<U+200B>␡"]
    );
}

#[test]
fn a_missing_line_end_inside_a_diff_is_named() {
    let diff = text_difference("a\nb", "a\nc\n");
    assert_eq!(
        diff.to_text(),
        "@@ -1,2 +1,2 @@\n a\n-b (no line end)\n+c\n"
    );
}

#[test]
fn carriage_returns_alone_are_named_with_the_setting_that_mends_them() {
    assert_eq!(
        difference(PATH, "a\r\nb\n", "a\nb\n"),
        Difference::LineEnds {
            advice: LineEndAdvice::Pin
        }
    );
    assert!(
        LineEndAdvice::Pin
            .text()
            .contains("git config core.autocrlf false")
    );

    let workspace = Workspace::with(&[(PATH, "a\r\n")]);
    workspace.put(".gitattributes", "# *.rs eol=lf\n*.rs text\n");
    let advice_of = |report: &Report| {
        let problem = &report.findings[0].problem;
        let Problem::Stale {
            difference: Difference::LineEnds { advice },
        } = problem
        else {
            panic!("{problem:?}");
        };
        *advice
    };
    assert_eq!(
        advice_of(&workspace.check(&[(PATH, "a\n")])),
        LineEndAdvice::Pin
    );
    workspace.put(".gitattributes", "pkg/** text eol=lf linguist-generated\n");
    assert_eq!(
        advice_of(&workspace.check(&[(PATH, "a\n")])),
        LineEndAdvice::Renormalize
    );
}

#[test]
fn carriage_returns_beside_other_changes_do_not_drown_them() {
    let found = difference(PATH, "a\r\nb\r\nold\r\n", "a\nb\nnew\n");
    let Difference::Text {
        diff,
        line_ends_too: true,
    } = found
    else {
        panic!("{found:?}");
    };
    assert_eq!(diff.lines, ["@@ -1,3 +1,3 @@", " a", " b", "-old", "+new"]);
}

#[test]
fn the_last_newline_alone_is_named() {
    assert_eq!(
        difference(PATH, "a", "a\n"),
        Difference::LastNewline { old: 0, new: 1 }
    );
    assert_eq!(
        difference(PATH, "a\n\n\n", "a\n"),
        Difference::LastNewline { old: 3, new: 1 }
    );
    assert_eq!(
        difference(JSON, "{}\n", "{}"),
        Difference::LastNewline { old: 1, new: 0 }
    );
}

#[test]
fn a_byte_order_mark_alone_is_named() {
    assert_eq!(
        difference(PATH, "\u{FEFF}a\n", "a\n"),
        Difference::ByteOrderMark
    );
    assert_eq!(
        difference(JSON, "\u{FEFF}{}", "{}"),
        Difference::ByteOrderMark
    );
}

#[test]
fn bytes_that_are_no_text_are_named_by_the_first_that_differs() {
    assert_eq!(
        difference(PATH, b"abc\xFFd", "abcd\n"),
        Difference::Binary {
            offset: 3,
            old_bytes: 5,
            new_bytes: 5
        }
    );
}

#[test]
fn an_empty_file_is_stale_by_all_lines() {
    assert_eq!(text_difference("", "a\n").to_text(), "@@ -0,0 +1 @@\n+a\n");
}

#[test]
fn json_of_one_line_is_compared_by_path() {
    let diff = json_difference(
        r#"{"a":{"b/c":[1,2]},"gone":true,"k":"old"}"#,
        r#"{"a":{"b/c":[1,3]},"k":"new","more":{"x":null}}"#,
    );
    assert_eq!(
        diff.to_text(),
        "$.a[\"b/c\"][1]\n - 2\n + 3\n$.gone\n - true\n$.k\n - \"old\"\n + \"new\"\n\
         $.more\n + {\"x\":null}\n"
    );
}

#[test]
fn an_element_put_into_a_json_list_is_the_only_change() {
    let diff = json_difference(r#"["a","b","d"]"#, r#"["a","b","c","d"]"#);
    assert_eq!(diff.to_text(), "$[2]\n + \"c\"\n");
    let diff = json_difference("[1,1,1]", "[1,1]");
    assert_eq!(diff.to_text(), "$[2]\n - 1\n");
}

#[test]
fn json_changes_and_values_are_cut_to_a_bound() {
    let list = |n: usize| serde_json::to_string(&vec![n; 50]).unwrap();
    let diff = json_difference(&list(1), &list(2));
    assert_eq!(diff.changes.len(), 20);
    assert!(diff.to_text().ends_with("\n… 30 more changes not shown\n"));

    let long = "x".repeat(1_000);
    let diff = json_difference(
        &format!(r#"["{long}a{long}"]"#),
        &format!(r#"["{long}b{long}"]"#),
    );
    let shown = |c: char| {
        let (lead, rest) = ("x".repeat(30), "x".repeat(89));
        Some(format!("…{lead}{c}{rest}… (912 more characters)"))
    };
    assert_eq!(
        (&diff.changes[0].old, &diff.changes[0].new),
        (&shown('a'), &shown('b'))
    );
}

#[test]
fn a_json_name_that_is_no_word_is_quoted_and_harmless() {
    let diff = json_difference("{}", "{\"a\\u001b\u{202E}\\\"\":1}");
    assert_eq!(diff.changes[0].path, "$[\"a␛<U+202E>\\\"\"]");
}

#[test]
fn json_that_differs_in_spelling_alone_is_named_as_such() {
    for old in [
        r#"{"a": 1,"b":"x"}"#,
        r#"{"b":"x","a":1}"#,
        r#"{"a":2,"a":1,"b":"x"}"#,
        r#"{"a":1,"b":"\u0078"}"#,
    ] {
        let found = difference(JSON, old, r#"{"a":1,"b":"x"}"#);
        assert!(
            matches!(found, Difference::JsonSpelling { .. }),
            "{found:?}"
        );
    }
}

#[test]
fn json_that_does_not_parse_is_named_with_the_place() {
    let new = r#"{"a":1}"#;
    let Difference::JsonInvalid {
        error,
        offset: 5,
        old,
        ..
    } = difference(JSON, r#"{"a":"#, new)
    else {
        panic!();
    };
    assert_eq!(error, "EOF while parsing a value at line 1 column 5");
    assert_eq!(old, r#"{"a":"#);
    for old in ["", "<<<<<<< HEAD\n{}\n", &"[".repeat(100_000)] {
        let found = difference(JSON, old, new);
        assert!(matches!(found, Difference::JsonInvalid { .. }), "{found:?}");
    }
}

#[test]
fn json_of_many_lines_is_compared_by_line() {
    let found = difference(JSON, "{\n\"a\": 1\n}\n", "{\n\"a\": 2\n}\n");
    assert!(matches!(found, Difference::Text { .. }), "{found:?}");
}

#[test]
fn what_stands_in_the_way_is_named() {
    let workspace = Workspace::with(&[("pkg/folder/x.generated.y", ""), ("pkg/file", "")]);
    let report = workspace.check(&[("pkg/folder", ""), ("pkg/file/a", "")]);
    assert_eq!(
        paths(&report),
        [
            ("pkg/file", "foreign"),
            ("pkg/file/a", "file above"),
            ("pkg/folder", "folder"),
            ("pkg/folder/x.generated.y", "owned"),
        ]
    );
}

#[cfg(unix)]
#[test]
fn links_are_followed_inside_the_root_only() {
    use std::os::unix::fs::symlink;

    let other = Workspace::with(&[("a", "1")]);
    let workspace = Workspace::with(&[("elsewhere/a", "1"), ("folder/b", "1")]);
    fs::create_dir_all(workspace.path("pkg")).unwrap();
    symlink("../elsewhere/a", workspace.path("pkg/inside")).unwrap();
    symlink("../elsewhere/a", workspace.path("pkg/twice")).unwrap();
    symlink("../folder", workspace.path("pkg/folder")).unwrap();
    symlink("nowhere", workspace.path("pkg/nothing")).unwrap();
    symlink("circle", workspace.path("pkg/circle")).unwrap();
    symlink(other.path("a"), workspace.path("pkg/outside")).unwrap();
    symlink(other.root(), workspace.path("pkg/away")).unwrap();
    let names = [
        "pkg/away/a",
        "pkg/circle",
        "pkg/folder/b",
        "pkg/inside",
        "pkg/nothing",
        "pkg/outside",
        "pkg/twice",
    ];
    let report = workspace.check(&names.map(|name| (name, "1")));
    assert_eq!(
        paths(&report),
        [
            ("pkg/away", "foreign"),
            ("pkg/away/a", "link outside"),
            ("pkg/circle", "unreadable"),
            ("pkg/folder", "foreign"),
            ("pkg/nothing", "link to nothing"),
            ("pkg/outside", "link outside"),
            ("pkg/twice", "shared place"),
        ]
    );
}

#[cfg(unix)]
#[test]
fn a_socket_in_the_way_is_named_and_not_opened() {
    let workspace = Workspace::with(&[("pkg/a", "1")]);
    let _socket = std::os::unix::net::UnixListener::bind(workspace.path("pkg/s")).unwrap();
    let _other = std::os::unix::net::UnixListener::bind(workspace.path("pkg/t")).unwrap();
    let report = workspace.check(&[("pkg/a", "1"), ("pkg/s", "")]);
    assert_eq!(
        paths(&report),
        [("pkg/s", "not a file"), ("pkg/t", "foreign")]
    );
}

#[cfg(unix)]
#[test]
fn what_may_not_be_read_is_named() {
    use std::os::unix::fs::PermissionsExt as _;

    let workspace = Workspace::with(&[("pkg/a", "1"), ("pkg/b/c", "1"), ("data/d", "1")]);
    let set_mode = |mode| {
        for path in ["pkg/a", "pkg/b", "data"] {
            fs::set_permissions(workspace.path(path), fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    set_mode(0);
    let is_moot = fs::read(workspace.path("pkg/a")).is_ok();
    let report = workspace.check(&[("pkg/a", "1"), ("pkg/x", "1")]);
    set_mode(0o755);
    if !is_moot {
        assert_eq!(
            paths(&report),
            [
                ("pkg/a", "unreadable"),
                ("pkg/b", "unreadable"),
                ("pkg/x", "missing")
            ]
        );
        assert_eq!(report.unsearched, ["data"]);
    }
}

#[test]
fn leftovers_are_ours_by_name_or_first_line() {
    let late = format!("{}\n@generated", "x".repeat(100));
    let workspace = Workspace::with(&[
        ("a.generated.md", ""),
        ("pkg/b.rs", "// @generated by something\n"),
        ("pkg/c.rs", &late),
        ("pkg/sub/.extension-protocol-gen-x1.staged", ""),
        (".extension-protocol-gen-x2.staged", ""),
        ("docs/@generated.md", "// @generated\n"),
    ]);
    assert_eq!(
        paths(&workspace.check(&[])),
        [
            (".extension-protocol-gen-x2.staged", "staged"),
            ("a.generated.md", "owned"),
            ("pkg/b.rs", "owned"),
            ("pkg/c.rs", "foreign"),
            ("pkg/sub/.extension-protocol-gen-x1.staged", "staged"),
        ]
    );
}

#[test]
fn folders_of_others_are_not_searched() {
    let workspace = Workspace::with(&[
        (".cache/a.generated.md", ""),
        ("target/a.generated.md", ""),
        ("pkg/target/debug/a", ""),
        ("pkg/.DS_Store", ""),
        ("web/node_modules/a.generated.md", ""),
        ("fixtures/out/a.generated.md", ""),
        ("submodule/.git", "gitdir: elsewhere"),
        ("submodule/deep/a.generated.md", ""),
    ]);
    let owned = Ownership::new("pkg").with_excluded("fixtures/out");
    let report = check(&workspace.plan_owning(&[], owned)).unwrap();
    assert_eq!(paths(&report), []);
}
