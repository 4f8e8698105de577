//! The set of generated files: what each is called and what its bytes are, how the files on disk
//! differ from them, and how they get there. Knows paths and bytes; knows nothing of the protocol.
//!
//! A [`Plan`] is the complete set. [`check`] compares it with the disk and writes nothing.
//! [`write()`] makes the disk equal to it, all or nothing.
//!
//! A path is *generated* if and only if it lies under the package folder of the [`Ownership`] or
//! its file name contains `.generated.`. That rule is what makes a file that is no longer produced
//! recognizable, so a plan refuses an artifact outside of it.

mod difference;
mod json_difference;
mod lock;
mod place;
mod render;
mod report;
mod text_difference;
pub(crate) mod visible;
mod walk;
mod write;

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

pub use self::{
    difference::{Difference, LineEndAdvice},
    json_difference::{JsonChange, JsonDifference},
    place::Obstacle,
    report::{Finding, LeftoverKind, Problem, Report},
    text_difference::TextDifference,
    write::{Blocked, Foreign, WriteError, Written, write},
};
use self::{
    place::{Place, Places},
    walk::Walk,
};

/// One generated file, in memory.
#[expect(
    clippy::exhaustive_structs,
    reason = "a path and its bytes, for good; emitters write it as a literal"
)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// Path below the root, with `/` on every platform.
    pub path: String,
    /// The whole content.
    pub bytes: Vec<u8>,
}

/// Which paths below the root belong to the generator.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ownership {
    /// Folder below the root, with `/` on every platform, in which every file is generated.
    pub package: String,
    /// Folders below the root that are not searched for leftovers: fixtures and the like, which
    /// hold files named `.generated.` that this plan has nothing to do with.
    pub excluded: BTreeSet<String>,
}

impl Ownership {
    /// Owns the folder `package` and, anywhere, files whose name contains `.generated.`.
    pub fn new(package: impl Into<String>) -> Self {
        Self {
            package: package.into(),
            excluded: BTreeSet::new(),
        }
    }

    /// Leaves the folder `path` out of the search for leftovers.
    #[must_use]
    pub fn with_excluded(mut self, path: impl Into<String>) -> Self {
        self.excluded.insert(path.into());
        self
    }

    /// Whether `path`, below the root and with `/`, names a generated file.
    pub fn covers(&self, path: &str) -> bool {
        is_below(path, &self.package) || has_generated_name(path)
    }

    fn searches(&self, folder: &str) -> bool {
        !self.excluded.contains(folder)
    }
}

/// Every generated file of one workspace: the only thing that [`check`] and [`write()`] go by.
#[derive(Clone, Debug)]
pub struct Plan {
    root: PathBuf,
    lock: PathBuf,
    artifacts: BTreeMap<String, Vec<u8>>,
    owned: Ownership,
}

impl Plan {
    /// Puts `artifacts` below `root`.
    ///
    /// `lock` is an existing file or, on Unix, folder that [`write()`] opens for reading and locks,
    /// so that two runs at once take turns. It must be the same one for every run on `root`.
    ///
    /// # Errors
    ///
    /// When a path is not a plain relative one, is not covered by `owned`, could not be found
    /// again as a leftover, or stands in the way of another one.
    pub fn new(
        root: impl Into<PathBuf>,
        lock: impl Into<PathBuf>,
        artifacts: Vec<Artifact>,
        owned: Ownership,
    ) -> Result<Self, PlanError> {
        if !is_plain(&owned.package) {
            return Err(PlanError::NotPlain {
                path: owned.package,
            });
        }
        let mut by_path = BTreeMap::new();
        let mut folded = BTreeMap::new();
        for Artifact { path, bytes } in artifacts {
            if !is_plain(&path) {
                return Err(PlanError::NotPlain { path });
            }
            if !owned.covers(&path) {
                return Err(PlanError::NotOwned {
                    package: owned.package,
                    path,
                });
            }
            if !walk::reaches(&path, &owned) {
                return Err(PlanError::NotSearched { path });
            }
            if let Some(other) = folded.insert(path.to_lowercase(), path.clone()) {
                return Err(PlanError::Collision { path, other });
            }
            by_path.insert(path, bytes);
        }
        for (lower, path) in &folded {
            if let Some(other) = folders_above(lower).find_map(|above| folded.get(above)) {
                return Err(PlanError::Collision {
                    path: path.clone(),
                    other: other.clone(),
                });
            }
        }
        Ok(Self {
            root: root.into(),
            lock: lock.into(),
            artifacts: by_path,
            owned,
        })
    }

    /// The folder that all paths start from.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Which paths belong to the generator.
    pub fn owned(&self) -> &Ownership {
        &self.owned
    }

    /// The artifacts as path and bytes, sorted by path.
    pub fn artifacts(&self) -> impl ExactSizeIterator<Item = (&str, &[u8])> {
        self.artifacts
            .iter()
            .map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
    }
}

/// A set of artifacts that no folder could hold or no later run could keep clean.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The path is empty, absolute, or has an empty, `.` or `..` part, a backslash, a colon or a
    /// control character.
    #[error("place `{}` below the root: it is not a plain relative path", .path.escape_debug())]
    NotPlain {
        /// The path as given.
        path: String,
    },
    /// The path would not be recognized as generated.
    #[error(
        "own `{path}`: it lies neither under `{package}/` nor has a name that contains `.generated.`"
    )]
    NotOwned {
        /// The path as given.
        path: String,
        /// The package folder.
        package: String,
    },
    /// The path lies in a folder in which leftovers are not looked for.
    #[error("own `{path}`: it lies in a folder that is not searched for leftovers")]
    NotSearched {
        /// The path as given.
        path: String,
    },
    /// Two paths are equal, equal but for case, or one is the folder of the other.
    #[error("place both `{path}` and `{other}`: they stand in each other's way")]
    Collision {
        /// One of the two.
        path: String,
        /// The other one.
        other: String,
    },
}

/// The disk could not be compared with the plan at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// The root is missing, no folder, or cannot be read.
    #[error("read the folder `{}`", .path.display())]
    Root {
        /// The root as given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Compares the disk with the plan. Writes nothing, and needs no right to.
///
/// Every artifact that is missing, stale, blocked or left over is in the report; a file that
/// cannot be read is in it as blocked.
///
/// # Errors
///
/// When the root itself cannot be read.
pub fn check(plan: &Plan) -> Result<Report, CheckError> {
    let broken_root = |source| CheckError::Root {
        path: plan.root.clone(),
        source,
    };
    let root = fs::canonicalize(&plan.root).map_err(broken_root)?;
    let Walk {
        leftovers,
        unsearched,
    } = walk::walk(plan, &root).map_err(broken_root)?;

    let mut places = Places::new(&root);
    let advice = LineEndAdvice::for_root(&root);
    let mut findings = Vec::new();
    for (path, bytes) in plan.artifacts() {
        let problem = match places.find(path) {
            Err(obstacle) => Some(Problem::Blocked { obstacle }),
            Ok(Place::Vacant { .. }) => Some(Problem::missing(bytes)),
            Ok(Place::File { real, .. }) => match fs::read(&real) {
                Err(error) => Some(Problem::Blocked {
                    obstacle: Obstacle::unreadable(&error),
                }),
                Ok(old) if old == bytes => None,
                Ok(old) => Some(Problem::Stale {
                    difference: Difference::between(path, &old, bytes, advice),
                }),
            },
        };
        findings.extend(problem.map(|problem| Finding::new(path, problem)));
    }
    findings.extend(leftovers.into_iter().map(|leftover| {
        let problem = Problem::Leftover {
            leftover: leftover.kind,
            content: leftover.excerpt(),
        };
        Finding::new(leftover.path, problem)
    }));
    let (ours, unsearched): (Vec<_>, Vec<_>) = unsearched
        .into_iter()
        .partition(|folder| folder.is_in_package);
    findings.extend(ours.into_iter().map(|folder| {
        let obstacle = Obstacle::Unreadable {
            error: folder.error,
        };
        Finding::new(folder.path, Problem::Blocked { obstacle })
    }));
    findings.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Report::new(
        plan.artifacts.len(),
        findings,
        unsearched.into_iter().map(|folder| folder.path).collect(),
    ))
}

/// Whether `path` lies in `folder` or a folder of it.
fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.starts_with('/'))
}

fn has_generated_name(path: &str) -> bool {
    file_name(path).contains(".generated.")
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The folders that hold `path`, nearest first; the root is not among them.
fn folders_above(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(path.rsplit_once('/'), |(above, _)| above.rsplit_once('/'))
        .map(|(above, _)| above)
}

fn is_plain(path: &str) -> bool {
    !path.contains(['\\', ':'])
        && !path.contains(char::is_control)
        && path
            .split('/')
            .all(|part| !part.is_empty() && part != "." && part != "..")
}
