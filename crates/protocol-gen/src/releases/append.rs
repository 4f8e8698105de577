//! Freezes a contract as a new release, all or nothing. Asks nobody whether it may.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use super::{DocumentKind, Documents, FROZEN, Releases, check_name, file_name, record_path};
use crate::{
    canonical,
    source::{self, ReadError},
};

/// What a new record begins with.
const HEADER: &str = "\
# The releases of the contract, oldest first. `extension-protocol-gen release NAME` appends one and
# freezes its documents in `releases/NAME/`; nobody edits this file or those.
";

/// A release that was just recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Frozen {
    /// The documents and their hashes, by path below the root.
    pub documents: Vec<(String, String)>,
    /// Path of the record, below the root.
    pub record: String,
}

/// Why a release was not recorded. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AppendError {
    /// The name is none, or is taken.
    #[error("{0}")]
    Name(String),
    /// The folder of the definitions cannot be found or read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A file could not be written.
    #[error("write `{}`", .path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Releases {
    /// Appends a release to the record below `root`, dated `date` (`YYYY-MM-DD`). The documents are in
    /// place before the record names them, and are taken away again where it cannot be written.
    ///
    /// # Errors
    ///
    /// When the name is none or is taken, or a file cannot be written. Nothing is changed then.
    pub fn append(
        &self,
        root: &Path,
        name: &str,
        date: &str,
        documents: &Documents,
    ) -> Result<Frozen, AppendError> {
        check_name(name).map_err(AppendError::Name)?;
        if self.find(name).is_some() {
            return Err(AppendError::Name(format!(
                "the release {name} is recorded already, and what is released never changes"
            )));
        }
        let folder = source::find(root)?;
        let all = root.join(&folder).join(FROZEN);
        let target = all.join(name);
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| AppendError::Write { path, source }
        };
        if target.exists() {
            return Err(AppendError::Name(format!(
                "`{folder}/{FROZEN}/{name}` is there already, and the record does not name it: delete it \
                 if a release was cut short here"
            )));
        }
        let is_first = !all.exists();
        fs::create_dir_all(&all).map_err(failed(&all))?;
        let undo = || {
            if is_first {
                // Only if it is empty: nothing of others is lost.
                let _ = fs::remove_dir(&all);
            }
        };
        let frozen = stage(&all, &target, documents).map_err(|source| {
            undo();
            failed(&target)(source)
        })?;
        let record = record_path(root, &folder);
        let mut entry = format!("\n[[releases]]\nname = \"{name}\"\ndate = {date}\n");
        for (kind, hash) in &frozen {
            entry.push_str(key(*kind));
            entry.push_str(" = \"");
            entry.push_str(hash);
            entry.push_str("\"\n");
        }
        write_record(&record, &entry).map_err(|source| {
            let _ = fs::remove_dir_all(&target);
            undo();
            failed(&record)(source)
        })?;
        Ok(Frozen {
            documents: frozen
                .into_iter()
                .map(|(kind, hash)| (super::document_path(&folder, name, kind), hash))
                .collect(),
            record: format!("{folder}/{}", super::RECORD),
        })
    }
}

/// The key of a document's hash in the record.
fn key(kind: DocumentKind) -> &'static str {
    match kind {
        DocumentKind::Schema => "schema",
        DocumentKind::Payloads => "payloads",
        DocumentKind::Supplement => "supplement",
    }
}

/// Writes the documents into a folder that is not seen, then gives it its name.
fn stage(
    all: &Path,
    target: &Path,
    documents: &Documents,
) -> io::Result<Vec<(DocumentKind, String)>> {
    let staged = tempfile::Builder::new()
        .prefix(".release")
        .tempdir_in(all)?;
    let mut frozen = Vec::new();
    for kind in DocumentKind::ALL {
        if let Some(text) = documents.text(kind) {
            let mut file = fs::File::create_new(staged.path().join(file_name(kind)))?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            frozen.push((kind, canonical::hash(text.as_bytes())));
        }
    }
    #[cfg(unix)]
    {
        // As any folder that the person makes; a temporary one is private.
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(all)?.permissions().mode();
        fs::set_permissions(staged.path(), fs::Permissions::from_mode(mode))?;
    }
    fs::rename(staged.path(), target)?;
    // Its name has gone to the release.
    let _ = staged.keep();
    Ok(frozen)
}

fn write_record(record: &Path, entry: &str) -> io::Result<()> {
    let old = match fs::read_to_string(record) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => HEADER.to_owned(),
        Err(error) => return Err(error),
    };
    let folder = record.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        /// Mode of a new record: the one that git gives a file that is not executable.
        const MODE: u32 = 0o644;
        let mode = fs::metadata(record).map_or(MODE, |old| old.permissions().mode());
        file.as_file()
            .set_permissions(fs::Permissions::from_mode(mode))?;
    }
    file.write_all(old.as_bytes())?;
    file.write_all(entry.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(record).map_err(|error| error.error)?;
    Ok(())
}
