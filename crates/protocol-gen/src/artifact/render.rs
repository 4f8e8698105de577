//! A report as text for a person, JSON for a program, and annotations for a code host. Knows the
//! formats; looks at no file.

use std::fmt::{self, Write as _};

use serde::Serialize;

use super::{
    Difference, Finding, LeftoverKind, Problem, Report,
    visible::{visible, visible_lines},
};
use crate::github::{escape_data, escape_property};

/// Version of the JSON form. Raised when a member is renamed, removed or means something else.
const JSON_VERSION: u32 = 1;

/// The JSON form.
#[derive(Serialize)]
struct JsonReport<'a> {
    version: u32,
    clean: bool,
    command: &'a str,
    artifacts: usize,
    findings: &'a [Finding],
    unsearched: &'a [String],
}

impl Report {
    /// For a person: each file, the reason and the diff; ends with what to do. `command` is what
    /// they type to write the artifacts.
    pub fn to_text(&self, command: &str) -> String {
        let mut text = String::new();
        for Finding { path, problem } in &self.findings {
            // Here and below: writing to a string cannot fail.
            let _ = writeln!(text, "{}: {}", visible(path), Headline(problem));
            for line in detail(path, problem).lines() {
                let _ = writeln!(text, "    {line}");
            }
            text.push('\n');
        }
        for folder in &self.unsearched {
            let folder = visible(folder);
            let _ = writeln!(
                text,
                "note: `{folder}` cannot be read, so it is not searched for leftover files"
            );
        }
        text.push_str(&self.conclusion(command));
        text
    }

    /// For a program: one line of JSON, with a `version`.
    ///
    /// # Panics
    ///
    /// Never: a report is made of texts and numbers, which JSON can always hold.
    pub fn to_json(&self, command: &str) -> String {
        let report = JsonReport {
            version: JSON_VERSION,
            clean: self.is_clean(),
            command,
            artifacts: self.artifacts,
            findings: &self.findings,
            unsearched: &self.unsearched,
        };
        let mut json =
            serde_json::to_string(&report).expect("a report is made of texts and numbers");
        json.push('\n');
        json
    }

    /// For a code host that reads workflow commands from the log: one annotation a finding, then
    /// the conclusion as a plain line.
    pub fn to_github(&self, command: &str) -> String {
        let mut text = String::new();
        for Finding { path, problem } in &self.findings {
            let mut message = format!("{}\n{}", Headline(problem), detail(path, problem));
            message.push_str(&hint(problem.is_mended_by_write(), command));
            let line = match problem {
                Problem::Stale { difference } => difference.first_line(),
                Problem::Missing { .. } | Problem::Blocked { .. } | Problem::Leftover { .. } => {
                    None
                }
            };
            let line = line.map(|line| format!(",line={line}")).unwrap_or_default();
            let _ = writeln!(
                text,
                "::error file={}{line},title={}::{}",
                escape_property(path),
                escape_property(title(problem)),
                escape_data(message.trim_end()),
            );
        }
        text.push_str(&self.conclusion(command));
        text
    }

    fn conclusion(&self, command: &str) -> String {
        if self.is_clean() {
            return format!("{} up to date\n", count(self.artifacts));
        }
        let is_mended_by_write = self
            .findings
            .iter()
            .all(|finding| finding.problem.is_mended_by_write());
        format!(
            "error: {} out of date\n{}",
            count(self.findings.len()),
            hint(is_mended_by_write, command)
        )
    }
}

fn count(files: usize) -> String {
    match files {
        1 => "1 generated file is".to_owned(),
        files => format!("{files} generated files are"),
    }
}

fn hint(is_mended_by_write: bool, command: &str) -> String {
    if is_mended_by_write {
        format!("hint: run `{command}` and commit the result\n")
    } else {
        format!(
            "hint: move or mend what is in the way, then run `{command}` and commit the result\n"
        )
    }
}

fn title(problem: &Problem) -> &'static str {
    match problem {
        Problem::Missing { .. } => "generated file is missing",
        Problem::Stale { .. } => "generated file is stale",
        Problem::Blocked { .. } => "generated file is blocked",
        Problem::Leftover { leftover, .. } => match leftover {
            LeftoverKind::Owned => "generated file is left over",
            LeftoverKind::Foreign => "file among generated files",
            LeftoverKind::Staged => "staged file is left over",
        },
    }
}

/// What is wrong, in one line.
struct Headline<'a>(&'a Problem);

impl fmt::Display for Headline<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Problem::Missing { bytes, .. } => write!(f, "missing ({bytes} bytes)"),
            Problem::Blocked { obstacle } => {
                write!(f, "blocked: {}", visible(&obstacle.to_string()))
            }
            Problem::Leftover { leftover, .. } => f.write_str(match leftover {
                LeftoverKind::Owned => "left over: it is no longer generated",
                LeftoverKind::Foreign => {
                    "left over: nothing says that it was generated; move it out of this folder or \
                     delete it"
                }
                LeftoverKind::Staged => "left over: a run was killed before it put it in place",
            }),
            Problem::Stale { difference } => match difference {
                Difference::Text {
                    line_ends_too: false,
                    ..
                } => f.write_str("stale: the text differs"),
                Difference::Text { .. } => {
                    f.write_str("stale: the text differs, and it has CRLF line ends")
                }
                Difference::Json { .. } => f.write_str("stale: JSON values differ"),
                Difference::JsonSpelling { offset, .. } => write!(
                    f,
                    "stale: the same JSON values, but not the same bytes from byte {offset} on"
                ),
                Difference::JsonInvalid { error, offset, .. } => write!(
                    f,
                    "stale: it is no valid JSON ({}) and differs from byte {offset} on",
                    visible(error)
                ),
                Difference::LineEnds { .. } => {
                    f.write_str("stale: only line ends differ, CRLF instead of LF")
                }
                Difference::LastNewline { old, new } => write!(
                    f,
                    "stale: only the last newline differs, it ends with {old} instead of {new}"
                ),
                Difference::ByteOrderMark => {
                    f.write_str("stale: only a byte order mark at the start differs")
                }
                Difference::Binary {
                    offset,
                    old_bytes,
                    new_bytes,
                } => write!(
                    f,
                    "stale: it is not UTF-8 and differs from byte {offset} on ({old_bytes} bytes \
                     instead of {new_bytes})"
                ),
            },
        }
    }
}

/// Lines that show what the headline tells; ends with a line feed unless empty.
fn detail(path: &str, problem: &Problem) -> String {
    let path = visible(path);
    let mut text = String::new();
    let _ = match problem {
        Problem::Missing {
            content: Some(diff),
            ..
        } => write!(
            text,
            "--- /dev/null\n+++ {path} (generated)\n{}",
            diff.to_text()
        ),
        Problem::Leftover {
            content: Some(diff),
            ..
        } => write!(
            text,
            "--- {path} (on disk)\n+++ /dev/null\n{}",
            diff.to_text()
        ),
        Problem::Missing { content: None, .. }
        | Problem::Leftover { content: None, .. }
        | Problem::Blocked { .. } => Ok(()),
        Problem::Stale { difference } => match difference {
            Difference::Text { diff, .. } => write!(
                text,
                "--- {path} (on disk)\n+++ {path} (generated)\n{}",
                diff.to_text()
            ),
            Difference::Json { diff } => write!(text, "{}", diff.to_text()),
            Difference::JsonSpelling { old, new, .. }
            | Difference::JsonInvalid { old, new, .. } => {
                writeln!(text, "on disk:   {old}\ngenerated: {new}")
            }
            Difference::LineEnds { advice } => writeln!(text, "{}", advice.text()),
            Difference::LastNewline { .. }
            | Difference::ByteOrderMark
            | Difference::Binary { .. } => Ok(()),
        },
    };
    visible_lines(&text).into_owned()
}
