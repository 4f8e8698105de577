//! What the tests of the whole workspace share: where it is, and a copy of it to break.

pub mod bench;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The folder of the workspace.
///
/// # Panics
///
/// Never: this package lies in a folder of the workspace.
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("this package lies in a folder of the workspace")
}

/// Copies the definitions and all artifacts of the workspace to `to`, to be changed there.
///
/// # Errors
///
/// When something cannot be read or written.
pub fn copy_of_artifacts(to: &Path) -> io::Result<()> {
    for folder in ["schema", "generated", "docs"] {
        copy(&workspace().join(folder), &to.join(folder))?;
    }
    Ok(())
}

/// Copies a folder and all below it.
///
/// # Errors
///
/// When something cannot be read or written.
pub fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Every file below a folder, as paths relative to it, sorted.
///
/// # Errors
///
/// When a folder cannot be read.
pub fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else if let Ok(path) = entry.path().strip_prefix(folder) {
                files.push(path.to_owned());
            }
        }
    }
    files.sort();
    Ok(files)
}
