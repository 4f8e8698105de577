//! Definition files as text, and places in them. Knows no TOML.

use std::{fs, io, path::Path};

/// One definition file.
#[derive(Clone, Debug)]
pub struct Source {
    /// Path below the root, with `/` on every platform.
    pub path: String,
    /// The content, line ends as LF.
    text: String,
    /// Offset of the first byte of each line, so that a place is found without a walk through the text.
    lines: Vec<usize>,
    /// What is wrong with the bytes, if anything.
    pub(crate) damage: Option<Damage>,
}

/// What makes a file unfit to be read as definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Damage {
    /// It begins with a byte order mark.
    ByteOrderMark,
    /// The byte at this offset begins no UTF-8 character.
    NotUtf8(usize),
}

/// A place in a definition file: a range of bytes of its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct At {
    /// Index of the file among the sources.
    pub file: u32,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// A value and where it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Where it was written.
    pub at: At,
}

impl Source {
    /// Takes the bytes of a file. `\r\n` reads as `\n`, so that a checkout with other line ends
    /// changes no output; lines and columns stay the same.
    pub fn new(path: impl Into<String>, bytes: &[u8]) -> Self {
        let (text, damage) = match std::str::from_utf8(bytes) {
            Ok(text) if text.starts_with('\u{feff}') => {
                (text.to_owned(), Some(Damage::ByteOrderMark))
            }
            Ok(text) => (text.to_owned(), None),
            Err(error) => (
                String::from_utf8_lossy(bytes).into_owned(),
                Some(Damage::NotUtf8(error.valid_up_to())),
            ),
        };
        let path = path.into();
        // Offsets of damage come before any line end is folded, so fold only what is sound.
        let text = if damage.is_none() {
            text.replace("\r\n", "\n")
        } else {
            text
        };
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(ends).collect();
        Self {
            path,
            text,
            lines,
            damage,
        }
    }

    /// The content, line ends as LF.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Line and column, in characters, of the byte at an offset; both count from 1. An offset beyond
    /// the text is at its end.
    pub(crate) fn line_and_column(&self, offset: usize) -> (usize, usize) {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.lines.partition_point(|start| *start <= offset);
        let start = line.checked_sub(1).and_then(|line| self.lines.get(line));
        let before = start.and_then(|start| self.text.get(*start..offset));
        (line, before.unwrap_or_default().chars().count() + 1)
    }
}

/// Name of the folder, below the root, that holds one folder of definitions a major version.
pub const DEFINITIONS: &str = "schema";

/// Why the definition files cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The folder of definitions is missing or is not the only one.
    #[error("find the definitions below `{root}`: {reason}")]
    Find {
        /// The root that was given.
        root: String,
        /// What was found instead.
        reason: String,
    },
    /// A file or folder cannot be read.
    #[error("read `{path}`")]
    Io {
        /// Path below the root.
        path: String,
        /// The cause.
        source: io::Error,
    },
}

/// Reads all definition files below `root`, sorted by path: `schema/v<major>/**/*.toml`, without
/// the record of releases, which is no definition.
///
/// # Errors
///
/// When there is not exactly one `schema/v<major>` folder, or a file cannot be read.
pub fn read(root: &Path) -> Result<Vec<Source>, ReadError> {
    let folder = find(root)?;
    let mut paths = Vec::new();
    collect(root, &folder, &mut paths)?;
    paths.sort();
    paths
        .into_iter()
        .map(|path| match fs::read(root.join(&path)) {
            Ok(bytes) => Ok(Source::new(path, &bytes)),
            Err(source) => Err(ReadError::Io { path, source }),
        })
        .collect()
}

/// Path, below `root`, of the folder of definitions.
///
/// # Errors
///
/// When there is not exactly one `schema/v<major>` folder.
pub fn find(root: &Path) -> Result<String, ReadError> {
    let missing = |reason: &str| ReadError::Find {
        root: root.display().to_string(),
        reason: reason.to_owned(),
    };
    let mut found = Vec::new();
    let entries = fs::read_dir(root.join(DEFINITIONS)).map_err(|_| {
        missing("there is no folder `schema`; run from a workspace or give `--root`")
    })?;
    for entry in entries {
        let entry = entry.map_err(|source| ReadError::Io {
            path: DEFINITIONS.to_owned(),
            source,
        })?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if is_major(&name) && entry.path().is_dir() {
            found.push(format!("{DEFINITIONS}/{name}"));
        }
    }
    match found.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(missing("there is no folder `schema/v<major>`")),
        _ => Err(missing("there is more than one folder `schema/v<major>`")),
    }
}

fn collect(root: &Path, folder: &str, paths: &mut Vec<String>) -> Result<(), ReadError> {
    let at = |source| ReadError::Io {
        path: folder.to_owned(),
        source,
    };
    for entry in fs::read_dir(root.join(folder)).map_err(at)? {
        let entry = entry.map_err(at)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{folder}/{name}");
        if is_passed_over(&name) {
            continue;
        }
        if entry.path().is_dir() {
            collect(root, &path, paths)?;
        } else if is_definition(&path) {
            paths.push(path);
        }
    }
    Ok(())
}

/// Whether a file or folder below the definitions holds none: the record of releases, and what is
/// hidden.
fn is_passed_over(name: &str) -> bool {
    name.starts_with('.') || name.starts_with("releases")
}

/// Whether the path, below the root, is that of a definition file.
pub(crate) fn is_definition(path: &str) -> bool {
    let mut segments = path.split('/');
    segments.next() == Some(DEFINITIONS)
        && segments.next().is_some_and(is_major)
        && segments.all(|segment| !is_passed_over(segment))
        && Path::new(path).extension().is_some_and(|ext| ext == "toml")
}

/// Whether a folder is named after a major version.
fn is_major(name: &str) -> bool {
    name.strip_prefix('v')
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}
