//! Finds what lies among the generated files and is not in the plan. Reads folders and the heads
//! of leftover files; changes nothing.

use std::{
    fs::{self, DirEntry, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use super::{
    LeftoverKind, Ownership, Plan, TextDifference, file_name, folders_above, has_generated_name,
    is_below, text_difference::TextLimits,
};

/// Start of the name of a file that a run stages before it puts it in place. The leading dot keeps
/// such a file out of what other tools pick up.
pub(super) const STAGED_PREFIX: &str = ".extension-protocol-gen-";

/// End of the name of a staged file.
pub(super) const STAGED_SUFFIX: &str = ".staged";

/// Folders that hold what builds and package managers put there, not what people commit.
const SKIPPED_FOLDERS: [&str; 2] = ["node_modules", "target"];

/// Bytes read of a leftover file: enough for its first line and an excerpt.
const HEAD_BYTES: u64 = 4_096;

/// What marks a file as generated in its first line.
const MARKER: &str = "@generated";

/// What was found below a root.
#[derive(Debug, Default)]
pub(super) struct Walk {
    pub(super) leftovers: Vec<Leftover>,
    pub(super) unsearched: Vec<Unsearched>,
}

/// A file that the plan does not contain.
#[derive(Debug)]
pub(super) struct Leftover {
    /// For people: below the root, with `/`, of the nearest valid text.
    pub(super) path: String,
    /// For the system.
    pub(super) real: PathBuf,
    pub(super) kind: LeftoverKind,
    is_file: bool,
}

impl Leftover {
    /// How a diff that removes it starts, if it is one of ours and text.
    pub(super) fn excerpt(&self) -> Option<TextDifference> {
        if !self.is_file || self.kind != LeftoverKind::Owned {
            return None;
        }
        let mut head = read_head(&self.real).ok()?;
        let is_cut = fs::metadata(&self.real).ok()?.len() > HEAD_BYTES;
        if let Err(error) = str::from_utf8(&head) {
            // No length: the text goes on behind the head and was cut inside a character.
            if error.error_len().is_some() {
                return None;
            }
            head.truncate(error.valid_up_to());
        }
        let mut excerpt =
            TextDifference::between(str::from_utf8(&head).ok()?, "", TextLimits::EXCERPT);
        excerpt.hidden_more |= is_cut;
        Some(excerpt).filter(|excerpt| !excerpt.lines.is_empty())
    }
}

/// A folder that could not be read.
#[derive(Debug)]
pub(super) struct Unsearched {
    pub(super) path: String,
    pub(super) error: String,
    pub(super) is_in_package: bool,
}

/// Searches the root of `plan`; `root` is its canonical path.
pub(super) fn walk(plan: &Plan, root: &Path) -> io::Result<Walk> {
    let mut found = Walk::default();
    let mut folders = vec![(String::new(), root.to_owned())];
    while let Some((path, real)) = folders.pop() {
        let entries: io::Result<Vec<_>> = fs::read_dir(&real).and_then(Iterator::collect);
        let entries = match entries {
            Ok(entries) => entries,
            Err(error) if path.is_empty() => return Err(error),
            Err(error) => {
                found.unsearched.push(Unsearched {
                    is_in_package: is_in_package(plan, &path),
                    error: error.to_string(),
                    path,
                });
                continue;
            }
        };
        // A repository in the repository, such as a submodule, is somebody else's.
        if !path.is_empty() && entries.iter().any(|entry| entry.file_name() == ".git") {
            continue;
        }
        for entry in entries {
            visit(plan, root, &path, &entry, &mut folders, &mut found);
        }
    }
    found.leftovers.sort_by(|a, b| a.path.cmp(&b.path));
    found.unsearched.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Whether the walk comes by `path`, provided that nothing but folders is on the way.
pub(super) fn reaches(path: &str, owned: &Ownership) -> bool {
    folders_above(path).all(|folder| !is_skipped_name(file_name(folder)) && owned.searches(folder))
}

/// Whether `name` is that of a staged file.
fn is_staged_name(name: &str) -> bool {
    name.starts_with(STAGED_PREFIX) && name.ends_with(STAGED_SUFFIX)
}

fn visit(
    plan: &Plan,
    root: &Path,
    folder: &str,
    entry: &DirEntry,
    folders: &mut Vec<(String, PathBuf)>,
    found: &mut Walk,
) {
    let name = entry.file_name();
    let name = name.to_string_lossy();
    let path = if folder.is_empty() {
        name.clone().into_owned()
    } else {
        format!("{folder}/{name}")
    };
    let real = entry.path();
    // An entry that is gone by now is no leftover.
    let Ok(kind) = entry.file_type() else { return };
    // Links to folders are not followed, for they may lead in circles; the package folder is the
    // exception, since a link there would hide every leftover.
    let is_folder = kind.is_dir()
        || (kind.is_symlink() && path == plan.owned.package && leads_inside(&real, root));
    if is_folder {
        if !is_skipped_name(&name) && plan.owned.searches(&path) {
            folders.push((path, real));
        }
        return;
    }
    let kind_of_leftover = if is_staged_name(&name) {
        LeftoverKind::Staged
    } else if plan.artifacts.contains_key(&path) || name.starts_with('.') {
        return;
    } else if has_generated_name(&path) {
        LeftoverKind::Owned
    } else if !is_below(&path, &plan.owned.package) {
        return;
    } else if kind.is_file() && has_marker(&real) {
        LeftoverKind::Owned
    } else {
        LeftoverKind::Foreign
    };
    if !is_artifact_in_other_case(plan, root, &path, &real) {
        found.leftovers.push(Leftover {
            path,
            real,
            kind: kind_of_leftover,
            is_file: kind.is_file(),
        });
    }
}

fn is_in_package(plan: &Plan, path: &str) -> bool {
    path == plan.owned.package || is_below(path, &plan.owned.package)
}

fn is_skipped_name(name: &str) -> bool {
    name.starts_with('.') || SKIPPED_FOLDERS.contains(&name)
}

fn leads_inside(link: &Path, root: &Path) -> bool {
    fs::canonicalize(link).is_ok_and(|real| real.starts_with(root) && real.is_dir())
}

/// Where the file system takes `a` and `A` for one name, the file found as `a` may be artifact `A`.
fn is_artifact_in_other_case(plan: &Plan, root: &Path, path: &str, real: &Path) -> bool {
    let lower = path.to_lowercase();
    plan.artifacts
        .keys()
        .filter(|artifact| artifact.to_lowercase() == lower)
        .any(|artifact| {
            fs::canonicalize(root.join(artifact))
                .is_ok_and(|place| fs::canonicalize(real).is_ok_and(|real| real == place))
        })
}

fn has_marker(path: &Path) -> bool {
    read_head(path).is_ok_and(|head| {
        let line = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
        line.windows(MARKER.len())
            .any(|bytes| bytes == MARKER.as_bytes())
    })
}

fn read_head(path: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    File::open(path)?.take(HEAD_BYTES).read_to_end(&mut head)?;
    Ok(head)
}
