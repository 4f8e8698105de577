//! Whether a copy of generated documents agrees with itself, and which known contract it is. Reads files;
//! knows no definitions.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

use serde::Serialize;
use serde_json::Value;

use crate::{
    canonical,
    contract::{Contract, DocumentKind, Documents, ShapeFault},
};

/// Version of the JSON form. Raised when a member is renamed, removed or means something else.
pub const REPORT_VERSION: u32 = 1;

/// The largest file that is looked into: many times the largest contract.
const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// How many files of a folder are looked at.
const MAX_FILES: usize = 10_000;
/// How many folders deep a copy is looked for: a vendored one lies flat or has a folder for documents.
const MAX_DEPTH: usize = 2;

/// A contract that a copy may be of, by name and hash of each document.
pub type Known = (String, BTreeMap<DocumentKind, String>);

/// A document of the copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Found {
    /// The file.
    pub path: PathBuf,
    /// `contract`, `payloads` or `supplement`.
    pub document: &'static str,
    #[serde(skip)]
    kind: DocumentKind,
    /// `$id` of the document, or the protocol of a supplement.
    pub id: String,
    /// The SHA-256 of the bytes of the file, as `sha256:` and 64 digits.
    pub hash: String,
    /// The SHA-256 of the canonical form of what it says.
    pub canonical_hash: String,
    /// Names of the known contracts that have this document.
    pub known_as: Vec<String>,
}

/// A hash that a file of the copy states.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Stated {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// What it says.
    pub hash: String,
    /// Whether a document of the copy has this hash: that of the same name, for a hash file beside one.
    pub agrees: bool,
    /// Names of the known contracts that have a document with this hash.
    pub known_as: Vec<String>,
}

/// What was found out about a copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Verification {
    version: u32,
    /// Whether everything in the copy agrees.
    pub consistent: bool,
    /// Its documents.
    pub documents: Vec<Found>,
    /// The hashes that its files state.
    pub stated: Vec<Stated>,
    /// What does not agree, with both values.
    pub disagreements: Vec<String>,
}

/// Why a copy cannot be verified.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// There is nothing at that path.
    #[error("there is no file and no folder `{}`", .path.display())]
    Missing {
        /// The path as given.
        path: PathBuf,
    },
    /// No document of a contract is there.
    #[error("`{}` holds no canonical document of a contract", .path.display())]
    NoContract {
        /// The path as given.
        path: PathBuf,
    },
    /// A document is of another shape.
    #[error("`{}` is not of the shape that this generator writes", .path.display())]
    Shape {
        /// The document.
        path: PathBuf,
        /// Every place.
        faults: Vec<ShapeFault>,
    },
    /// A file or folder could not be read.
    #[error("read `{}`", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Looks at one document, or at the documents, hash files and indexes of a folder and of those in it.
///
/// Which contract a document is of is told by its canonical form, among `known`.
///
/// # Errors
///
/// When nothing of the shape is there, or something cannot be read.
pub fn verify(path: &Path, known: &[Known]) -> Result<Verification, VerifyError> {
    let mut files = Vec::new();
    if path.is_dir() {
        collect(path, MAX_DEPTH, &mut files)?;
    } else if path.exists() {
        files.push(path.to_owned());
    } else {
        return Err(VerifyError::Missing {
            path: path.to_owned(),
        });
    }
    files.sort();
    let mut copy = Copy::default();
    for file in &files {
        copy.add(file, known)?;
    }
    copy.read(path)?;
    Ok(copy.finish())
}

fn collect(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), VerifyError> {
    let at = |source| VerifyError::Io {
        path: folder.to_owned(),
        source,
    };
    for entry in fs::read_dir(folder).map_err(at)? {
        let entry = entry.map_err(at)?;
        let path = entry.path();
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        if hidden || files.len() == MAX_FILES {
            continue;
        }
        let kind = entry.file_type().map_err(at)?;
        if kind.is_dir() && depth > 1 {
            collect(&path, depth - 1, files)?;
        } else if kind.is_file()
            && ["json", "sha256", "md"]
                .iter()
                .any(|ext| has_extension(&path, ext))
        {
            files.push(path);
        }
    }
    Ok(())
}

fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension()
        .is_some_and(|ext| ext.eq_ignore_ascii_case(wanted))
}

/// The files of a copy, as far as they were read.
#[derive(Default)]
struct Copy {
    documents: Vec<(Found, String)>,
    stated: Vec<Stated>,
    /// Text of the indexes.
    indexes: Vec<(PathBuf, String)>,
}

impl Copy {
    fn add(&mut self, path: &Path, known: &[Known]) -> Result<(), VerifyError> {
        let at = |source| VerifyError::Io {
            path: path.to_owned(),
            source,
        };
        if fs::metadata(path).map_err(at)?.len() > MAX_BYTES {
            return Ok(());
        }
        let bytes = fs::read(path).map_err(at)?;
        let Ok(text) = String::from_utf8(bytes) else {
            return Ok(());
        };
        if has_extension(path, "sha256") {
            self.state(path, &text, true, known);
        } else if has_extension(path, "md") {
            self.state(path, &text, false, known);
            self.indexes.push((path.to_owned(), text));
        } else if let Ok(value) = serde_json::from_str::<Value>(&text)
            && let Some((kind, id)) = kind_of(&value)
        {
            let canonical_hash = canonical::hash(canonical::to_string(&value).as_bytes());
            let found = Found {
                path: path.to_owned(),
                document: kind.as_str(),
                kind,
                id,
                hash: canonical::hash(text.as_bytes()),
                known_as: names(known, |kinds| kinds.get(&kind) == Some(&canonical_hash)),
                canonical_hash,
            };
            self.documents.push((found, text));
        }
        Ok(())
    }

    /// Takes the hashes that a text states. A file of a hash holds nothing else; in prose the prefix
    /// tells that of a contract from any other.
    fn state(&mut self, path: &Path, text: &str, whole: bool, known: &[Known]) {
        for (index, line) in text.lines().enumerate() {
            for hash in hashes(line, whole) {
                self.stated.push(Stated {
                    path: path.to_owned(),
                    line: index + 1,
                    agrees: false,
                    known_as: names(known, |kinds| kinds.values().any(|other| *other == hash)),
                    hash,
                });
            }
        }
    }

    /// Reads the contracts, so that what only looks like one is refused.
    fn read(&self, path: &Path) -> Result<(), VerifyError> {
        let mut any = false;
        for (found, text) in &self.documents {
            if found.kind != DocumentKind::Schema {
                continue;
            }
            any = true;
            let mut documents = Documents::new(text.clone());
            for (other, text) in &self.documents {
                if other.kind != DocumentKind::Schema && other.path.parent() == found.path.parent()
                {
                    documents.set(other.kind, text.clone());
                }
            }
            Contract::read(&documents).map_err(|faults| VerifyError::Shape {
                path: found.path.clone(),
                faults,
            })?;
        }
        // A payloads document alone says too little to be read, and its hash is all that it has.
        if any || !self.documents.is_empty() {
            Ok(())
        } else {
            Err(VerifyError::NoContract {
                path: path.to_owned(),
            })
        }
    }

    fn finish(mut self) -> Verification {
        let documents: Vec<Found> = self.documents.into_iter().map(|(found, _)| found).collect();
        let mut disagreements = Vec::new();
        for found in &documents {
            if found.hash != found.canonical_hash {
                disagreements.push(format!(
                    "`{}` is not in canonical form: its bytes have the hash\n  {}\nand the canonical form \
                     of what it says has\n  {}",
                    found.path.display(),
                    found.hash,
                    found.canonical_hash
                ));
            }
        }
        for stated in &mut self.stated {
            let meant = meant(&stated.path, &documents);
            stated.agrees = meant.iter().any(|found| found.hash == stated.hash);
            if stated.agrees {
                continue;
            }
            let mut text = format!(
                "`{}:{}` states a hash that its document does not have:\n  stated {}{}",
                stated.path.display(),
                stated.line,
                stated.hash,
                as_known(&stated.known_as)
            );
            for found in meant {
                let _ = write!(
                    text,
                    "\n  `{}` has {}{}",
                    found.path.display(),
                    found.hash,
                    as_known(&found.known_as)
                );
            }
            disagreements.push(text);
        }
        for (path, text) in &self.indexes {
            let speaks_of_a_hash = self.stated.iter().any(|stated| stated.path == *path);
            for found in documents.iter().filter(|_| speaks_of_a_hash) {
                if found.kind == DocumentKind::Schema && !text.contains(&found.id) {
                    disagreements.push(format!(
                        "`{}` states a hash and does not name the protocol `{}` of `{}`",
                        path.display(),
                        found.id,
                        found.path.display()
                    ));
                }
            }
        }
        Verification {
            version: REPORT_VERSION,
            consistent: disagreements.is_empty(),
            documents,
            stated: self.stated,
            disagreements,
        }
    }
}

/// The documents that a stated hash may be meant for: that of the same name for a hash file.
fn meant<'d>(path: &Path, documents: &'d [Found]) -> Vec<&'d Found> {
    let same: Vec<&Found> = documents
        .iter()
        .filter(|found| has_extension(path, "sha256") && found.path.file_stem() == path.file_stem())
        .collect();
    if same.is_empty() {
        documents
            .iter()
            .filter(|found| found.kind != DocumentKind::Supplement)
            .collect()
    } else {
        same
    }
}

fn names(known: &[Known], is: impl Fn(&BTreeMap<DocumentKind, String>) -> bool) -> Vec<String> {
    known
        .iter()
        .filter(|(_, kinds)| is(kinds))
        .map(|(name, _)| name.clone())
        .collect()
}

fn as_known(names: &[String]) -> String {
    if names.is_empty() {
        String::new()
    } else {
        format!(" ({})", names.join(", "))
    }
}

/// Which document a JSON value looks like, and the identity that it gives itself.
fn kind_of(value: &Value) -> Option<(DocumentKind, String)> {
    let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let has = |name: &str| value.get(name).is_some();
    if has("protocolMajor") && has("$defs") && has("methods") {
        Some((DocumentKind::Schema, text("protocol").unwrap_or_default()))
    } else if has("protocol") && has("$defs") && has("hooks") {
        Some((DocumentKind::Payloads, text("$id").unwrap_or_default()))
    } else if has("protocol") && has("members") && has("rules") && has("version") {
        Some((
            DocumentKind::Supplement,
            text("protocol").unwrap_or_default(),
        ))
    } else {
        None
    }
}

/// Digits of a SHA-256.
const DIGITS: usize = 64;
const PREFIX: &str = "sha256:";

/// The hashes in a line, as `sha256:` and lower-case digits.
fn hashes(line: &str, whole: bool) -> Vec<String> {
    let mut found = Vec::new();
    let hash = |digits: &str| format!("{PREFIX}{}", digits.to_ascii_lowercase());
    let is_hash = |text: &str| text.len() == DIGITS && text.bytes().all(|b| b.is_ascii_hexdigit());
    if whole {
        // `sha256:…`, and the `…  file` of other tools.
        let first = line.split_whitespace().next().unwrap_or_default();
        let digits = first.strip_prefix(PREFIX).unwrap_or(first);
        if is_hash(digits) {
            found.push(hash(digits));
        }
        return found;
    }
    for (start, _) in line.match_indices(PREFIX) {
        let rest = line.get(start + PREFIX.len()..).unwrap_or_default();
        let length = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        if let Some(digits) = rest.get(..length)
            && is_hash(digits)
        {
            found.push(hash(digits));
        }
    }
    found
}

impl Verification {
    /// For a person.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for found in &self.documents {
            let _ = write!(
                text,
                "{}: the {} of `{}`\n  {}{}\n",
                found.path.display(),
                found.document,
                found.id,
                found.canonical_hash,
                if found.hash == found.canonical_hash {
                    ""
                } else {
                    " in canonical form; the file is not"
                }
            );
            if found.known_as.is_empty() {
                text.push_str("  no known release\n");
            } else {
                let _ = writeln!(text, "  {}", found.known_as.join(", "));
            }
        }
        for stated in self.stated.iter().filter(|stated| stated.agrees) {
            let _ = writeln!(
                text,
                "{}:{}: states the hash of a document here",
                stated.path.display(),
                stated.line
            );
        }
        for disagreement in &self.disagreements {
            let _ = writeln!(text, "\n{disagreement}");
        }
        if self.consistent {
            text.push_str("\nthe copy agrees with itself\n");
        } else {
            let _ = writeln!(
                text,
                "\nthe copy does not agree with itself in {} places: take the documents, their hashes \
                 and the index from one release, unchanged",
                self.disagreements.len()
            );
        }
        text
    }

    /// For a program: one line of JSON, with a `version`.
    pub fn to_json(&self) -> String {
        // Texts, numbers and paths that were read as text: JSON holds all of it.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }
}
