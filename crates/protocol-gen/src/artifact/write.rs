//! Makes the disk equal to a plan, all or nothing. Everything that can fail in a foreseeable way
//! is done before the first file is replaced, and each file is replaced by a rename, so that it is
//! complete at any moment. Knows nothing of diffs.

use std::{
    fmt,
    fs::{self, File, Metadata, Permissions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use serde::Serialize;
use tempfile::{NamedTempFile, TempPath};

use super::{
    LeftoverKind, Obstacle, Plan, is_below,
    lock::{LOCK_WAIT, Lock, LockFailure},
    place::{Place, Places},
    walk::{self, STAGED_PREFIX, STAGED_SUFFIX, Walk},
};

/// Mode of a new file, before the umask: the one that git gives a file that is not executable.
#[cfg(unix)]
const NEW_FILE_MODE: u32 = 0o644;

/// What a write did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Written {
    /// Artifacts that were not there, sorted by path.
    pub created: Vec<String>,
    /// Artifacts that had other bytes, sorted by path.
    pub updated: Vec<String>,
    /// How many artifacts were right already and are untouched.
    pub unchanged: usize,
    /// Files that were left over and are gone, sorted by path.
    pub removed: Vec<String>,
    /// Folders that became empty by that and are gone too.
    pub removed_folders: Vec<String>,
    /// Files in the package folder that nobody generated; they stay, and a check complains.
    pub foreign: Vec<Foreign>,
}

impl Written {
    /// Whether anything on disk is different now.
    pub fn changed(&self) -> bool {
        !(self.created.is_empty() && self.updated.is_empty() && self.removed.is_empty())
    }
}

/// A file in the package folder that does not belong there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Foreign {
    /// Path below the root, with `/` on every platform.
    pub path: String,
}

/// Why a write did not happen, or not to the end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// Another run is at work. Nothing was changed.
    #[error(
        "wait for another run to finish: it has held the lock on `{}` for {} s",
        .path.display(),
        .seconds
    )]
    Busy {
        /// The locked file.
        path: PathBuf,
        /// The wait that is over.
        seconds: u64,
    },
    /// The lock cannot be had at all. Nothing was changed.
    #[error("lock `{}`", .path.display())]
    Lock {
        /// The file to be locked.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The root cannot be read. Nothing was changed.
    #[error("read the folder `{}`", .path.display())]
    Root {
        /// The root as given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Artifacts cannot stand where they should. Nothing was changed.
    #[error("write {}", list_of(.blocked))]
    Blocked {
        /// All of them, sorted by path.
        blocked: Vec<Blocked>,
    },
    /// A file could not be prepared. Nothing was changed.
    #[error("prepare `{path}`; nothing was changed")]
    Stage {
        /// The artifact.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// A prepared file could not be put in place. What had been replaced was put back, but for
    /// `not_restored`.
    #[error("replace `{path}`; {}", restored(.not_restored))]
    Replace {
        /// The artifact.
        path: String,
        /// Artifacts that could not be put back.
        not_restored: Vec<String>,
        /// What the system said.
        source: io::Error,
    },
    /// All artifacts are written, but a leftover file could not be removed.
    #[error("remove `{path}`, which is left over; all generated files are written")]
    Remove {
        /// The first such file.
        path: String,
        /// What the system said.
        source: io::Error,
    },
}

/// An artifact that cannot be written where it should stand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Blocked {
    /// Path below the root, with `/` on every platform.
    pub path: String,
    /// What is in the way.
    pub obstacle: Obstacle,
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.path, self.obstacle)
    }
}

/// Makes the disk equal to the plan.
///
/// A file that has the right bytes is not touched. The others are prepared beside their place and
/// then renamed; an existing file keeps its mode, a symbolic link stays and its target is
/// replaced. Only then are leftovers removed. Whenever the process is killed, each file is
/// complete, old or new, and the next run cleans up.
///
/// # Errors
///
/// See [`WriteError`]: each says what state the disk is in.
pub fn write(plan: &Plan) -> Result<Written, WriteError> {
    write_with(plan, &mut |staged, target| {
        staged.persist(target).map_err(io::Error::from)
    })
}

/// How a staged file gets in place; tests put one that fails.
type Persist<'a> = &'a mut dyn FnMut(TempPath, &Path) -> io::Result<()>;

/// [`write()`] with `persist` for the rename.
pub(super) fn write_with(plan: &Plan, persist: Persist<'_>) -> Result<Written, WriteError> {
    let _lock = Lock::acquire(&plan.lock, LOCK_WAIT).map_err(|failure| {
        let path = plan.lock.clone();
        match failure {
            LockFailure::Busy => WriteError::Busy {
                path,
                seconds: LOCK_WAIT.as_secs(),
            },
            LockFailure::Io(source) => WriteError::Lock { path, source },
        }
    })?;
    let broken_root = |source| WriteError::Root {
        path: plan.root.clone(),
        source,
    };
    let root = fs::canonicalize(&plan.root).map_err(broken_root)?;
    let found = walk::walk(plan, &root).map_err(broken_root)?;

    let places = find_places(plan, &root)?;
    let mut written = Written::default();
    let staging = Staging::fill(places, &mut written)?;
    staging.commit(persist)?;
    remove_leftovers(plan, &root, found, &mut written)?;
    Ok(written)
}

/// An artifact with its place.
struct Placed<'a> {
    path: &'a str,
    bytes: &'a [u8],
    place: Place,
}

fn find_places<'a>(plan: &'a Plan, root: &Path) -> Result<Vec<Placed<'a>>, WriteError> {
    let mut places = Places::new(root);
    let mut found = Vec::new();
    let mut blocked = Vec::new();
    for (path, bytes) in plan.artifacts() {
        match places.find(path) {
            Ok(place) => found.push(Placed { path, bytes, place }),
            Err(obstacle) => blocked.push(Blocked {
                path: path.to_owned(),
                obstacle,
            }),
        }
    }
    if blocked.is_empty() {
        Ok(found)
    } else {
        Err(WriteError::Blocked { blocked })
    }
}

/// Files that are ready to be renamed into place. Dropped before that, it leaves nothing behind.
#[derive(Default)]
struct Staging {
    files: Vec<Staged>,
    folders: NewFolders,
}

struct Staged {
    path: String,
    target: PathBuf,
    file: TempPath,
    /// What is there now, to be put back if a later file fails.
    old: Option<Old>,
}

struct Old {
    bytes: Vec<u8>,
    metadata: Metadata,
}

impl Staging {
    fn fill(places: Vec<Placed<'_>>, written: &mut Written) -> Result<Self, WriteError> {
        let mut staging = Self::default();
        for Placed { path, bytes, place } in places {
            let fail = |source| WriteError::Stage {
                path: path.to_owned(),
                source,
            };
            let (target, old) = match place {
                Place::File { real, metadata } => {
                    let old = fs::read(&real).map_err(fail)?;
                    if old == bytes {
                        written.unchanged += 1;
                        continue;
                    }
                    written.updated.push(path.to_owned());
                    let bytes = old;
                    (real, Some(Old { bytes, metadata }))
                }
                Place::Vacant {
                    folder,
                    missing,
                    name,
                } => {
                    let folder = staging.folders.make(folder, &missing).map_err(fail)?;
                    written.created.push(path.to_owned());
                    (folder.join(name), None)
                }
            };
            let mode = old.as_ref().map(|old| old.metadata.permissions());
            staging.files.push(Staged {
                path: path.to_owned(),
                file: stage(&target, bytes, mode).map_err(fail)?,
                target,
                old,
            });
        }
        Ok(staging)
    }

    fn commit(mut self, persist: Persist<'_>) -> Result<(), WriteError> {
        let mut replaced = Vec::new();
        for Staged {
            path,
            target,
            file,
            old,
        } in std::mem::take(&mut self.files)
        {
            if let Err(source) = persist(file, &target) {
                return Err(WriteError::Replace {
                    path,
                    not_restored: restore(replaced),
                    source,
                });
            }
            replaced.push(Replaced { path, target, old });
        }
        self.folders.keep();
        sync_folders(&replaced);
        Ok(())
    }
}

struct Replaced {
    path: String,
    target: PathBuf,
    old: Option<Old>,
}

/// Puts back what was replaced; returns the paths for which that failed.
fn restore(replaced: Vec<Replaced>) -> Vec<String> {
    let mut failed = Vec::new();
    for Replaced { path, target, old } in replaced {
        let outcome = match old {
            None => fs::remove_file(&target),
            Some(Old { bytes, metadata }) => stage(&target, &bytes, Some(metadata.permissions()))
                .and_then(|staged| {
                    if let Ok(modified) = metadata.modified() {
                        File::options()
                            .write(true)
                            .open(&staged)?
                            .set_modified(modified)?;
                    }
                    staged.persist(&target).map_err(io::Error::from)
                }),
        };
        if outcome.is_err() {
            failed.push(path);
        }
    }
    failed
}

/// Writes `bytes` to a file beside `target` and on to the disk. `mode` is that of the file to be
/// replaced.
fn stage(target: &Path, bytes: &[u8], mode: Option<Permissions>) -> io::Result<TempPath> {
    let folder = target.parent().unwrap_or(Path::new("."));
    let mut file = create(folder)?;
    file.write_all(bytes)?;
    if let Some(mode) = mode {
        file.as_file().set_permissions(mode)?;
    }
    file.as_file().sync_all()?;
    Ok(file.into_temp_path())
}

fn create(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(STAGED_PREFIX).suffix(STAGED_SUFFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(Permissions::from_mode(NEW_FILE_MODE));
    }
    builder.tempfile_in(folder)
}

/// Makes the renames last through a power cut, as far as the system lets us: every file is whole
/// without it, so a failure is none.
fn sync_folders(replaced: &[Replaced]) {
    let mut folders: Vec<_> = replaced
        .iter()
        .filter_map(|replaced| replaced.target.parent())
        .collect();
    folders.dedup();
    for folder in folders {
        if let Ok(folder) = File::open(folder) {
            let _ = folder.sync_all();
        }
    }
}

/// Folders made for artifacts; removed again, if still empty, unless kept.
#[derive(Default)]
struct NewFolders(Vec<PathBuf>);

impl NewFolders {
    fn make(&mut self, mut folder: PathBuf, missing: &[String]) -> io::Result<PathBuf> {
        for name in missing {
            folder.push(name);
            match fs::create_dir(&folder) {
                Ok(()) => self.0.push(folder.clone()),
                // An earlier artifact was missing it too.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Ok(folder)
    }

    fn keep(&mut self) {
        self.0.clear();
    }
}

impl Drop for NewFolders {
    fn drop(&mut self) {
        for folder in self.0.iter().rev() {
            // Not empty means that somebody put a file there: then it is theirs.
            let _ = fs::remove_dir(folder);
        }
    }
}

fn remove_leftovers(
    plan: &Plan,
    root: &Path,
    found: Walk,
    written: &mut Written,
) -> Result<(), WriteError> {
    let mut failure = None;
    for leftover in found.leftovers {
        match leftover.kind {
            LeftoverKind::Foreign => {
                let path = leftover.path;
                written.foreign.push(Foreign { path });
                continue;
            }
            LeftoverKind::Owned | LeftoverKind::Staged => {}
        }
        match fs::remove_file(&leftover.real) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(source) => {
                failure.get_or_insert(WriteError::Remove {
                    path: leftover.path,
                    source,
                });
                continue;
            }
        }
        remove_empty_folders(plan, root, &leftover.path, &leftover.real, written);
        written.removed.push(leftover.path);
    }
    failure.map_or(Ok(()), Err)
}

/// Removes the folders of the package that the removal of `path` left empty.
fn remove_empty_folders(plan: &Plan, root: &Path, path: &str, real: &Path, written: &mut Written) {
    let folders = super::folders_above(path).zip(real.ancestors().skip(1));
    for (folder, real) in folders {
        let is_ours = is_below(folder, &plan.owned.package) && real.starts_with(root);
        // The system removes a folder only if it is empty.
        if !is_ours || fs::remove_dir(real).is_err() {
            return;
        }
        written.removed_folders.push(folder.to_owned());
    }
}

fn list_of(blocked: &[Blocked]) -> String {
    let all: Vec<_> = blocked.iter().map(Blocked::to_string).collect();
    all.join("; ")
}

fn restored(not_restored: &[String]) -> String {
    if not_restored.is_empty() {
        "all files were put back".to_owned()
    } else {
        format!(
            "all files were put back but `{}`",
            not_restored.join("`, `")
        )
    }
}
