//! Where an artifact really stands: through links, inside the root, in nobody's way. Reads names
//! and kinds of files; never their content.

use std::{
    collections::BTreeMap,
    fmt, fs, io,
    path::{Path, PathBuf},
};

use serde::Serialize;

/// What keeps an artifact from being read or written at its path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "obstacle", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Obstacle {
    /// A folder stands at the path.
    Folder,
    /// A pipe, socket or device stands at the path.
    NotAFile,
    /// A file stands where a folder of the path should be.
    FileAbove,
    /// The path leads through a symbolic link to something outside of the root.
    LinkOutside {
        /// Where it leads.
        target: String,
    },
    /// The path leads through a symbolic link to nothing.
    LinkToNothing,
    /// Through a symbolic link, another artifact stands at the same place.
    SharedPlace {
        /// Path of the other artifact.
        other: String,
    },
    /// The system refuses to read it.
    Unreadable {
        /// What the system said.
        error: String,
    },
}

impl Obstacle {
    pub(super) fn unreadable(error: &io::Error) -> Self {
        Self::Unreadable {
            error: error.to_string(),
        }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder => f.write_str("a folder stands there; move it away"),
            Self::NotAFile => f.write_str("a pipe, socket or device stands there; move it away"),
            Self::FileAbove => {
                f.write_str("a file stands where its folder should be; move that file away")
            }
            Self::LinkOutside { target } => write!(
                f,
                "it is a symbolic link out of the root, to `{target}`; replace the link by a file"
            ),
            Self::LinkToNothing => f.write_str("it is a symbolic link to nothing; remove the link"),
            Self::SharedPlace { other } => write!(
                f,
                "it is a symbolic link to the same file as `{other}`; remove one of the links"
            ),
            Self::Unreadable { error } => {
                write!(f, "it cannot be read ({error}); make it readable")
            }
        }
    }
}

/// The place of one artifact.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// A file stands there; `real` is its path without links.
    File {
        real: PathBuf,
        metadata: fs::Metadata,
    },
    /// Nothing stands there. `folder` exists, `missing` are the folders to make below it.
    Vacant {
        folder: PathBuf,
        missing: Vec<String>,
        name: String,
    },
}

/// Finds places below one root, and notices when two are the same.
pub(super) struct Places<'a> {
    root: &'a Path,
    taken: BTreeMap<PathBuf, String>,
}

impl<'a> Places<'a> {
    /// `root` must be canonical.
    pub(super) fn new(root: &'a Path) -> Self {
        Self {
            root,
            taken: BTreeMap::new(),
        }
    }

    /// The place of the artifact `path`, to be asked for once.
    pub(super) fn find(&mut self, path: &str) -> Result<Place, Obstacle> {
        let place = self.resolve(path)?;
        let real = match &place {
            Place::File { real, .. } => real.clone(),
            Place::Vacant {
                folder,
                missing,
                name,
            } => {
                let mut real = folder.clone();
                real.extend(missing);
                real.join(name)
            }
        };
        match self.taken.insert(real, path.to_owned()) {
            Some(other) => Err(Obstacle::SharedPlace { other }),
            None => Ok(place),
        }
    }

    fn resolve(&self, path: &str) -> Result<Place, Obstacle> {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut folder = self.root.to_owned();
        let mut parts = above.split('/').filter(|part| !part.is_empty());
        while let Some(part) = parts.next() {
            let Some(real) = self.step(&folder, part)? else {
                return Ok(Place::Vacant {
                    folder,
                    missing: std::iter::once(part)
                        .chain(parts)
                        .map(str::to_owned)
                        .collect(),
                    name: name.to_owned(),
                });
            };
            let metadata = fs::metadata(&real).map_err(|error| Obstacle::unreadable(&error))?;
            if !metadata.is_dir() {
                return Err(Obstacle::FileAbove);
            }
            folder = real;
        }
        let Some(real) = self.step(&folder, name)? else {
            return Ok(Place::Vacant {
                folder,
                missing: Vec::new(),
                name: name.to_owned(),
            });
        };
        let metadata = fs::metadata(&real).map_err(|error| Obstacle::unreadable(&error))?;
        if metadata.is_dir() {
            Err(Obstacle::Folder)
        } else if metadata.is_file() {
            Ok(Place::File { real, metadata })
        } else {
            Err(Obstacle::NotAFile)
        }
    }

    /// The real path of `name` in the real path `folder`, or nothing if nothing stands there.
    fn step(&self, folder: &Path, name: &str) -> Result<Option<PathBuf>, Obstacle> {
        let path = folder.join(name);
        let metadata = match fs::symlink_metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Obstacle::unreadable(&error)),
        };
        if !metadata.is_symlink() {
            return Ok(Some(path));
        }
        let real = fs::canonicalize(&path).map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                Obstacle::LinkToNothing
            } else {
                Obstacle::unreadable(&error)
            }
        })?;
        if real.starts_with(self.root) {
            Ok(Some(real))
        } else {
            Err(Obstacle::LinkOutside {
                target: real.display().to_string(),
            })
        }
    }
}
