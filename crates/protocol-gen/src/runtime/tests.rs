//! Rows of document and verdict over types of every shape.

use std::collections::BTreeMap;

use super::{
    DecodeError, Externalizable, FaultKind, InvalidValue, MAX_DEPTH, RawJson, ReplacementRules,
    decode, decode_params, decode_str, encode, strict,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Error,
    Usage,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Error => "error",
            Self::Usage => "usage",
        }
    }

    fn from_wire(wire: &str) -> Option<Self> {
        [Self::Text, Self::Error, Self::Usage]
            .into_iter()
            .find(|kind| kind.as_str() == wire)
    }
}

strict::values! { Kind { "error", "text", "usage" } }

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Id(String);

impl Id {
    fn new(text: impl Into<String>) -> Result<Self, InvalidValue> {
        let text = text.into();
        if Self::is_valid(&text) {
            Ok(Self(text))
        } else {
            Err(InvalidValue::new("Id", "a string that is not blank"))
        }
    }

    fn is_valid(text: &str) -> bool {
        !strict::is_blank(text)
    }
}

strict::text! { Id: "a string that is not blank" }

#[derive(Clone, Debug, PartialEq, Eq)]
struct Digest(String);

impl Digest {
    fn new(text: impl Into<String>) -> Result<Self, InvalidValue> {
        let text = text.into();
        if Self::is_valid(&text) {
            Ok(Self(text))
        } else {
            Err(InvalidValue::new(
                "Digest",
                "4 lower-case hexadecimal digits",
            ))
        }
    }

    fn is_valid(text: &str) -> bool {
        strict::is_lower_hex(text, 4)
    }
}

strict::text! { Digest: "4 lower-case hexadecimal digits" }

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Generation(u64);

strict::count! { Generation: u64, strict::Integer { min: 0, max: u64::MAX } }

#[derive(Clone, Debug, PartialEq)]
struct Usage {
    tokens: u64,
    price: Option<f64>,
}

strict::object! {
    Usage, "Usage" {
        0: "tokens" => tokens: required(strict::Integer { min: 0, max: i64::MAX.unsigned_abs() }),
        1: "price" => price: optional(strict::Number { min: Some(0), max: None }),
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Chunk {
    kind: Kind,
    text: Option<String>,
    usage: Option<Usage>,
    error: Option<String>,
}

strict::object! {
    Chunk, "Chunk" {
        0: "type" => kind: required(strict::Plain),
        1: "text" => text: optional(strict::Plain),
        2: "usage" => usage: optional(strict::Plain),
        3: "error" => error: optional(strict::NonBlank),
    }
    check |object: &Chunk| {
        strict::rule(object.kind != Kind::Error || object.error.is_some(), "an error says why")?;
        strict::rule(object.kind == Kind::Error || object.error.is_none(), "only an error says why")?;
        Ok(())
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Message {
    id: Id,
    seq: u64,
    chunk: Chunk,
    chunks: Option<Vec<Chunk>>,
    table: Option<BTreeMap<String, RawJson>>,
    payload: Option<Externalizable<RawJson>>,
    content: Option<Externalizable<String>>,
    parameters: Option<RawJson>,
    digest: Option<Digest>,
    level: i64,
    mood: Option<Kind>,
    next: Option<Box<Message>>,
    generation: Option<Generation>,
}

strict::object! {
    Message, "Message" {
        0: "id" => id: required(strict::Plain),
        1: "seq" => seq: required(strict::Integer { min: 1, max: i64::MAX.unsigned_abs() }),
        2: "chunk" => chunk: required(strict::Plain),
        3: "chunks" => chunks: optional(strict::List(strict::Plain)),
        4: "table" => table: optional(strict::Map(strict::Plain)),
        5: "payload" => payload: optional(strict::Plain),
        6: "content" => content: optional(strict::Plain),
        7: "parameters" => parameters: optional(strict::Plain),
        8: "digest" => digest: optional(strict::Plain),
        9: "level" => level: zero_if_absent(strict::Integer { min: -5, max: i64::MAX }),
        10: "mood" => mood: optional_or_empty(strict::OrEmpty),
        11: "next" => next: optional(strict::Boxed(strict::Plain)),
        12: "generation" => generation: optional(strict::Plain),
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Nothing {}

strict::object! {
    Nothing, "Nothing" {}
    params true
}

#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::zero_sized_map_values,
    reason = "values without members are what is tested"
)]
struct Holder {
    n: Nothing,
    list: Option<Vec<Nothing>>,
    map: Option<BTreeMap<String, Nothing>>,
}

strict::object! {
    Holder, "Holder" {
        0: "n" => n: required(strict::Plain),
        1: "list" => list: optional(strict::List(strict::Plain)),
        2: "map" => map: optional(strict::Map(strict::Plain)),
    }
    params false
}

/// A message with `more` in it.
fn message(more: &str) -> String {
    format!(r#"{{"id":"s","seq":1,"chunk":{{"type":"text"}}{more}}}"#)
}

#[track_caller]
fn refused(json: &str, pointer: &str, kind: FaultKind) {
    let error = decode_str::<Message>(json).expect_err(json);
    assert_eq!(
        (error.pointer(), error.kind()),
        (pointer, kind),
        "{json}: {error}"
    );
    // What decodes without the explanation is as strict.
    assert!(serde_json::from_str::<Message>(json).is_err(), "{json}");
}

#[track_caller]
fn accepted(json: &str) -> Message {
    decode_str(json).unwrap_or_else(|error| panic!("{json}: {error}"))
}

#[test]
fn a_message_with_all_members_comes_back_as_the_same_bytes() {
    let json = concat!(
        r#"{"id":"s","seq":9223372036854775807,"chunk":{"type":"error","error":"why"},"#,
        r#""chunks":[{"type":"text","text":""},{"type":"usage","usage":{"tokens":0,"price":0.5}}],"#,
        r#""table":{"a":[1],"b":"\ud800"},"payload":null,"content":"c","parameters":{"x":{}},"#,
        r#""digest":"0a9f","level":-5,"mood":"usage","#,
        r#""next":{"id":"t","seq":2,"chunk":{"type":"text"},"level":0},"generation":18446744073709551615}"#
    );
    let message = accepted(json);
    assert_eq!(String::from_utf8(encode(&message).unwrap()).unwrap(), json);
}

#[test]
fn members_are_exact_single_and_complete() {
    use FaultKind::{DuplicateMember, MissingMember, UnknownMember};

    refused(&message(r#","note":1"#), "/note", UnknownMember);
    refused(&message(r#","Digest":"0000""#), "/Digest", UnknownMember);
    refused(&message(r#","\u017feq":1"#), "/ſeq", UnknownMember);
    refused(&message(r#","seq":1"#), "/seq", DuplicateMember);
    refused(&message(r#","\u0073eq":1"#), "/seq", DuplicateMember);
    refused(r#"{"id":"s","seq":1}"#, "/chunk", MissingMember);
    refused(
        r#"{"id":"s","seq":1,"chunk":{"type":"usage","usage":{"tokens":1,"cost":1}}}"#,
        "/chunk/usage/cost",
        UnknownMember,
    );
    refused(
        &message(r#","chunks":[{"type":"text"},{"type":"usage","usage":{}}]"#),
        "/chunks/1/usage/tokens",
        MissingMember,
    );
    refused(
        &message(r#","table":{"a":1,"a":2}"#),
        "/table/a",
        DuplicateMember,
    );
}

#[test]
fn raw_json_has_no_member_twice_at_any_depth() {
    use FaultKind::DuplicateMember;

    for (payload, pointer) in [
        (r#"{"a":1,"a":2}"#, "/payload/a"),
        (
            r#"{"x":[0,{"y/z":{"a":1,"b":2,"\u0061":3}}]}"#,
            "/payload/x/1/y~1z/a",
        ),
        (r#"{"\ud800":1,"\ud800":2}"#, "/payload/���"),
        (r#"[{"\ud83d\ude00":1,"😀":2}]"#, "/payload/0/😀"),
        (
            r#"{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"e":1}"#,
            "/payload/e",
        ),
    ] {
        refused(
            &message(&format!(r#","payload":{payload}"#)),
            pointer,
            DuplicateMember,
        );
        refused(
            &message(&format!(r#","table":{{"t":{payload}}}"#)),
            &pointer.replace("/payload", "/table/t"),
            DuplicateMember,
        );
    }
    accepted(&message(
        r#","payload":{"a":{"a":1},"b":[{"a":1},{"a":2}],"A":0}"#,
    ));
}

#[test]
fn null_stands_only_for_what_may_travel_by_reference() {
    use FaultKind::Null;

    accepted(&message(r#","payload":null,"content":null"#));
    refused(&message(r#","parameters":null"#), "/parameters", Null);
    refused(&message(r#","chunks":null"#), "/chunks", Null);
    refused(&message(r#","chunks":[null]"#), "/chunks/0", Null);
    refused(&message(r#","table":{"a":null}"#), "/table/a", Null);
    refused(&message(r#","digest":null"#), "/digest", Null);
    refused(&message(r#","mood":null"#), "/mood", Null);
    refused(&message(r#","level":null"#), "/level", Null);
    refused(
        r#"{"id":"s","seq":1,"chunk":{"type":"text","text":null}}"#,
        "/chunk/text",
        Null,
    );
    refused("null", "", Null);
}

#[test]
fn a_blank_string_is_white_space_as_unicode_has_it() {
    use FaultKind::{Blank, Format, WrongType};

    for blank in [
        "", " ", "\\t\\n", "\u{85}", "\u{a0}", "\u{1680}", "\u{2028}", "\u{3000}",
    ] {
        refused(
            &format!(r#"{{"id":"{blank}","seq":1,"chunk":{{"type":"text"}}}}"#),
            "/id",
            Blank,
        );
    }
    for text in ["\u{200b}", "\u{feff}", " x "] {
        accepted(&format!(
            r#"{{"id":"{text}","seq":1,"chunk":{{"type":"text"}}}}"#
        ));
    }
    refused(
        r#"{"id":"s","seq":1,"chunk":{"type":"error","error":" "}}"#,
        "/chunk/error",
        Blank,
    );
    refused(&message(r#","digest":"0A9F""#), "/digest", Format);
    refused(&message(r#","digest":"0a9""#), "/digest", Format);
    refused(&message(r#","digest":1"#), "/digest", WrongType);
    // A number too large for an integer is no less a number where a string is asked for.
    refused(&message(r#","digest":1e30"#), "/digest", WrongType);
    refused(
        &message(r#","content":18446744073709551616"#),
        "/content",
        WrongType,
    );
}

#[test]
fn integers_are_plain_literals_within_their_bounds() {
    use FaultKind::{OutOfRange, WrongType};

    for (literal, kind) in [
        ("0", OutOfRange),
        ("-1", OutOfRange),
        ("9223372036854775808", OutOfRange),
        ("18446744073709551615", OutOfRange),
        ("18446744073709551616", OutOfRange),
        ("1.0", WrongType),
        ("1e3", WrongType),
        ("1e30", OutOfRange),
        ("1e400", OutOfRange),
        ("-0", WrongType),
        ("\"1\"", WrongType),
        ("true", WrongType),
        ("[1]", WrongType),
    ] {
        refused(
            &format!(r#"{{"id":"s","seq":{literal},"chunk":{{"type":"text"}}}}"#),
            "/seq",
            kind,
        );
    }
    refused(&message(r#","level":-6"#), "/level", OutOfRange);
    refused(&message(r#","generation":-1"#), "/generation", OutOfRange);
    refused(
        &message(r#","level":9223372036854775808"#),
        "/level",
        OutOfRange,
    );
    assert_eq!(accepted(&message("")).level, 0);
}

#[test]
fn doubles_are_finite_and_have_one_zero() {
    let usage = |price: &str| decode_str::<Usage>(&format!(r#"{{"tokens":0,"price":{price}}}"#));
    for (text, value) in [
        ("0", 0.0),
        ("0.1", 0.1),
        ("1e-7", 1e-7),
        ("1e21", 1e21),
        ("-0.0", 0.0),
    ] {
        let price = usage(text).unwrap().price.unwrap();
        assert_eq!(price.to_bits(), f64::to_bits(value), "{text}");
        let again = encode(&Usage {
            tokens: 0,
            price: Some(price),
        })
        .unwrap();
        assert_eq!(
            decode::<Usage>(&again).unwrap().price,
            Some(price),
            "{text}"
        );
    }
    for (text, kind) in [
        ("-0.5", FaultKind::OutOfRange),
        ("1e400", FaultKind::OutOfRange),
        ("NaN", FaultKind::Syntax),
        ("\"1\"", FaultKind::WrongType),
    ] {
        assert_eq!(usage(text).unwrap_err().kind(), kind, "{text}");
    }
    for price in [f64::NAN, f64::INFINITY, -1.0] {
        assert!(
            encode(&Usage {
                tokens: 0,
                price: Some(price)
            })
            .is_err(),
            "{price}"
        );
    }
}

#[test]
fn an_enum_is_one_of_its_strings() {
    use FaultKind::{UnknownValue, WrongType};

    let chunk = |kind: &str| format!(r#"{{"id":"s","seq":1,"chunk":{{"type":{kind}}}}}"#);
    refused(&chunk(r#""image""#), "/chunk/type", UnknownValue);
    refused(&chunk(r#""""#), "/chunk/type", UnknownValue);
    refused(&chunk(r#""Text""#), "/chunk/type", UnknownValue);
    refused(&chunk(r#"{"text":null}"#), "/chunk/type", WrongType);
    refused(&chunk(r#"["text"]"#), "/chunk/type", WrongType);
    refused(&message(r#","mood":"sad""#), "/mood", UnknownValue);
    assert_eq!(accepted(&message(r#","mood":"""#)).mood, None);
    let error = decode_str::<Message>(&chunk(r#""image""#)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`/chunk/type`: found \"image\", expected one of `error`, `text`, `usage`"
    );
}

#[test]
fn an_object_is_no_array_and_an_empty_one_is_one() {
    for (json, verdict) in [
        (r#"{"n":{}}"#, true),
        (r#"{"n":[]}"#, false),
        (r#"{"n":null}"#, false),
        (r#"{"n":{"x":1}}"#, false),
        (r#"{"n":{},"list":[{},{}],"map":{"k":{}}}"#, true),
        (r#"{"n":{},"list":[[]]}"#, false),
        (r#"{"n":""}"#, false),
        ("[{}]", false),
        (r#"{"n":{}} "#, true),
        (r#"{"n":{}} x"#, false),
    ] {
        assert_eq!(decode_str::<Holder>(json).is_ok(), verdict, "{json}");
    }
    assert_eq!(encode(&Nothing {}).unwrap(), b"{}");
}

#[test]
fn rules_between_members_hold_both_ways() {
    let chunk = |kind, error: Option<&str>| Chunk {
        kind,
        text: None,
        usage: None,
        error: error.map(str::to_owned),
    };
    refused(
        r#"{"id":"s","seq":1,"chunk":{"type":"error"}}"#,
        "/chunk",
        FaultKind::Rule,
    );
    refused(
        r#"{"id":"s","seq":1,"chunk":{"error":"x","type":"text"}}"#,
        "/chunk",
        FaultKind::Rule,
    );
    assert!(encode(&chunk(Kind::Error, None)).is_err());
    assert!(encode(&chunk(Kind::Text, Some("x"))).is_err());
    assert!(encode(&chunk(Kind::Error, Some("x"))).is_ok());
    let blank = encode(&chunk(Kind::Error, Some(" "))).unwrap_err();
    assert_eq!(
        blank.to_string(),
        "the contract forbids this message: `error`: \" \" is not a string that is not blank"
    );
}

#[test]
fn text_that_is_not_json_says_where() {
    use FaultKind::Syntax;

    refused("", "", Syntax);
    refused(r#"{"id":"s""#, "", Syntax);
    refused(&message(r#","content":"\ud800""#), "/content", Syntax);
    refused(&message("]"), "", Syntax);
    assert_eq!(
        decode::<Message>(b"{\"id\":\"\xff\"}").unwrap_err().kind(),
        Syntax
    );
}

#[test]
fn depth_is_bounded_and_overflows_no_stack() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(RawJson::parse(&nested(MAX_DEPTH)).is_ok());
    let error = RawJson::parse(&nested(MAX_DEPTH + 1)).unwrap_err();
    assert_eq!(error.kind(), FaultKind::Depth);
    assert_eq!(
        RawJson::parse(&nested(1_000_000)).unwrap_err().kind(),
        FaultKind::Depth
    );
    assert_eq!(
        RawJson::parse(&"[".repeat(1_000_000)).unwrap_err().kind(),
        FaultKind::Syntax
    );

    let tree = |levels: usize| {
        let open = r#"{"id":"s","seq":1,"chunk":{"type":"text"},"next":"#.repeat(levels);
        format!("{open}{}{}", message(""), "}".repeat(levels))
    };
    let message = accepted(&tree(60));
    assert_eq!(
        decode::<Message>(&encode(&message).unwrap()).unwrap(),
        message
    );
    refused(&tree(200), "", FaultKind::Depth);

    // Depth that is allowed hides no other fault, and raw JSON is deep where it stands.
    let deep = nested(MAX_DEPTH);
    accepted(&self::message(&format!(r#","payload":{deep}"#)));
    refused(
        &self::message(&format!(r#","payload":{deep},"note":1"#)),
        "/note",
        FaultKind::UnknownMember,
    );
    refused(
        &format!(r#"{{"id":"s","seq":1,"payload":{deep},"chunk":{{"type":"error"}}}}"#),
        "/chunk",
        FaultKind::Rule,
    );
    refused(
        &self::message(&format!(r#","table":{{"z":{deep},"a":1,"a":2}}"#)),
        "/table/a",
        FaultKind::DuplicateMember,
    );
    refused(
        &self::message(&format!(r#","payload":[{deep}]"#)),
        "/payload",
        FaultKind::Depth,
    );
}

#[test]
fn raw_json_is_one_line_and_keeps_its_strings() {
    let raw =
        RawJson::parse(" { \"a b\" : [ 1 , \"x \\n \\ud800\" ] ,\n\t\"c\":{ } }\r\n").unwrap();
    assert_eq!(raw.as_str(), r#"{"a b":[1,"x \n \ud800"],"c":{}}"#);
    assert!(raw.is_object());
    assert!(RawJson::parse("null").is_err());
    assert!(RawJson::encode(&Option::<u8>::None).is_err());
    assert_eq!(
        RawJson::encode(&BTreeMap::from([("k", 1)]))
            .unwrap()
            .as_str(),
        r#"{"k":1}"#
    );
    let error = raw.decode::<Usage>().unwrap_err();
    assert_eq!(
        (error.pointer(), error.kind()),
        ("/a b", FaultKind::UnknownMember)
    );
}

#[test]
fn absent_and_null_params_read_as_empty_where_nothing_is_required() {
    for params in [None, Some(&b"null"[..]), Some(b"{}")] {
        assert!(decode_params::<Nothing>(params).is_ok());
    }
    assert!(decode_params::<Nothing>(Some(b"[]")).is_err());
    assert!(decode_params::<Nothing>(Some(b" null\n")).is_ok());
    // A form feed is no white space of JSON.
    assert!(decode_params::<Nothing>(Some(b"\x0cnull")).is_err());
    assert_eq!(
        decode_params::<Holder>(None).unwrap_err().kind(),
        FaultKind::MissingMember
    );
    assert_eq!(
        decode_params::<Holder>(Some(b"null")).unwrap_err().kind(),
        FaultKind::Null
    );
}

#[test]
fn an_error_shows_a_bounded_excerpt_without_control_characters() {
    let long = format!(r#"{{"id":"s","seq":"{}\u001b[2J"}}"#, "x".repeat(500));
    let text = decode_str::<Message>(&long).unwrap_err().to_string();
    assert!(text.len() < 200 && text.contains('…'), "{text}");
    let escape = decode_str::<Message>("{\"id\":\"s\",\"seq\":\"\\u001b[2J\"}").unwrap_err();
    assert!(!escape.to_string().contains('\u{1b}'), "{escape}");

    // Names are as foreign as values: exact in the pointer, tame in the text.
    let name = decode_str::<Message>(&message(",\"\\u001b[2J\":1")).unwrap_err();
    assert_eq!(name.pointer(), "/\u{1b}[2J");
    assert!(!name.to_string().contains('\u{1b}'), "{name}");
    let long = "k".repeat(100_000);
    for more in [
        format!(r#","table":{{"{long}":null}}"#),
        format!(r#","payload":{{"{long}":1,"{long}":2}}"#),
        format!(r#","{long}":1"#),
    ] {
        let error = decode_str::<Message>(&message(&more)).unwrap_err();
        assert!(error.pointer().ends_with(&long));
        assert!(error.to_string().len() < 500, "{error}");
    }
    let raw = RawJson::parse(&format!("\"{long}\"")).unwrap();
    assert!(format!("{raw:?}").len() < 500);
}

#[test]
fn an_error_can_be_seen_from_a_document_around_it() {
    let error: DecodeError = decode_str::<Usage>(r#"{"tokens":-1}"#).unwrap_err();
    assert_eq!(error.within("/params").pointer(), "/params/tokens");
}

#[test]
fn a_replacement_obeys_the_rules_of_its_point() {
    const RULES: ReplacementRules = ReplacementRules {
        fixed: &[("phase", "start")],
        required: &["messages"],
        non_empty: &["name"],
        any_of: &["text", "calls"],
        object_text: &["arguments"],
    };
    let check = |json: &str| {
        let raw = RawJson::parse(json).unwrap();
        RULES
            .check_payload(&raw)
            .and_then(|()| RULES.check_replacement(&raw))
            .map_err(|error| (error.pointer().to_owned(), error.kind()))
    };
    let whole = r#""messages":[],"name":"n","text":"""#;
    assert_eq!(check(&format!("{{{whole}}}")), Ok(()));
    for arguments in ["", "{}", " {\\\"a\\\":1} "] {
        assert_eq!(
            check(&format!(r#"{{{whole},"arguments":"{arguments}"}}"#)),
            Ok(())
        );
    }
    for arguments in [" ", "null", "[]", "{}{}", "{", "{\\\"a\\\":1,\\\"a\\\":2}"] {
        assert_eq!(
            check(&format!(r#"{{{whole},"arguments":"{arguments}"}}"#)),
            Err(("/arguments".to_owned(), FaultKind::Rule)),
            "{arguments}"
        );
    }
    for (json, pointer, kind) in [
        (
            r#"{"name":"n","text":""}"#,
            "/messages",
            FaultKind::MissingMember,
        ),
        (
            r#"{"messages":[],"name":"","text":""}"#,
            "/name",
            FaultKind::Rule,
        ),
        (r#"{"messages":[],"text":""}"#, "/name", FaultKind::Rule),
        (r#"{"messages":[],"name":"n"}"#, "", FaultKind::Rule),
        (r#"{"phase":"end"}"#, "/phase", FaultKind::Rule),
    ] {
        assert_eq!(check(json), Err((pointer.to_owned(), kind)), "{json}");
    }
}
