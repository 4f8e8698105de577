//! In what way the bytes of a stale file differ from the generated ones. Names the causes that no
//! diff shows: line ends, the last newline, a byte order mark. Knows bytes; reads no artifact.

use std::{fs, path::Path};

use serde::Serialize;
use serde_json::Value;

use super::{JsonDifference, TextDifference, text_difference::TextLimits, visible::window};

/// Bytes shown on each side of the first difference in a file of one line.
const EXCERPT_CHARS: usize = 60;

/// How the file on disk (old) differs from the artifact (new).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "difference", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Difference {
    /// Lines differ.
    Text {
        /// Which.
        diff: TextDifference,
        /// Whether the old file also has CRLF line ends; `diff` leaves that out.
        line_ends_too: bool,
    },
    /// Values of a JSON document of one line differ.
    Json {
        /// Which.
        diff: JsonDifference,
    },
    /// Two JSON documents have the same values but not the same bytes: white space, the order of
    /// members, a member named twice, or another spelling of a number or string.
    JsonSpelling {
        /// Offset of the first byte that differs.
        offset: usize,
        /// The old text from shortly before there.
        old: String,
        /// The new text from shortly before there.
        new: String,
    },
    /// The old file is no JSON.
    JsonInvalid {
        /// What the parser said.
        error: String,
        /// Offset of the first byte that differs.
        offset: usize,
        /// The old text from shortly before there.
        old: String,
        /// The new text from shortly before there.
        new: String,
    },
    /// The old file has CRLF where the artifact has LF.
    LineEnds {
        /// What mends it for good.
        advice: LineEndAdvice,
    },
    /// One ends with a newline where the other does not, or with more of them.
    LastNewline {
        /// Newlines at the end of the old file.
        old: usize,
        /// Newlines at the end of the artifact.
        new: usize,
    },
    /// The old file starts with a byte order mark.
    ByteOrderMark,
    /// The old file is not UTF-8.
    Binary {
        /// Offset of the first byte that differs.
        offset: usize,
        /// Bytes of the old file.
        old_bytes: usize,
        /// Bytes of the artifact.
        new_bytes: usize,
    },
}

/// How CRLF line ends are kept away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LineEndAdvice {
    /// Nothing pins line ends: git converts them on checkout.
    Pin,
    /// `.gitattributes` pins LF, so the file was checked out before that or written by a tool.
    Renormalize,
}

impl LineEndAdvice {
    /// The advice for files below `root`, by its `.gitattributes`.
    pub(super) fn for_root(root: &Path) -> Self {
        let attributes = fs::read_to_string(root.join(".gitattributes")).unwrap_or_default();
        let pins = attributes
            .lines()
            .filter(|line| !line.trim_start().starts_with('#'))
            .flat_map(|line| line.split_whitespace().skip(1))
            .any(|attribute| matches!(attribute, "eol=lf" | "-text" | "binary"));
        if pins { Self::Renormalize } else { Self::Pin }
    }

    /// One sentence for a person.
    pub fn text(self) -> &'static str {
        match self {
            Self::Pin => {
                "git converts line ends on checkout: run `git config core.autocrlf false`, or pin \
                 the generated files with `text eol=lf` in `.gitattributes` and run \
                 `git add --renormalize .`"
            }
            Self::Renormalize => {
                "`.gitattributes` pins LF, so this file is older than that rule or a tool rewrote \
                 it: write it anew, then run `git add --renormalize .`"
            }
        }
    }
}

impl Difference {
    /// Compares two contents that are not equal.
    pub(super) fn between(path: &str, old: &[u8], new: &[u8], advice: LineEndAdvice) -> Self {
        let (Ok(old_text), Ok(new_text)) = (str::from_utf8(old), str::from_utf8(new)) else {
            return Self::Binary {
                offset: first_difference(old, new),
                old_bytes: old.len(),
                new_bytes: new.len(),
            };
        };
        if old_text.strip_prefix('\u{FEFF}') == Some(new_text) {
            return Self::ByteOrderMark;
        }
        let unix = old_text.replace("\r\n", "\n");
        if unix == new_text {
            return Self::LineEnds { advice };
        }
        let (old_body, new_body) = (unix.trim_end_matches('\n'), new_text.trim_end_matches('\n'));
        if old_body == new_body && unix.len() == old_text.len() {
            return Self::LastNewline {
                old: unix.len() - old_body.len(),
                new: new_text.len() - new_body.len(),
            };
        }
        let is_json = Path::new(path)
            .extension()
            .is_some_and(|extension| extension == "json");
        if is_json
            && !new_body.contains('\n')
            && let Ok(new_value) = serde_json::from_str(new_text)
        {
            return Self::between_json(old_text, new_text, &new_value);
        }
        Self::Text {
            line_ends_too: unix.len() != old_text.len(),
            diff: TextDifference::between(&unix, new_text, TextLimits::DIFF),
        }
    }

    /// Number of the first line of the old file that differs, where lines mean something.
    pub fn first_line(&self) -> Option<usize> {
        match self {
            Self::Text { diff, .. } => Some(diff.first_line),
            Self::ByteOrderMark
            | Self::LineEnds { .. }
            | Self::Json { .. }
            | Self::JsonSpelling { .. }
            | Self::JsonInvalid { .. } => Some(1),
            Self::LastNewline { .. } | Self::Binary { .. } => None,
        }
    }

    fn between_json(old: &str, new: &str, new_value: &Value) -> Self {
        let offset = first_difference(old.as_bytes(), new.as_bytes());
        let excerpt = |text: &str| {
            let chars = text
                .char_indices()
                .take_while(|(index, _)| *index < offset)
                .count();
            window(text, chars.saturating_sub(EXCERPT_CHARS / 2), EXCERPT_CHARS)
        };
        match serde_json::from_str(old) {
            Ok(old_value) => match JsonDifference::between(&old_value, new_value) {
                diff if diff.is_empty() => Self::JsonSpelling {
                    offset,
                    old: excerpt(old),
                    new: excerpt(new),
                },
                diff => Self::Json { diff },
            },
            Err(error) => Self::JsonInvalid {
                error: error.to_string(),
                offset,
                old: excerpt(old),
                new: excerpt(new),
            },
        }
    }
}

fn first_difference(old: &[u8], new: &[u8]) -> usize {
    old.iter().zip(new).take_while(|(a, b)| a == b).count()
}
