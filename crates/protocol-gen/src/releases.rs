//! The record of releases: which contracts were published, frozen as documents, and since when each part
//! of the contract exists. Knows files and hashes; judges growth by `compat` alone.
//!
//! The record is `schema/v<major>/releases.toml`; the documents of a release lie beside it in
//! `releases/<name>/`. Nothing in it is ever edited: a release is appended, and whatever does not fit the
//! hashes that it says is a [`Fault`].

mod append;
mod history;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use toml::{Spanned, value::Datetime};

pub use self::append::{AppendError, Frozen};
use crate::{
    canonical,
    compat::{self, Comparison, Side, Sides},
    contract::{Contract, DocumentKind, Documents},
    source::{self, ReadError},
};

/// Name of the record, in the folder of the definitions.
pub const RECORD: &str = "releases.toml";
/// Name of the folder of frozen documents, beside the record.
pub const FROZEN: &str = "releases";

/// A release as its line in the record and its frozen documents say it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Release {
    /// Its name.
    pub name: String,
    /// The day of its record, `YYYY-MM-DD`.
    pub date: String,
    /// The frozen documents.
    pub documents: Documents,
    /// The contract that they say.
    pub contract: Contract,
}

impl Release {
    /// How a comparison speaks of it.
    pub fn side(&self) -> Side {
        Side {
            name: format!("release {}", self.name),
            hash: canonical::hash(self.documents.schema.as_bytes()),
            canonical: true,
        }
    }

    /// The hash of one of its documents, as `sha256:` and 64 digits; `None` if it has no such document.
    pub fn hash(&self, kind: DocumentKind) -> Option<String> {
        self.documents
            .text(kind)
            .map(|text| canonical::hash(text.as_bytes()))
    }
}

/// Everything that was released, in order.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Releases {
    /// The releases that could be read, oldest first.
    pub releases: Vec<Release>,
    /// What is wrong with the record or the frozen documents.
    pub faults: Vec<Fault>,
}

/// Something in the record that is not as it was released.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Fault {
    /// The file, below the root.
    pub path: String,
    /// The line in it, from 1, where a line is to blame.
    pub line: Option<usize>,
    /// What is wrong, with both values where two disagree.
    pub message: String,
    /// What to do.
    pub hint: String,
}

/// One entry of the record, as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: Spanned<String>,
    date: Datetime,
    schema: String,
    payloads: Option<String>,
    supplement: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    #[serde(default)]
    releases: Vec<Entry>,
}

const RESTORE: &str = "what was released never changes: restore the file from the history of the \
                       repository";

impl Releases {
    /// Reads the record below `root` and holds it to its own hashes and to the stability contract. A
    /// workspace without a record has no releases.
    ///
    /// # Errors
    ///
    /// When the folder of the definitions cannot be found, or a file is there and cannot be read. What is
    /// wrong with what they say is in [`Releases::faults`].
    pub fn read(root: &Path) -> Result<Self, ReadError> {
        let folder = source::find(root)?;
        let path = format!("{folder}/{RECORD}");
        let mut found = Self::default();
        let text = match fs::read_to_string(root.join(&path)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(source) => return Err(ReadError::Io { path, source }),
        };
        let record: Record = match toml::from_str(&text) {
            Ok(record) => record,
            Err(error) => {
                let line = error.span().map(|span| line_of(&text, span.start));
                found.fault(&path, line, error.message(), RESTORE);
                return Ok(found);
            }
        };
        let mut names = BTreeSet::new();
        for entry in record.releases {
            let line = Some(line_of(&text, entry.name.span().start));
            let name = entry.name.get_ref().clone();
            if let Err(message) = check_name(&name) {
                found.fault(&path, line, &message, RESTORE);
                continue;
            }
            if !names.insert(name.clone()) {
                let message = format!("the release {name} stands twice");
                found.fault(&path, line, &message, RESTORE);
                continue;
            }
            if entry.date.date.is_none() || entry.date.time.is_some() {
                let message = format!("`date` of the release {name} is not a day");
                found.fault(&path, line, &message, RESTORE);
            }
            found.load(root, &folder, &entry, name)?;
        }
        found.find_strays(root, &folder, &names)?;
        found.judge(&path);
        Ok(found)
    }

    /// Reads the frozen documents of one release.
    fn load(
        &mut self,
        root: &Path,
        folder: &str,
        entry: &Entry,
        name: String,
    ) -> Result<(), ReadError> {
        let before = self.faults.len();
        let mut documents = Documents::default();
        for (kind, stated) in [
            (DocumentKind::Schema, Some(&entry.schema)),
            (DocumentKind::Payloads, entry.payloads.as_ref()),
            (DocumentKind::Supplement, Some(&entry.supplement)),
        ] {
            let path = document_path(folder, &name, kind);
            let text = match fs::read(root.join(&path)) {
                Ok(bytes) => Some(bytes),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(source) => return Err(ReadError::Io { path, source }),
            };
            match (stated, text) {
                (None, None) => {}
                (Some(_), None) => {
                    let message = format!("the frozen document of the release {name} is not there");
                    self.fault(&path, None, &message, RESTORE);
                }
                (None, Some(_)) => {
                    let message =
                        format!("`{RECORD}` says that the release {name} has no such document");
                    self.fault(&path, None, &message, RESTORE);
                }
                (Some(stated), Some(bytes)) => {
                    let actual = canonical::hash(&bytes);
                    if *stated != actual {
                        let message = format!(
                            "the release {name} has another hash than it was recorded with:\n  \
                             recorded {stated}\n  \
                             the file {actual}"
                        );
                        self.fault(&path, None, &message, RESTORE);
                    }
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    documents.set(kind, text);
                }
            }
        }
        if self.faults.len() > before {
            return Ok(());
        }
        match Contract::read(&documents) {
            Ok(contract) => self.releases.push(Release {
                name,
                date: entry.date.to_string(),
                documents,
                contract,
            }),
            Err(faults) => {
                for fault in faults {
                    let path = document_path(folder, &name, fault.document);
                    self.fault(&path, None, &fault.to_string(), RESTORE);
                }
            }
        }
        Ok(())
    }

    /// Folders of frozen documents that the record does not name.
    fn find_strays(
        &mut self,
        root: &Path,
        folder: &str,
        names: &BTreeSet<String>,
    ) -> Result<(), ReadError> {
        let path = format!("{folder}/{FROZEN}");
        let at = |source| ReadError::Io {
            path: path.clone(),
            source,
        };
        let entries = match fs::read_dir(root.join(&path)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(source) => return Err(at(source)),
        };
        let mut strays = BTreeSet::new();
        for entry in entries {
            let name = entry
                .map_err(at)?
                .file_name()
                .to_string_lossy()
                .into_owned();
            if !names.contains(&name) {
                strays.insert(name);
            }
        }
        for name in strays {
            self.fault(
                &format!("{path}/{name}"),
                None,
                &format!("`{RECORD}` names no such release"),
                "restore its entry in the record from the history of the repository, or delete this if \
                 a release was cut short here",
            );
        }
        Ok(())
    }

    /// Holds every release to the one before it.
    fn judge(&mut self, record: &str) {
        let mut faults = Vec::new();
        for pair in self.releases.windows(2) {
            let [old, new] = pair else { continue };
            if let Some(why) = breaks(&compat::compare(&old.contract, &new.contract), old, new) {
                faults.push(why);
            }
        }
        for message in faults {
            self.fault(record, None, &message, RESTORE);
        }
    }

    fn fault(&mut self, path: &str, line: Option<usize>, message: &str, hint: &str) {
        self.faults.push(Fault {
            path: path.to_owned(),
            line,
            message: message.to_owned(),
            hint: hint.to_owned(),
        });
    }

    /// The release of that name.
    pub fn find(&self, name: &str) -> Option<&Release> {
        self.releases.iter().find(|release| release.name == name)
    }

    /// The newest one.
    pub fn newest(&self) -> Option<&Release> {
        self.releases.last()
    }
}

/// Why a comparison of two releases shows a broken contract, if it does.
fn breaks(comparison: &Comparison, old: &Release, new: &Release) -> Option<String> {
    (!comparison.is_permitted()).then(|| {
        let sides = Sides {
            old: old.side(),
            new: new.side(),
            locations: BTreeMap::new(),
        };
        format!(
            "the release {} is not a permitted growth of the release {}\n{}",
            new.name,
            old.name,
            comparison.to_text(&sides)
        )
    })
}

/// Path, below the root, of a frozen document.
fn document_path(folder: &str, name: &str, kind: DocumentKind) -> String {
    format!("{folder}/{FROZEN}/{name}/{}", file_name(kind))
}

/// What a frozen document is called.
fn file_name(kind: DocumentKind) -> &'static str {
    match kind {
        DocumentKind::Schema => "schema.json",
        DocumentKind::Payloads => "payloads.json",
        DocumentKind::Supplement => "supplement.json",
    }
}

/// The longest name of a release: it is the name of a folder.
const MAX_NAME: usize = 64;

/// Whether a release may have that name, and if not, why.
fn check_name(name: &str) -> Result<(), String> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    if name.is_empty()
        || name.len() > MAX_NAME
        || !name.bytes().all(plain)
        || !name
            .as_bytes()
            .first()
            .is_some_and(u8::is_ascii_alphanumeric)
    {
        return Err(format!(
            "{name:?} is no name of a release: it has from 1 to {MAX_NAME} of the letters and digits of \
             ASCII, `.`, `_` and `-`, and begins with a letter or a digit"
        ));
    }
    Ok(())
}

fn line_of(text: &str, offset: usize) -> usize {
    text.get(..offset).unwrap_or_default().matches('\n').count() + 1
}

/// The record of the definitions below a root.
fn record_path(root: &Path, folder: &str) -> PathBuf {
    root.join(folder).join(RECORD)
}
