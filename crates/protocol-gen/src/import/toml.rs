//! TOML as a person would write it: tables, keys and inline tables as text. Knows no vocabulary.

use std::fmt::Write as _;

use super::MARKER;

/// A file that is being written.
#[derive(Default)]
pub(super) struct Text(String);

impl Text {
    /// Begins a table of the file.
    pub(super) fn table(&mut self, path: &[&str]) {
        self.0.push('\n');
        self.table_below(path);
    }

    /// Begins a table that belongs to the one before.
    pub(super) fn table_below(&mut self, path: &[&str]) {
        self.head("[", path, "]");
    }

    /// Begins an item of a list of tables.
    pub(super) fn item_below(&mut self, path: &[&str]) {
        self.head("[[", path, "]]");
    }

    fn head(&mut self, open: &str, path: &[&str], close: &str) {
        let path: Vec<String> = path.iter().map(|part| key(part)).collect();
        self.0.push_str(open);
        self.0.push_str(&path.join("."));
        self.0.push_str(close);
        self.0.push('\n');
    }

    /// A key, as TOML, and its value, as TOML.
    pub(super) fn key(&mut self, key: &str, value: &str) {
        self.0.push_str(key);
        self.0.push_str(" = ");
        self.0.push_str(value);
        self.0.push('\n');
    }

    /// The Rust name, where the derived one does not do.
    pub(super) fn rust(&mut self, name: Option<String>) {
        if let Some(name) = name {
            self.key("rust", &string(&name));
        }
    }

    /// Prose that a person has to write.
    pub(super) fn todo(&mut self, what: &str) {
        self.key("doc", &string(&format!("{MARKER}: {what}")));
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

/// An inline table that is being written.
#[derive(Default)]
pub(super) struct Inline(Vec<String>);

impl Inline {
    /// A key, as a name, and its value, as TOML.
    pub(super) fn key(&mut self, name: &str, value: &str) {
        self.0.push(format!("{} = {value}", key(name)));
    }

    pub(super) fn finish(self) -> String {
        format!("{{ {} }}", self.0.join(", "))
    }
}

/// A name as a key of TOML.
pub(super) fn key(name: &str) -> String {
    let bare = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if !name.is_empty() && name.bytes().all(bare) {
        name.to_owned()
    } else {
        string(name)
    }
}

/// A text as a string of TOML on one line.
pub(super) fn string(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => {
                let _ = write!(out, "\\U{:08X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A list of texts.
pub(super) fn list<'t>(texts: impl IntoIterator<Item = &'t String>) -> String {
    let texts: Vec<String> = texts.into_iter().map(|text| string(text)).collect();
    format!("[{}]", texts.join(", "))
}

/// An integer; one that 64 bits with a sign do not hold is a string of its digits.
pub(super) fn integer(value: i128) -> String {
    if i64::try_from(value).is_ok() {
        value.to_string()
    } else {
        string(&value.to_string())
    }
}
