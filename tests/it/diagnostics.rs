//! What a maintainer is told about definitions that are wrong: each rule, its place and its help.

use std::collections::BTreeSet;

use extension_protocol_gen::{
    compile,
    diagnostic::{self, Code, Diagnostic},
    source::Source,
};

/// A sound protocol that the cases add to.
const BASE: &str = r#"
[protocol]
id = "example.case.v1"
title = "Example Case v1"
major = 1
doc = "A protocol to break."
[package]
name = "example-case"
version = "0.1.0"
description = "A protocol to break."
directory = "generated"
index = "docs/CASE.generated.md"
[payloads]
id = "example.case.v1.payloads"
title = "Example Case v1 payloads"
[modules.shapes]
order = 1
document = "contract"
doc = "Shapes."
[modules.documents]
order = 2
document = "payloads"
doc = "Documents."
[classes.calls]
order = 1
doc = "Calls."
[timeouts.fast]
millis = 5_000
doc = "Fast."
[methods."example/call"]
direction = "host_to_extension_request"
class = "calls"
params = "Ask"
result = "Ack"
doc = "Calls."
example = '{}'
result_example = '{ "accepted": true }'
[hooks."tool.before"]
payload = "ToolPayload"
timeout = "fast"
decisions = ["continue"]
adopts = ["name"]
doc = "Before a tool."
"#;

/// Types that the base refers to, the case's own members in `Ask`.
fn shapes(fields: &str) -> String {
    format!(
        "module = \"shapes\"\n[types.Ack]\ndoc = \"Says yes.\"\n[types.Ack.fields]\naccepted = {{ type = \
         \"bool\", doc = \"Whether.\" }}\n[types.Ask]\ndoc = \"Asks.\"\n[types.Ask.fields]\n{fields}\n"
    )
}

const DOCUMENTS: &str = r#"module = "documents"
[types.ToolPayload]
doc = "A tool."
[types.ToolPayload.fields]
name = { type = "string", absent_is_zero = true, doc = "Its name." }
"#;

fn report(files: &[(&str, &[u8])]) -> (Vec<Source>, Vec<Diagnostic>) {
    let sources: Vec<Source> = files
        .iter()
        .map(|(name, bytes)| Source::new(format!("schema/v1/{name}.toml"), bytes))
        .collect();
    let diagnostics = compile(&sources).err().unwrap_or_default();
    (sources, diagnostics)
}

/// Where a case's text goes.
enum Case {
    /// Members of `Ask`.
    Fields(&'static str),
    /// A file of its own, in module `shapes`.
    File(&'static str),
    /// A file of its own, as bytes.
    Bytes(&'static [u8]),
}

/// Each is one mistake: its name, what is written, and the rule that it breaks.
const CASES: &[(&str, Case, Code)] = {
    use Case::{Bytes, Fields, File};
    &[
        (
            "unknown-key",
            Fields(r#"a = { type = "string", optionl = true, doc = "A." }"#),
            Code::UnknownKey,
        ),
        (
            "unknown-section",
            File("[typos.A]\ndoc = \"A.\"\n"),
            Code::UnknownKey,
        ),
        (
            "missing-key",
            Fields(r#"a = { optional = true, doc = "A." }"#),
            Code::MissingKey,
        ),
        (
            "missing-module",
            Bytes(b"[types.A]\ndoc = \"A.\"\n"),
            Code::MissingKey,
        ),
        (
            "missing-result",
            File(
                "[methods.\"example/more\"]\ndirection = \"host_to_extension_request\"\nclass = \"calls\"\nparams = \"Ask\"\ndoc = \"More.\"\nexample = '{}'\nresult_example = '{}'\n",
            ),
            Code::MissingKey,
        ),
        (
            "wrong-type",
            Fields(r#"a = { type = "string", optional = "yes", doc = "A." }"#),
            Code::WrongType,
        ),
        (
            "field-not-a-table",
            Fields(r#"a = "string""#),
            Code::WrongType,
        ),
        (
            "missing-doc",
            Fields(r#"a = { type = "string", optional = true }"#),
            Code::MissingDoc,
        ),
        (
            "empty-doc",
            Fields(r#"a = { type = "string", optional = true, doc = " " }"#),
            Code::MissingDoc,
        ),
        (
            "doc-direction",
            Fields("a = { type = \"string\", optional = true, doc = \"A \\u202e b.\" }"),
            Code::BadDoc,
        ),
        (
            "duplicate-type-in-two-files",
            File("[types.Ack]\ndoc = \"Again.\"\n"),
            Code::Duplicate,
        ),
        (
            "duplicate-method",
            File(
                "[methods.\"example/call\"]\ndirection = \"host_to_extension_request\"\nclass = \"calls\"\nparams = \"Ask\"\nresult = \"Ack\"\ndoc = \"Again.\"\nexample = '{}'\nresult_example = '{ \"accepted\": true }'\n",
            ),
            Code::Duplicate,
        ),
        (
            "duplicate-field",
            Fields(
                "a = { type = \"string\", optional = true, doc = \"A.\" }\na = { type = \"bool\", optional = true, doc = \"A.\" }",
            ),
            Code::Duplicate,
        ),
        (
            "duplicate-value",
            File("[enums.E]\ndoc = \"E.\"\n[enums.E.values]\nx = \"X.\"\nx = \"X.\"\n"),
            Code::Duplicate,
        ),
        (
            "type-name-not-ascii",
            Fields(r#"a = { type = "Имя", optional = true, doc = "A." }"#),
            Code::BadType,
        ),
        (
            "type-defined-not-ascii",
            File("[types.\"Имя\"]\ndoc = \"A.\"\n"),
            Code::BadName,
        ),
        (
            "no-rust-name",
            Fields(r#"_ = { type = "string", optional = true, doc = "A." }"#),
            Code::NoRustName,
        ),
        (
            "bad-rust-name",
            Fields(r#"a = { type = "string", rust = "fn", optional = true, doc = "A." }"#),
            Code::BadName,
        ),
        (
            "collision-camel-snake",
            Fields(
                "fooBar = { type = \"string\", optional = true, doc = \"A.\" }\nfoo_bar = { type = \"string\", optional = true, doc = \"B.\" }",
            ),
            Code::RustCollision,
        ),
        (
            "collision-dash",
            Fields(
                "a-b = { type = \"string\", optional = true, doc = \"A.\" }\na_b = { type = \"string\", optional = true, doc = \"B.\" }",
            ),
            Code::RustCollision,
        ),
        (
            "collision-acronym",
            Fields(
                "URLPath = { type = \"string\", optional = true, doc = \"A.\" }\nurlPath = { type = \"string\", optional = true, doc = \"B.\" }",
            ),
            Code::RustCollision,
        ),
        (
            "collision-of-types",
            File("[types.ACK]\ndoc = \"A.\"\n"),
            Code::RustCollision,
        ),
        (
            "reserved-type",
            File("[types.Option]\ndoc = \"A.\"\n"),
            Code::ReservedName,
        ),
        (
            "built-in-enum",
            File("[types.HookPoint]\ndoc = \"A.\"\n"),
            Code::ReservedName,
        ),
        (
            "character-in-name",
            Fields(r#""a<b" = { type = "string", optional = true, doc = "A." }"#),
            Code::BadCharacter,
        ),
        (
            "character-in-message",
            File(
                "[errors.broken]\ncode = -32000\nretryable = false\nmessage = \"a & b\"\ndoc = \"A.\"\n",
            ),
            Code::BadCharacter,
        ),
        (
            "unresolved-type",
            Fields(r#"a = { type = "strnig", optional = true, doc = "A." }"#),
            Code::Unresolved,
        ),
        (
            "unresolved-inner",
            Fields(r#"a = { type = "list<map<Akk>>", optional = true, doc = "A." }"#),
            Code::Unresolved,
        ),
        (
            "unresolved-class",
            File(
                "[methods.\"example/more\"]\ndirection = \"host_to_extension_request\"\nclass = \"call\"\nparams = \"Ask\"\nresult = \"Ack\"\ndoc = \"More.\"\nexample = '{}'\nresult_example = '{ \"accepted\": true }'\n",
            ),
            Code::Unresolved,
        ),
        (
            "bad-type",
            Fields(r#"a = { type = "list<string", optional = true, doc = "A." }"#),
            Code::BadType,
        ),
        (
            "bound-of-string",
            Fields(r#"a = { type = "string", min = 1, optional = true, doc = "A." }"#),
            Code::BadBound,
        ),
        (
            "bound-below-width",
            Fields(r#"a = { type = "u64", min = -1, optional = true, doc = "A." }"#),
            Code::BadBound,
        ),
        (
            "bound-above-width",
            Fields(
                r#"a = { type = "i64", max = "9223372036854775808", optional = true, doc = "A." }"#,
            ),
            Code::BadBound,
        ),
        (
            "bounds-crossed",
            Fields(r#"a = { type = "i64", min = 2, max = 1, optional = true, doc = "A." }"#),
            Code::BadBound,
        ),
        (
            "bound-fraction",
            Fields(r#"a = { type = "number", min = 0.5, optional = true, doc = "A." }"#),
            Code::BadBound,
        ),
        (
            "bound-exponent",
            Fields(r#"a = { type = "number", min = 1e3, optional = true, doc = "A." }"#),
            Code::BadBound,
        ),
        (
            "bound-beyond-toml",
            Fields(
                r#"a = { type = "u64", max = 18446744073709551615, optional = true, doc = "A." }"#,
            ),
            Code::BadBound,
        ),
        (
            "both-optional-and-zero",
            Fields(
                r#"a = { type = "string", optional = true, absent_is_zero = true, doc = "A." }"#,
            ),
            Code::Conflict,
        ),
        (
            "no-zero",
            Fields(r#"a = { type = "i64", min = 1, absent_is_zero = true, doc = "A." }"#),
            Code::Conflict,
        ),
        (
            "empty-value-optional",
            Fields(
                "a = { type = \"Mode\", optional = true, doc = \"A.\" }\n[enums.Mode]\ndoc = \"M.\"\n[enums.Mode.values]\non = \"On.\"\n\"\" = \"Off.\"",
            ),
            Code::Conflict,
        ),
        (
            "order-with-gap",
            File("[classes.more]\norder = 3\ndoc = \"More.\"\n"),
            Code::Conflict,
        ),
        (
            "externalizable-integer",
            Fields(r#"a = { type = "i64", externalizable = true, optional = true, doc = "A." }"#),
            Code::BadExternalizable,
        ),
        (
            "endless-self",
            Fields(
                "a = { type = \"Node\", optional = true, doc = \"A.\" }\n[types.Node]\ndoc = \"N.\"\n[types.Node.fields]\nnext = { type = \"Node\", doc = \"Next.\" }",
            ),
            Code::Infinite,
        ),
        (
            "endless-together",
            Fields(
                "a = { type = \"Left\", optional = true, doc = \"A.\" }\n[types.Left]\ndoc = \"L.\"\n[types.Left.fields]\nother = { type = \"Right\", doc = \"O.\" }\n[types.Right]\ndoc = \"R.\"\n[types.Right.fields]\nother = { type = \"Left\", doc = \"O.\" }",
            ),
            Code::Infinite,
        ),
        (
            "enum-without-values",
            Fields(
                "a = { type = \"Mode\", optional = true, doc = \"A.\" }\n[enums.Mode]\ndoc = \"M.\"\n[enums.Mode.values]",
            ),
            Code::Infinite,
        ),
        (
            "unused-type",
            File("[types.Alone]\ndoc = \"A.\"\n"),
            Code::Unused,
        ),
        (
            "unused-type-in-a-cycle",
            File(
                "[types.Alone]\ndoc = \"A.\"\n[types.Alone.fields]\nself = { type = \"Alone\", optional = true, doc = \"A.\" }\n",
            ),
            Code::Unused,
        ),
        (
            "unused-scalar",
            File("[scalars.Alone]\ntype = \"string\"\ndoc = \"A.\"\n"),
            Code::Unused,
        ),
        (
            "unused-enum",
            File("[enums.Alone]\ndoc = \"A.\"\n[enums.Alone.values]\nx = \"X.\"\n"),
            Code::Unused,
        ),
        (
            "rule-demands-nothing",
            Fields(
                "a = { type = \"string\", optional = true, doc = \"A.\" }\n[[types.Ask.rules]]\ndoc = \"A.\"",
            ),
            Code::BadRule,
        ),
        (
            "rule-requires-required",
            Fields("[[types.Ack.rules]]\nrequires = [\"accepted\"]\ndoc = \"A.\""),
            Code::BadRule,
        ),
        (
            "hook-adopts-nothing-known",
            File(
                "[hooks.\"tool.after\"]\npayload = \"ToolPayload\"\ntimeout = \"fast\"\ndecisions = []\nadopts = [\"nme\"]\ndoc = \"A.\"\n",
            ),
            Code::BadHook,
        ),
        (
            "example-refused",
            File(
                "[methods.\"example/more\"]\ndirection = \"host_to_extension_request\"\nclass = \"calls\"\nparams = \"Ask\"\nresult = \"Ack\"\ndoc = \"More.\"\nexample = '{}'\nresult_example = '{ \"accepted\": 1 }'\n",
            ),
            Code::BadExample,
        ),
        ("not-toml", File("[types.A\ndoc = \"A.\"\n"), Code::Toml),
        ("not-utf8", Bytes(b"# \xff\n"), Code::NotUtf8),
        (
            "byte-order-mark",
            Bytes(b"\xef\xbb\xbfmodule = \"shapes\"\n"),
            Code::ByteOrderMark,
        ),
    ]
};

fn files_of(case: &Case) -> (String, Vec<u8>) {
    match case {
        Case::Fields(fields) => (shapes(fields), b"# Nothing.\n".to_vec()),
        Case::File(text) => (
            shapes(""),
            format!("module = \"shapes\"\n{text}").into_bytes(),
        ),
        Case::Bytes(bytes) => (shapes(""), bytes.to_vec()),
    }
}

#[test]
fn each_mistake_is_reported_where_it_is_with_what_to_do() {
    for (name, case, code) in CASES {
        let (shapes, own) = files_of(case);
        let (sources, diagnostics) = report(&[
            ("base", BASE.as_bytes()),
            ("case", &own),
            ("documents", DOCUMENTS.as_bytes()),
            ("shapes", shapes.as_bytes()),
        ]);
        let codes: Vec<Code> = diagnostics.iter().map(|found| found.code).collect();
        assert!(codes.contains(code), "{name}: {codes:?}");
        for found in &diagnostics {
            assert!(!found.help.is_empty(), "{name}: says what to do");
        }
        insta::with_settings!({prepend_module_to_snapshot => false, omit_expression => true}, {
            insta::assert_snapshot!(*name, diagnostic::to_text(&diagnostics, &sources, false));
        });
    }
}

#[test]
fn every_rule_has_a_case() {
    let covered: BTreeSet<Code> = CASES.iter().map(|(_, _, code)| *code).collect();
    let all: BTreeSet<Code> = Code::ALL.iter().copied().collect();
    assert_eq!(covered, all);
}

#[test]
fn the_base_is_sound() {
    let shapes = shapes("");
    let files: [(&str, &[u8]); 3] = [
        ("base", BASE.as_bytes()),
        ("documents", DOCUMENTS.as_bytes()),
        ("shapes", shapes.as_bytes()),
    ];
    let (sources, diagnostics) = report(&files);
    assert!(
        diagnostics.is_empty(),
        "{}",
        diagnostic::to_text(&diagnostics, &sources, false)
    );
}

#[test]
fn all_mistakes_are_reported_in_one_run() {
    let shapes = shapes(
        "a = { type = \"strnig\", doc = \"A.\" }\nb = { type = \"i64\", mim = 1, doc = \"B.\" }\n\
         c = { type = \"u64\", min = -1, doc = \"C.\" }\nd = { type = \"bool\" }\n\
         e = { type = \"bool\", externalizable = true, doc = \"E.\" }",
    );
    let (_, diagnostics) = report(&[
        ("base", BASE.as_bytes()),
        ("case", b"module = \"shapes\"\n[types.X\n"),
        ("documents", DOCUMENTS.as_bytes()),
        ("shapes", shapes.as_bytes()),
    ]);
    let codes: BTreeSet<Code> = diagnostics.iter().map(|found| found.code).collect();
    let expected = [
        Code::Toml,
        Code::Unresolved,
        Code::UnknownKey,
        Code::BadBound,
        Code::MissingDoc,
        Code::BadExternalizable,
    ];
    assert_eq!(codes, BTreeSet::from(expected));
}

#[test]
fn a_place_is_the_same_whatever_the_line_ends() {
    let shapes = shapes("a = { type = \"strnig\", optional = true, doc = \"A.\" }");
    let places = |turn: &dyn Fn(&str) -> String| {
        let files = [turn(BASE), turn(DOCUMENTS), turn(&shapes)];
        let (sources, diagnostics) = report(&[
            ("base", files[0].as_bytes()),
            ("documents", files[1].as_bytes()),
            ("shapes", files[2].as_bytes()),
        ]);
        serde_json::to_string(&diagnostic::locate(&diagnostics, &sources)).unwrap()
    };
    let unix = places(&str::to_owned);
    assert!(unix.contains("\"line\":9,\"column\":15"), "{unix}");
    assert_eq!(unix, places(&|text| text.replace('\n', "\r\n")));
}
