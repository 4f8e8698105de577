//! The canonical spelling of JSON, and its hash. Knows no schema.
//!
//! Compact, members sorted by the bytes of their names at every level, no newline at the end. The
//! bytes depend on nothing else: not on the platform, nor on the order in which members were added,
//! nor on the features that some other crate in the build switches on in `serde_json`
//! (`preserve_order` and `arbitrary_precision` both change what its own writer prints).

use std::fmt::Write as _;

use serde_json::Value;
use sha2::{Digest, Sha256};

/// Writes a value in canonical form.
pub fn to_string(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

/// The SHA-256 of `bytes`, as `sha256:` and 64 lower-case hexadecimal digits.
pub fn hash(bytes: &[u8]) -> String {
    let mut out = String::from("sha256:");
    for byte in Sha256::digest(bytes) {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

/// JSON text on several lines, for people: members stay in the order in which they are written.
///
/// It works on the text alone, so no setting of any parser can reorder it. An object or a list whose
/// text is short stays on one line.
pub(crate) fn pretty(json: &str) -> String {
    /// Columns within which an object or a list stays on one line.
    const SHORT: usize = 60;

    let compact = respaced(json);
    let mut out = String::new();
    let mut indent = 0;
    // For each open bracket, whether it is broken over lines.
    let mut broken = Vec::new();
    let mut rest = compact.as_str();
    while let Some(c) = rest.chars().next() {
        let piece = if c == '"' {
            string(rest)
        } else {
            rest.get(..c.len_utf8()).unwrap_or("")
        };
        match c {
            '{' | '[' => {
                let whole = bracketed(rest);
                let breaks = whole.chars().count() > SHORT;
                out.push(c);
                broken.push(breaks);
                if breaks {
                    indent += 2;
                    new_line(&mut out, indent);
                }
            }
            '}' | ']' => {
                if broken.pop().unwrap_or(false) {
                    indent -= 2;
                    new_line(&mut out, indent);
                }
                out.push(c);
            }
            ',' => {
                out.push(',');
                if broken.last().copied().unwrap_or(false) {
                    new_line(&mut out, indent);
                } else {
                    out.push(' ');
                }
            }
            ':' => out.push_str(": "),
            _ => out.push_str(piece),
        }
        rest = rest.get(piece.len()..).unwrap_or("");
    }
    out
}

fn new_line(out: &mut String, indent: usize) {
    out.push('\n');
    out.push_str(&" ".repeat(indent));
}

/// JSON text without white space outside strings.
fn respaced(json: &str) -> String {
    let mut out = String::new();
    let mut rest = json;
    while let Some(c) = rest.chars().next() {
        let piece = if c == '"' {
            string(rest)
        } else {
            rest.get(..c.len_utf8()).unwrap_or("")
        };
        if !c.is_ascii_whitespace() {
            out.push_str(piece);
        }
        rest = rest.get(piece.len()..).unwrap_or("");
    }
    out
}

/// The string at the start of JSON text, its quotes included.
fn string(json: &str) -> &str {
    let mut escaped = false;
    for (at, c) in json.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return json.get(..=at).unwrap_or(json),
            _ => {}
        }
    }
    json
}

/// The object or list at the start of JSON text.
fn bracketed(json: &str) -> &str {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(c) = json.get(at..).and_then(|rest| rest.chars().next()) {
        match c {
            '"' => {
                at += string(json.get(at..).unwrap_or("")).len();
                continue;
            }
            '{' | '[' => depth += 1,
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return json.get(..=at).unwrap_or(json);
                }
            }
            _ => {}
        }
        at += c.len_utf8();
    }
    json
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
            out.push('{');
            for (index, (name, member)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_scalar(&Value::String(name.clone()), out);
                out.push(':');
                write(member, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            write_scalar(value, out);
        }
    }
}

fn write_scalar(value: &Value, out: &mut String) {
    let _ = write!(out, "{value}");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{hash, pretty, to_string};

    #[test]
    fn members_are_sorted_by_bytes_at_every_level_and_lists_are_not() {
        let value = json!({"b": [{"z": 1, "$a": null}, "x"], "B": true, "é": 0, "~": 1});
        assert_eq!(
            to_string(&value),
            r#"{"B":true,"b":[{"$a":null,"z":1},"x"],"~":1,"é":0}"#
        );
    }

    #[test]
    fn integers_keep_their_digits() {
        let value = json!([9_007_199_254_740_993_i64, u64::MAX, i64::MIN]);
        assert_eq!(
            to_string(&value),
            "[9007199254740993,18446744073709551615,-9223372036854775808]"
        );
    }

    #[test]
    fn pretty_text_keeps_the_order_of_members_and_the_content_of_strings() {
        assert_eq!(
            pretty(r#" { "b":[ ], "a" : {"x, {": "\"y: [" } } "#),
            r#"{"b": [], "a": {"x, {": "\"y: ["}}"#
        );
        let long = "x".repeat(50);
        assert_eq!(
            pretty(&format!(r#"{{"b":"{long}","a":[1,{{"c":true}}]}}"#)),
            format!("{{\n  \"b\": \"{long}\",\n  \"a\": [1, {{\"c\": true}}]\n}}")
        );
    }

    #[test]
    fn a_hash_is_spelled_with_its_algorithm() {
        assert_eq!(
            hash(b""),
            "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }
}
