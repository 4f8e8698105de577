//! A bounded unified diff between two texts. Knows lines; knows no file.

use std::fmt::Write as _;

use serde::Serialize;
use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};

use super::visible::window;

/// Unchanged lines around a change, as people know it from git.
const CONTEXT_LINES: usize = 3;

/// Lines of each text that are compared at most, counted behind the common start: the cost grows
/// with the square, and a reader is shown far fewer.
const COMPARED_LINES: usize = 4_000;

/// How much of a line stands before its first changed character when the line is too long.
const LEAD_COLUMNS: usize = 40;

/// How much of a diff is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextLimits {
    lines: usize,
    columns: usize,
}

impl TextLimits {
    /// For a stale file: a screen.
    pub(super) const DIFF: Self = Self {
        lines: 40,
        columns: 160,
    };

    /// For a file that is missing or left over: enough to know it again.
    pub(super) const EXCERPT: Self = Self {
        lines: 6,
        columns: 160,
    };
}

/// A unified diff, cut to a bound, with invisible characters made visible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TextDifference {
    /// Number of the first changed line in the old text, from 1.
    pub first_line: usize,
    /// Hunk headers and lines with their sign, no line ends.
    pub lines: Vec<String>,
    /// Changed lines that are not shown.
    pub hidden_changes: usize,
    /// Whether the texts are so different that `hidden_changes` is a lower bound.
    pub hidden_more: bool,
}

impl TextDifference {
    pub(super) fn between(old: &str, new: &str, limits: TextLimits) -> Self {
        let mut old: Vec<_> = old.split_inclusive('\n').collect();
        let mut new: Vec<_> = new.split_inclusive('\n').collect();
        let common = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let compared = common + COMPARED_LINES;
        let hidden_more = old.len() > compared || new.len() > compared;
        old.truncate(compared);
        new.truncate(compared);

        let ops = capture_diff_slices(Algorithm::Myers, &old, &new);
        let mut diff = Self {
            first_line: common + 1,
            lines: Vec::new(),
            hidden_changes: 0,
            hidden_more,
        };
        for hunk in group_diff_ops(ops, CONTEXT_LINES) {
            diff.push_hunk(&hunk, &old, &new, limits);
        }
        diff
    }

    /// The diff as one text, with a last line that says how much is cut.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for line in &self.lines {
            text.push_str(line);
            text.push('\n');
        }
        if self.hidden_changes > 0 || self.hidden_more {
            let at_least = if self.hidden_more { "at least " } else { "" };
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "… {at_least}{} more changed lines not shown",
                self.hidden_changes
            );
        }
        text
    }

    fn push_hunk(&mut self, hunk: &[DiffOp], old: &[&str], new: &[&str], limits: TextLimits) {
        let has_room = self.lines.len() + 1 < limits.lines;
        if has_room {
            self.lines.push(header(hunk));
        }
        for op in hunk {
            let removed = old.get(op.old_range()).unwrap_or_default();
            let added = new.get(op.new_range()).unwrap_or_default();
            if matches!(op, DiffOp::Equal { .. }) {
                for line in removed {
                    if has_room && self.lines.len() < limits.lines {
                        self.lines.push(shown(' ', line, 0, limits));
                    }
                }
                continue;
            }
            for (sign, lines, others) in [('-', removed, added), ('+', added, removed)] {
                for (index, line) in lines.iter().enumerate() {
                    if has_room && self.lines.len() < limits.lines {
                        let other = others.get(index).copied().unwrap_or_default();
                        self.lines
                            .push(shown(sign, line, common_start(line, other), limits));
                    } else {
                        self.hidden_changes += 1;
                    }
                }
            }
        }
    }
}

/// `@@ -1,3 +1,4 @@`
fn header(hunk: &[DiffOp]) -> String {
    let span = |start: usize, end: usize| match end - start {
        // An empty span is named by the line before it.
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        len => format!("{},{len}", start + 1),
    };
    let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else {
        return String::new();
    };
    format!(
        "@@ -{} +{} @@",
        span(first.old_range().start, last.old_range().end),
        span(first.new_range().start, last.new_range().end)
    )
}

/// One line of the diff. `change` is the first character that differs, so that it is in view.
fn shown(sign: char, line: &str, change: usize, limits: TextLimits) -> String {
    let (text, line_end) = match line.strip_suffix('\n') {
        Some(text) => (text, ""),
        None => (line, " (no line end)"),
    };
    let from = if change < limits.columns {
        0
    } else {
        change - LEAD_COLUMNS
    };
    let mut shown = String::from(sign);
    let bare = if sign == ' ' {
        text
    } else {
        text.trim_end_matches(' ')
    };
    if bare.len() == text.len() {
        shown.push_str(&window(text, from, limits.columns));
    } else {
        // Blanks at the end of a changed line may be the whole change.
        let dots = format!("{bare}{}", "·".repeat(text.len() - bare.len()));
        shown.push_str(&window(&dots, from, limits.columns));
    }
    shown.push_str(line_end);
    shown
}

/// Characters that both start with.
fn common_start(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}
