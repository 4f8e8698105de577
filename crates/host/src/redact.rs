//! Takes what looks like a credential out of a stranger's text. Knows no protocol.
//!
//! Whatever a sidecar wrote passes here before a person or a log sees it: peer error texts, reasons,
//! standard error, the texts of surfaces. [`text`] leaves Markdown, identifiers and ordinary words as they
//! are. [`diagnostics`] also takes out what is only shaped like a key, such as a long token of digits and
//! letters; it is for logs and start errors, where a lost identifier costs less than a leaked one.
//!
//! Both give valid UTF-8 and change nothing when they are applied to their own output.

use std::{borrow::Cow, sync::LazyLock};

use regex_lite::{Captures, Regex};

/// Stands for a credential of any length.
const MASK: &str = "****";
/// Stands for a credential whose presence alone is said.
const REDACTED: &str = "[redacted]";
/// Up to this many characters a value is a word rather than a key.
const SHORT: usize = 12;

/// Takes credentials out of a text for people.
pub fn text(text: &str) -> String {
    settled(text, once)
}

/// Applies passes until they change nothing: what one masks may complete a shape that another knows.
fn settled(text: &str, passes: fn(&str) -> String) -> String {
    /// Each round masks more, so it ends by itself; the bound is for texts that are made to try.
    const ROUNDS: usize = 16;

    let mut text = passes(text);
    for _ in 0..ROUNDS {
        let next = passes(&text);
        if next == text {
            break;
        }
        text = next;
    }
    text
}

fn once(text: &str) -> String {
    let mut text = Cow::Borrowed(text);
    for pass in &*PASSES {
        text = Cow::Owned(pass.apply(&text));
    }
    let text = pairs(&text);
    PROSE.apply(&text)
}

/// Takes credentials, and what is only shaped like one, out of a text for diagnostics.
pub fn diagnostics(text: &str) -> String {
    settled(text, once_for_diagnostics)
}

fn once_for_diagnostics(text: &str) -> String {
    let text = once(text);
    OPAQUE
        .replace_all(&text, |found: &Captures<'_>| {
            let token = &found[0];
            let has = |kind: fn(&u8) -> bool| token.as_bytes().iter().any(kind);
            let mixed = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
            if has(u8::is_ascii_digit) || mixed {
                MASK.to_owned()
            } else {
                token.to_owned()
            }
        })
        .into_owned()
}

/// A stranger's text for people: without credentials and control characters.
pub(crate) fn message(text: &str) -> String {
    visible(&self::text(text))
}

/// A stranger's text for logs and errors: without credentials, what is only shaped like one, and control
/// characters.
pub(crate) fn shown(text: &str) -> String {
    visible(&diagnostics(text))
}

/// The beginning of what [`shown`] gives.
pub(crate) fn excerpt(text: &str) -> String {
    /// Characters: enough to recognize a line.
    const MOST: usize = 200;

    let text = shown(text);
    let mut excerpt: String = text.chars().take(MOST).collect();
    if text.chars().nth(MOST).is_some() {
        excerpt.push('…');
    }
    excerpt
}

/// Makes control characters visible, for a terminal would obey them. Line feeds and tabs stay.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() && !matches!(c, '\n' | '\t') {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// A pattern and what its match becomes.
struct Pass {
    pattern: Regex,
    becomes: &'static str,
}

impl Pass {
    fn new(pattern: &str, becomes: &'static str) -> Self {
        #[expect(clippy::expect_used, reason = "every pattern is compiled by a test")]
        let pattern = Regex::new(pattern).expect("the pattern is sound");
        Self { pattern, becomes }
    }

    fn apply(&self, text: &str) -> String {
        self.pattern.replace_all(text, self.becomes).into_owned()
    }
}

/// What a credential is by its own shape, or by what stands around it on a line of HTTP.
static PASSES: LazyLock<Vec<Pass>> = LazyLock::new(|| {
    vec![
        // A block without its end is cut off, not harmless.
        Pass::new(
            r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)",
            REDACTED,
        ),
        Pass::new(r"(?i)\b([a-z][a-z0-9+.-]*://)[^/\s]*@", "${1}[redacted]@"),
        Pass::new(r"(?i)\bbearer\s+[a-z0-9._~+/=-]{16,}", "Bearer [redacted]"),
        Pass::new(
            r"\b(?:sk|rk)[-_](?:proj-|live_|test_|ant-)?[A-Za-z0-9_-]{8,}",
            MASK,
        ),
        Pass::new(r"\b(?:gh[pousr]_|github_pat_)[A-Za-z0-9_]{20,}", MASK),
        Pass::new(r"\bxox[baprs]-[A-Za-z0-9-]{16,}", MASK),
        Pass::new(
            r"\b(?:glpat-|npm_|pypi-|hf_|dop_v1_)[A-Za-z0-9_-]{16,}",
            MASK,
        ),
        Pass::new(r"\bAIza[A-Za-z0-9_-]{30,}", MASK),
        Pass::new(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b", MASK),
        Pass::new(r"\beyJ[A-Za-z0-9_-]*\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+", MASK),
        // The end of a masked one that some other tool left.
        Pass::new(r"\*{4,}[A-Za-z0-9._-]+", MASK),
    ]
});

/// A keyword in a sentence, and what follows it: behind `:` or `=` anything of some length, behind a space
/// what has a digit or an underscore or mixed case, so that words stay.
static PROSE: LazyLock<Prose> = LazyLock::new(Prose::new);

struct Prose(Regex);

impl Prose {
    fn new() -> Self {
        let pattern = r"(?i)\b((?:api[ _-]?keys?|access[ _-]?keys?|secrets?|tokens?|credentials?)['\x22]?)(\s*[:=]\s*['\x22]?|\s+['\x22]?)([a-z0-9._~+/-]{12,})";
        #[expect(clippy::expect_used, reason = "every pattern is compiled by a test")]
        Self(Regex::new(pattern).expect("the pattern is sound"))
    }

    fn apply(&self, text: &str) -> String {
        let masked = self.0.replace_all(text, |found: &Captures<'_>| {
            let (keyword, between, value) = (&found[1], &found[2], &found[3]);
            let has = |kind: fn(&u8) -> bool| value.as_bytes().iter().any(kind);
            let random = has(u8::is_ascii_digit)
                || has(|byte| *byte == b'_')
                || (has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase));
            if random || between.contains([':', '=']) {
                format!("{keyword}{between}{MASK}")
            } else {
                found[0].to_owned()
            }
        });
        masked.into_owned()
    }
}

/// What is only shaped like a key.
static OPAQUE: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "every pattern is compiled by a test")]
    Regex::new(r"[A-Za-z0-9_-]{16,}").expect("the pattern is sound")
});

/// Masks the values of pairs whose key says that they are secret: `API_KEY=…`, `"password": "…"`, cookies.
fn pairs(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find([':', '=']) {
        let (before, after) = rest.split_at(at);
        let key = key_before(before);
        out.push_str(before);
        let (sign, after) = after.split_at(1);
        out.push_str(sign);
        rest = after;
        if is_cookie(key) {
            rest = cookies(after, &mut out);
        } else if is_secret(key) {
            rest = value(key, after, &mut out);
        }
    }
    out.push_str(rest);
    out
}

/// The key that ends a text, without the quote and the space behind it.
fn key_before(before: &str) -> &str {
    let before = before.trim_end();
    let before = before.strip_suffix(['"', '\'', '`']).unwrap_or(before);
    let in_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let start = before.trim_end_matches(in_key).len();
    before.get(start..).unwrap_or_default()
}

fn is_cookie(key: &str) -> bool {
    key.eq_ignore_ascii_case("cookie") || key.eq_ignore_ascii_case("set-cookie")
}

fn is_secret(key: &str) -> bool {
    let upper = key.to_ascii_uppercase();
    let plain: String = upper.chars().filter(|c| !matches!(c, '_' | '-')).collect();
    let has = |text: &str, words: &[&str]| words.iter().any(|word| text.contains(word));
    is_authorization(&upper)
        || has(&plain, &["APIKEY", "ACCESSKEY", "PRIVATEKEY"])
        || has(
            &upper,
            &[
                "SECRET",
                "TOKEN",
                "PASSWORD",
                "PASSWD",
                "PASSPHRASE",
                "_PWD",
                "-PWD",
            ],
        )
}

fn is_authorization(upper: &str) -> bool {
    upper == "AUTHORIZATION"
        || ["-AUTHORIZATION", "_AUTHORIZATION", ".AUTHORIZATION"]
            .iter()
            .any(|end| upper.ends_with(end))
}

/// Writes a secret value masked; gives what stands behind it.
fn value<'a>(key: &str, after: &'a str, out: &mut String) -> &'a str {
    let blank = after.len() - after.trim_start_matches([' ', '\t']).len();
    let (space, after) = after.split_at(blank);
    out.push_str(space);
    let quote = after
        .chars()
        .next()
        .filter(|c| matches!(c, '"' | '\'' | '`'));
    let body = match quote {
        Some(quote) => {
            out.push(quote);
            after.get(1..).unwrap_or_default()
        }
        None => after,
    };
    let end = match quote {
        Some(quote) => end_of_quoted(body, quote),
        None => body
            .find(|c: char| {
                c.is_whitespace()
                    || matches!(
                        c,
                        '"' | '\'' | '`' | ',' | ';' | '&' | ')' | ']' | '}' | '<'
                    )
            })
            .unwrap_or(body.len()),
    };
    let (secret, behind) = body.split_at(end);
    // The scheme says nothing; the word behind it does.
    let is_scheme = SCHEMES
        .iter()
        .any(|scheme| secret.eq_ignore_ascii_case(scheme));
    if is_scheme && behind.starts_with([' ', '\t']) {
        out.push_str(secret);
        return value(key, behind, out);
    }
    out.push_str(&masked(key, secret));
    behind
}

/// What stands before a credential in a header.
const SCHEMES: [&str; 8] = [
    "bearer",
    "basic",
    "digest",
    "negotiate",
    "ntlm",
    "token",
    "bot",
    "apikey",
];

fn end_of_quoted(body: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in body.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            // A quote that is never closed ends with its line.
            '\n' => return at,
            c if c == quote => return at,
            _ => {}
        }
    }
    body.len()
}

fn masked(key: &str, secret: &str) -> Cow<'static, str> {
    let is_masked = secret.is_empty()
        || secret.contains(MASK)
        || secret.contains(REDACTED)
        || secret == "[redacted";
    // `max_tokens=4096` counts; it opens nothing.
    let counts = key.to_ascii_uppercase().contains("TOKENS")
        && secret
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, '.' | '_'));
    if is_masked || counts {
        Cow::Owned(secret.to_owned())
    } else if secret.chars().count() <= SHORT || is_authorization(&key.to_ascii_uppercase()) {
        Cow::Borrowed(REDACTED)
    } else {
        Cow::Borrowed(MASK)
    }
}

/// Writes the cookies of a header with their values masked; gives what stands behind the line.
fn cookies<'a>(after: &'a str, out: &mut String) -> &'a str {
    let end = after.find(['\n', '\r', '"', '\'']).unwrap_or(after.len());
    let (line, behind) = after.split_at(end);
    for (index, part) in line.split(';').enumerate() {
        if index > 0 {
            out.push(';');
        }
        match part.split_once('=') {
            Some((name, _)) => {
                out.push_str(name);
                out.push('=');
                out.push_str(REDACTED);
            }
            None => out.push_str(part),
        }
    }
    behind
}

#[cfg(test)]
mod tests;
