//! The difference of two JSON documents as paths with old and new value: what a diff of one long
//! line cannot show. Knows JSON; knows no file.

use std::fmt::{self, Write as _};

use serde::Serialize;
use serde_json::{Map, Value};

use super::visible::{visible, window};

/// Paths shown: a screen.
const SHOWN_PATHS: usize = 20;

/// Characters shown of a value: one line.
const SHOWN_VALUE: usize = 120;

/// Characters shown of a member's name within a path.
const SHOWN_NAME: usize = 60;

/// How two JSON documents differ, cut to a bound.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct JsonDifference {
    /// What differs, in the order of the sorted documents.
    pub changes: Vec<JsonChange>,
    /// Changes that are not in `changes`.
    pub hidden_changes: usize,
}

/// One place at which two documents differ. The values are JSON, perhaps cut and then no longer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct JsonChange {
    /// Where, such as `$.hooks["session.start"][2]`. Of an element that was removed: the old index.
    pub path: String,
    /// The old value, unless the place is new.
    pub old: Option<String>,
    /// The new value, unless the place is gone.
    pub new: Option<String>,
}

impl JsonDifference {
    pub(super) fn between(old: &Value, new: &Value) -> Self {
        let mut difference = Self::default();
        difference.compare(&Path::Root, old, new);
        difference
    }

    /// Whether the documents mean the same.
    pub(super) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// One paragraph a change, with a last line that says how much is cut.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for JsonChange { path, old, new } in &self.changes {
            text.push_str(path);
            text.push('\n');
            for (sign, value) in [('-', old), ('+', new)] {
                if let Some(value) = value {
                    text.extend([" ", sign.encode_utf8(&mut [0; 4]), " ", value, "\n"]);
                }
            }
        }
        if self.hidden_changes > 0 {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "… {} more changes not shown", self.hidden_changes);
        }
        text
    }

    fn compare(&mut self, at: &Path<'_>, old: &Value, new: &Value) {
        match (old, new) {
            (Value::Object(old), Value::Object(new)) => self.compare_members(at, old, new),
            (Value::Array(old), Value::Array(new)) => self.compare_elements(at, old, new),
            _ if old == new => {}
            _ => self.push(at, Some(old), Some(new)),
        }
    }

    fn compare_members(
        &mut self,
        at: &Path<'_>,
        old: &Map<String, Value>,
        new: &Map<String, Value>,
    ) {
        // Sorted here, since the order of a map depends on a feature of serde_json.
        let mut names: Vec<_> = old.keys().chain(new.keys()).collect();
        names.sort();
        names.dedup();
        for name in names {
            let at = Path::Member(at, name);
            match (old.get(name), new.get(name)) {
                (Some(old), Some(new)) => self.compare(&at, old, new),
                (old, new) => self.push(&at, old, new),
            }
        }
    }

    /// Compares by position, but for what both have in common at the start and the end: an element
    /// that was put in or taken out does not make all behind it differ.
    fn compare_elements(&mut self, at: &Path<'_>, old: &[Value], new: &[Value]) {
        let (mut start, mut end) = (0, 0);
        if old.len() != new.len() {
            start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
            let tails = (old.iter().skip(start).rev()).zip(new.iter().skip(start).rev());
            end = tails.take_while(|(a, b)| a == b).count();
        }
        let (old, new) = (
            old.get(start..old.len() - end).unwrap_or_default(),
            new.get(start..new.len() - end).unwrap_or_default(),
        );
        for index in 0..old.len().max(new.len()) {
            let at = Path::Element(at, start + index);
            match (old.get(index), new.get(index)) {
                (Some(old), Some(new)) => self.compare(&at, old, new),
                (old, new) => self.push(&at, old, new),
            }
        }
    }

    fn push(&mut self, at: &Path<'_>, old: Option<&Value>, new: Option<&Value>) {
        if self.changes.len() == SHOWN_PATHS {
            self.hidden_changes += 1;
            return;
        }
        let (old, new) = shown_values(old, new);
        self.changes.push(JsonChange {
            path: at.to_string(),
            old,
            new,
        });
    }
}

/// Both values as text. Where they are long, the first difference is in view.
fn shown_values(old: Option<&Value>, new: Option<&Value>) -> (Option<String>, Option<String>) {
    let old = old.map(Value::to_string);
    let new = new.map(Value::to_string);
    let common = match (&old, &new) {
        (Some(old), Some(new)) => old
            .chars()
            .zip(new.chars())
            .take_while(|(a, b)| a == b)
            .count(),
        _ => 0,
    };
    let from = if common < SHOWN_VALUE {
        0
    } else {
        common - SHOWN_VALUE / 4
    };
    let shown = |text: String| window(&text, from, SHOWN_VALUE);
    (old.map(shown), new.map(shown))
}

/// The way from the root to a value.
enum Path<'a> {
    Root,
    Member(&'a Path<'a>, &'a str),
    Element(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("$"),
            Self::Element(above, index) => write!(f, "{above}[{index}]"),
            Self::Member(above, name) if is_word(name) => write!(f, "{above}.{name}"),
            Self::Member(above, name) => {
                let name = window(name, 0, SHOWN_NAME);
                write!(f, "{above}[{}]", visible(&Value::from(name).to_string()))
            }
        }
    }
}

/// Whether `name` can stand in a path without quotes.
fn is_word(name: &str) -> bool {
    name.len() <= SHOWN_NAME
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '$')
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$')
}
