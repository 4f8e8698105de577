//! A copy of the workspace's definitions, to be edited and released as a maintainer does.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use crate::command::{exits, run};

const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A folder with definitions, their artifacts and their releases.
pub(crate) struct Workspace {
    folder: TempDir,
}

impl Workspace {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["schema", "generated", "docs"] {
            copy(&Path::new(WORKSPACE).join(name), &folder.path().join(name));
        }
        Self { folder }
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    pub(crate) fn read(&self, below: &str) -> String {
        fs::read_to_string(self.path(below)).unwrap()
    }

    /// Replaces a text that stands once in a file of definitions.
    #[track_caller]
    pub(crate) fn edit(&self, below: &str, from: &str, to: &str) {
        let text = self.read(below);
        assert_eq!(text.matches(from).count(), 1, "{from:?} in {below}");
        fs::write(self.path(below), text.replace(from, to)).unwrap();
    }

    /// Adds to a file of definitions, at its end.
    pub(crate) fn append(&self, below: &str, text: &str) {
        fs::write(self.path(below), self.read(below) + text).unwrap();
    }

    /// Runs the command here; gives what it printed to standard output and to standard error.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str], code: i32) -> (String, String) {
        exits(&run(self.folder.path(), arguments), code)
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
