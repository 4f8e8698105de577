//! From wire names to Rust names, by one documented rule. Knows no definition.
//!
//! Words are split where a character is not an ASCII letter or digit and where the case changes; a
//! run of capitals is one word (`UIPublishParams` is `Ui`, `Publish`, `Params`). They are joined in
//! the case of the position. A keyword gets a trailing underscore (`type_`), a name that begins
//! with a digit an `N` in front (`1st` is `N1st`, as a field `n_1st`), and in an enum a sign before
//! a digit is spelled out (`+1` is `Plus1`). An empty enum value is `Empty`.

/// The Rust name of a type, an enum value, a method, a hook or an error: `UpperCamelCase`.
pub(crate) fn upper_camel(wire: &str) -> Option<String> {
    let signed = spell_sign(wire);
    let mut name = String::new();
    for word in words(&signed) {
        let mut chars = word.chars();
        if let Some(first) = chars.next() {
            // Two numbers side by side would read as one.
            if first.is_ascii_digit() && name.ends_with(|c: char| c.is_ascii_digit()) {
                name.push('_');
            }
            name.push(first.to_ascii_uppercase());
            name.extend(chars.map(|c| c.to_ascii_lowercase()));
        }
    }
    finish(name, "N")
}

/// The Rust name of an enum value.
pub(crate) fn variant(wire: &str) -> Option<String> {
    if wire.is_empty() {
        return Some("Empty".to_owned());
    }
    upper_camel(wire)
}

/// The Rust name of a field or a module: `snake_case`.
pub(crate) fn snake(wire: &str) -> Option<String> {
    finish(
        words(wire).collect::<Vec<_>>().join("_").to_lowercase(),
        "n_",
    )
}

/// The Rust name of a constant: `SCREAMING_SNAKE_CASE`.
pub(crate) fn screaming_snake(wire: &str) -> Option<String> {
    finish(
        words(wire).collect::<Vec<_>>().join("_").to_uppercase(),
        "N_",
    )
}

/// Whether `name` can stand as a Rust identifier of any kind as it is.
pub(crate) fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.trim_matches('_').is_empty()
        && !is_keyword(name)
}

/// Keywords of edition 2024, strict and reserved, and those that cannot be raw identifiers.
pub(crate) fn is_keyword(name: &str) -> bool {
    matches!(
        name,
        "abstract"
            | "as"
            | "async"
            | "await"
            | "become"
            | "box"
            | "break"
            | "const"
            | "continue"
            | "crate"
            | "do"
            | "dyn"
            | "else"
            | "enum"
            | "extern"
            | "false"
            | "final"
            | "fn"
            | "for"
            | "gen"
            | "if"
            | "impl"
            | "in"
            | "let"
            | "loop"
            | "macro"
            | "match"
            | "mod"
            | "move"
            | "mut"
            | "override"
            | "priv"
            | "pub"
            | "ref"
            | "return"
            | "self"
            | "Self"
            | "static"
            | "struct"
            | "super"
            | "trait"
            | "true"
            | "try"
            | "type"
            | "typeof"
            | "unsafe"
            | "unsized"
            | "use"
            | "virtual"
            | "where"
            | "while"
            | "yield"
    )
}

fn finish(name: String, before_digit: &str) -> Option<String> {
    let first = name.chars().next()?;
    Some(if first.is_ascii_digit() {
        format!("{before_digit}{name}")
    } else if is_keyword(&name) {
        format!("{name}_")
    } else {
        name
    })
}

fn spell_sign(wire: &str) -> String {
    let mut chars = wire.chars();
    let sign = chars.next();
    let rest = chars.as_str();
    match sign {
        Some('+') if rest.starts_with(|c: char| c.is_ascii_digit()) => format!("plus{rest}"),
        Some('-') if rest.starts_with(|c: char| c.is_ascii_digit()) => format!("minus{rest}"),
        _ => wire.to_owned(),
    }
}

fn words(wire: &str) -> impl Iterator<Item = &str> {
    wire.split(|c: char| !c.is_ascii_alphanumeric())
        .flat_map(case_words)
}

/// Splits a run of letters and digits where the case changes: before a capital that follows a small
/// letter or a digit, and before the last capital of a run that a small letter follows.
fn case_words(run: &str) -> impl Iterator<Item = &str> {
    let bytes = run.as_bytes();
    let mut cuts = vec![0];
    for (index, pair) in bytes.windows(2).enumerate() {
        let [before, here] = [pair.first(), pair.last()].map(|b| b.copied().unwrap_or_default());
        let after = bytes.get(index + 2).copied().unwrap_or_default();
        let starts = here.is_ascii_uppercase()
            && (!before.is_ascii_uppercase() || after.is_ascii_lowercase());
        if starts {
            cuts.push(index + 1);
        }
    }
    cuts.push(run.len());
    let ends = cuts.clone().into_iter().skip(1);
    cuts.into_iter()
        .zip(ends)
        .filter_map(move |(start, end)| run.get(start..end))
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{is_keyword, screaming_snake, snake, upper_camel, variant};

    #[track_caller]
    fn check(wire: &str, camel: &str, snake_case: &str) {
        assert_eq!(upper_camel(wire).as_deref(), Some(camel), "{wire:?}");
        assert_eq!(snake(wire).as_deref(), Some(snake_case), "{wire:?}");
    }

    #[test]
    fn words_are_split_at_case_changes_and_acronyms_are_words() {
        check("UIPublishParams", "UiPublishParams", "ui_publish_params");
        check("protocolID", "ProtocolId", "protocol_id");
        check("dataBase64", "DataBase64", "data_base64");
        check("sha256", "Sha256", "sha256");
        check("reasoning_content", "ReasoningContent", "reasoning_content");
        check(
            "extension/ui/action",
            "ExtensionUiAction",
            "extension_ui_action",
        );
        check("tool.before", "ToolBefore", "tool_before");
        check("URLPath", "UrlPath", "url_path");
        check("a-b", "AB", "a_b");
        check("x2d4Y", "X2d4Y", "x2d4_y");
    }

    #[test]
    fn a_keyword_gets_a_trailing_underscore() {
        for (wire, field) in [
            ("type", "type_"),
            ("ref", "ref_"),
            ("self", "self_"),
            ("Self", "self_"),
            ("crate", "crate_"),
            ("async", "async_"),
            ("gen", "gen_"),
            ("try", "try_"),
        ] {
            assert_eq!(snake(wire).as_deref(), Some(field), "{wire}");
        }
        assert_eq!(variant("self").as_deref(), Some("Self_"));
        assert!(is_keyword("yield"));
    }

    #[test]
    fn a_name_that_begins_with_a_digit_or_sign_is_spelled_out() {
        for (wire, name) in [
            ("1st", "N1st"),
            ("32bit", "N32bit"),
            ("4", "N4"),
            ("+1", "Plus1"),
            ("-1", "Minus1"),
            ("", "Empty"),
            ("1.5", "N1_5"),
            ("v1.5", "V1_5"),
        ] {
            assert_eq!(variant(wire).as_deref(), Some(name), "{wire:?}");
        }
        assert_eq!(snake("1st").as_deref(), Some("n_1st"));
        assert_eq!(
            screaming_snake("frameBytes").as_deref(),
            Some("FRAME_BYTES")
        );
    }

    #[test]
    fn no_name_is_made_of_nothing() {
        for wire in ["_", "$", "--", "+"] {
            assert_eq!(variant(wire), None, "{wire:?}");
            assert_eq!(snake(wire), None, "{wire:?}");
        }
    }
}
