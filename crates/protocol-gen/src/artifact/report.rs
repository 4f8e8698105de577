//! What a check found, as plain data for a person or a program. Knows no output format; those are
//! in `render`.

use serde::Serialize;

use super::{Difference, Obstacle, TextDifference, text_difference::TextLimits};

/// Everything in which the disk differs from the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Artifacts that were compared.
    pub artifacts: usize,
    /// What is wrong, sorted by path.
    pub findings: Vec<Finding>,
    /// Folders outside of the package that could not be read, so that nobody knows whether a
    /// generated file is left over in them. Not a fault in itself.
    pub unsearched: Vec<String>,
}

impl Report {
    pub(super) fn new(artifacts: usize, findings: Vec<Finding>, unsearched: Vec<String>) -> Self {
        Self {
            artifacts,
            findings,
            unsearched,
        }
    }

    /// Whether the disk equals the plan.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }
}

/// One path that is not as the plan has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// Path below the root, with `/` on every platform.
    pub path: String,
    /// What is wrong there.
    pub problem: Problem,
}

impl Finding {
    pub(super) fn new(path: impl Into<String>, problem: Problem) -> Self {
        Self {
            path: path.into(),
            problem,
        }
    }
}

/// What is wrong with one path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Problem {
    /// No file stands there.
    Missing {
        /// Size of the artifact.
        bytes: usize,
        /// How it starts, as a diff from nothing. Absent if it is empty or no text.
        content: Option<TextDifference>,
    },
    /// The file has other bytes.
    Stale {
        /// In what way.
        difference: Difference,
    },
    /// Something else stands in the way.
    Blocked {
        /// What.
        obstacle: Obstacle,
    },
    /// The file is not in the plan.
    Leftover {
        /// Whose it is.
        leftover: LeftoverKind,
        /// How it starts, as a diff to nothing. Absent if it is not ours, empty or no text.
        content: Option<TextDifference>,
    },
}

impl Problem {
    pub(super) fn missing(bytes: &[u8]) -> Self {
        let text = str::from_utf8(bytes).ok();
        let content = text.map(|text| TextDifference::between("", text, TextLimits::EXCERPT));
        Self::Missing {
            bytes: bytes.len(),
            content: content.filter(|content| !content.lines.is_empty()),
        }
    }

    /// Whether a write mends it; otherwise a person must move something first.
    pub fn is_mended_by_write(&self) -> bool {
        match self {
            Self::Missing { .. } | Self::Stale { .. } => true,
            Self::Blocked { .. } => false,
            Self::Leftover { leftover, .. } => match leftover {
                LeftoverKind::Owned | LeftoverKind::Staged => true,
                LeftoverKind::Foreign => false,
            },
        }
    }
}

/// Whose file a leftover is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LeftoverKind {
    /// An artifact that is no longer produced, by its name or its first line: a write removes it.
    Owned,
    /// Nothing says that it was generated, but it lies in the package folder: a write leaves it.
    Foreign,
    /// Staged by a run that was killed: a write removes it.
    Staged,
}
