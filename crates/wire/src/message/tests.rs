use proptest::prelude::*;

use super::*;

/// What a frame is read as, in one line.
fn shown(frame: &[u8]) -> String {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let call = |call: &Incoming| {
        let params = call.params().map_or("none".to_owned(), text);
        format!("{} {params}", call.method())
    };
    match read(&Bytes::copy_from_slice(frame)) {
        Message::Request { id, call: of } => format!("request {id} {}", call(&of)),
        Message::Notification(of) => format!("notification {}", call(&of)),
        Message::Response {
            id,
            outcome: Ok(result),
        } => format!("result {id} {}", text(&result)),
        Message::Response {
            id,
            outcome: Err(error),
        } => format!("error {id} {} {}", error.code, error.message.expose()),
        Message::Unaddressed => "unaddressed".to_owned(),
        Message::Unsound(unsound) => {
            let answer = match unsound.answer {
                Some((id, error)) => format!("{} to {id:?}", error.code),
                None => "no answer".to_owned(),
            };
            let call = unsound
                .call
                .map_or(String::new(), |id| format!(", call {id}"));
            format!("{answer}{call}: {}", unsound.why)
        }
    }
}

#[track_caller]
fn check(frame: &str, expected: &str) {
    assert_eq!(shown(frame.as_bytes()), expected, "{frame}");
}

#[test]
fn sound_frames_are_read_with_raw_params() {
    for (frame, expected) in [
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a": [1]}}"#,
            r#"request 1 m {"a": [1]}"#,
        ),
        (
            r#"{"method":"m","id":-5,"jsonrpc":"2.0"}"#,
            "request -5 m none",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":null}"#,
            "request 1 m null",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}"#,
            "request 1 m [1]",
        ),
        (
            r#"{"jsonrpc":"2.0","method":"\u006d"}"#,
            "notification m none",
        ),
        (
            r#"{"jsonrpc":"2.0","\u0069d":3,"method":"m"}"#,
            "request 3 m none",
        ),
        (r#"{"jsonrpc":"2.0","id":7,"result":null}"#, "result 7 null"),
        (
            r#"{"jsonrpc":"2.0","id":7,"result":{"x":"\ud800"}}"#,
            r#"result 7 {"x":"\ud800"}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"no"}}"#,
            "error 7 -1 no",
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"no","data":null,"x":1}}"#,
            "error 7 -1 no",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"m","extra":{"a":[]},"Extra":null}"#,
            "request 1 m none",
        ),
        (
            r#"{"jsonrpc":"2.0","id":9223372036854775807,"method":"m"}"#,
            "request 9223372036854775807 m none",
        ),
        (
            r#"{"jsonrpc":"2.0","id":-9223372036854775808,"method":"m"}"#,
            "request -9223372036854775808 m none",
        ),
        (
            r#"{"jsonrpc":"2.0","id":9007199254740993,"method":"m"}"#,
            "request 9007199254740993 m none",
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}"#,
            "unaddressed",
        ),
    ] {
        check(frame, expected);
    }
}

#[test]
fn what_is_not_json_is_a_parse_error_without_an_id() {
    for frame in [
        "{",
        "{}x",
        "hello",
        "{\"jsonrpc\":\"2.0\",}",
        "\u{feff}{}",
        "{'a':1}",
        "{\"a\":01}",
    ] {
        check(frame, "-32700 to None: it is not JSON");
    }
    assert_eq!(
        shown(b"{\"jsonrpc\":\"\xff\"}"),
        "-32700 to None: it is not UTF-8"
    );
    // Neither the reading nor what is made of it may follow a million levels.
    for levels in [129, 20_000, 1_000_000] {
        let nested = "[".repeat(levels) + &"]".repeat(levels);
        check(&nested, "-32700 to None: it nests too deep");
    }
}

#[test]
fn json_that_is_no_object_is_an_invalid_request() {
    for frame in [
        "[]",
        "null",
        "42",
        "\"x\"",
        "true",
        r#"[{"jsonrpc":"2.0","id":1,"method":"m"}]"#,
    ] {
        check(frame, "-32600 to None: it is no JSON object");
    }
}

#[test]
fn ids_are_integers_of_64_bits_and_nothing_else() {
    for id in [
        "null",
        "\"7\"",
        "1.0",
        "1.5",
        "1e2",
        "-0",
        "true",
        "{}",
        "[1]",
        "9223372036854775808",
        "\"\"",
    ] {
        let frame = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
        check(&frame, "-32600 to None: the `id` is no integer of 64 bits");
        let frame = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":1}}"#);
        // Nothing is asked under a string: such an answer is late at worst.
        let expected = if id.starts_with('"') {
            "unaddressed"
        } else {
            "no answer: the `id` of a response is no integer"
        };
        check(&frame, expected);
    }
}

#[test]
fn half_valid_requests_are_answered_under_their_id() {
    for (frame, why) in [
        (r#"{"id":1,"method":"m"}"#, "it has no `jsonrpc`"),
        (
            r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#,
            "its `jsonrpc` is not \"2.0\"",
        ),
        (
            r#"{"jsonrpc":2.0,"id":1,"method":"m"}"#,
            "its `jsonrpc` is not \"2.0\"",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1}"#,
            "it has no `method`, no `result` and no `error`",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":""}"#,
            "the `method` is empty",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":5}"#,
            "the `method` is no string",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#,
            "the `method` is no string",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":"x"}"#,
            "the `params` are no object",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"m","result":1}"#,
            "it has a `method` beside a `result` or an `error`",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"m","method":"n"}"#,
            "it has `method` twice",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"m","Params":{}}"#,
            "it has `Params` in another case",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"m","paramſ":{}}"#,
            "it has `paramſ` in another case",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"m","x":1,"x":2}"#,
            "it has `x` twice",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"m","x":{"a":1,"a":2}}"#,
            "its member `x` is unsound",
        ),
    ] {
        check(frame, &format!("-32600 to Some(1): {why}"));
    }
    // Under which of two ids?
    check(
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#,
        "-32600 to None: the `id` is no integer of 64 bits",
    );
}

#[test]
fn nesting_is_counted_from_the_frame() {
    let frame = |levels: usize| {
        let (open, close) = ("[".repeat(levels), "]".repeat(levels));
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"p":{open}{close}}}}}"#)
    };
    assert!(shown(frame(126).as_bytes()).starts_with("request 1"));
    for levels in [127, 5_000, 1_000_000] {
        let why = "it nests more than 128 levels of arrays and objects";
        check(&frame(levels), &format!("-32600 to Some(1): {why}"));
    }
    // Brackets in strings do not nest.
    let frame = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"p":"\"{}"}}}}"#,
        "[".repeat(500)
    );
    assert!(shown(frame.as_bytes()).starts_with("request 1"));
}

#[test]
fn unsound_responses_are_never_answered_and_fail_their_call() {
    for (frame, expected) in [
        (
            r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":""}}"#,
            ", call 1: a response has one of `result` and `error`",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":1,"params":{}}"#,
            ", call 1: a response has no `params`",
        ),
        (r#"{"id":1,"result":1}"#, ", call 1: it has no `jsonrpc`"),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":true,"message":""}}"#,
            ", call 1: the `error` has no integer `code` and no string `message`, or unsound `data`",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"message":""}}"#,
            ", call 1: the `error` has no integer `code` and no string `message`, or unsound `data`",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"","data":{"a":1,"a":1}}}"#,
            ", call 1: the `error` has no integer `code` and no string `message`, or unsound `data`",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":null}"#,
            ", call 1: the `error` has no integer `code` and no string `message`, or unsound `data`",
        ),
        (
            r#"{"jsonrpc":"2.0","result":1}"#,
            ": the `id` of a response is no integer",
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"result":1}"#,
            ": the `id` of a response is no integer",
        ),
    ] {
        check(frame, &format!("no answer{expected}"));
    }
}

#[test]
fn what_a_person_sees_of_a_line_is_short_and_harmless() {
    let line = format!("\u{1b}]52;\u{9b}{}", "é".repeat(300));
    let shown = excerpt(&line);
    assert!(shown.starts_with("\\u{1b}]52;\\u{9b}é"), "{shown}");
    assert!(shown.ends_with("é…") && shown.chars().filter(|c| *c == 'é').count() < 200);
}

proptest! {
    #[test]
    fn whatever_comes_is_read_as_something(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        shown_or_silent(&bytes);
    }

    #[test]
    fn whatever_json_comes_is_read_as_something(
        text in r#"[{\[]("(jsonrpc|id|method|params|result|error|x)":("2.0"|[0-9]{1,3}|\{"code":1,"message":""\}|null|\[\]),?){0,6}[}\]]"#,
    ) {
        shown_or_silent(text.as_bytes());
    }
}

/// Reads bytes; a response or an error of theirs is never answered.
fn shown_or_silent(bytes: &[u8]) {
    if let Message::Unsound(unsound) = read(&Bytes::copy_from_slice(bytes)) {
        let value: Option<serde_json::Value> = serde_json::from_slice(bytes).ok();
        let has = |name| {
            value
                .as_ref()
                .is_some_and(|value| value.get(name).is_some())
        };
        if !has("method") && (has("result") || has("error")) {
            assert!(unsound.answer.is_none());
        }
    }
}
