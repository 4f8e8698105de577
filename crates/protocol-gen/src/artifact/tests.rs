//! Each test has its own folder; `Workspace` is the only thing that touches it.

mod check;
mod render;
mod write;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use tempfile::TempDir;

use super::{Artifact, Obstacle, Ownership, Plan, PlanError, Problem, Report, check};

const COMMAND: &str = "gen";
const LOCK: &str = "schema/protocol.toml";

/// A root with a definition to lock and a package folder named `pkg`.
struct Workspace {
    folder: TempDir,
}

impl Workspace {
    fn new() -> Self {
        let workspace = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        workspace.put(LOCK, "");
        workspace
    }

    /// A workspace in which `artifacts` stand as planned.
    fn with(artifacts: &[(&str, &str)]) -> Self {
        let workspace = Self::new();
        for (path, text) in artifacts {
            workspace.put(path, text);
        }
        workspace
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    fn put(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    fn modified(&self, path: &str) -> SystemTime {
        fs::metadata(self.path(path)).unwrap().modified().unwrap()
    }

    /// Everything below the root: kind and time of change, and content of files.
    fn state(&self) -> BTreeMap<PathBuf, (fs::FileType, SystemTime, Vec<u8>)> {
        let mut state = BTreeMap::new();
        let mut folders = vec![self.root().to_owned()];
        while let Some(folder) = folders.pop() {
            let entries = fs::read_dir(&folder)
                .unwrap()
                .map(|entry| entry.unwrap().path());
            for path in entries.chain([folder.clone()]) {
                let metadata = fs::symlink_metadata(&path).unwrap();
                if metadata.is_dir() && path != folder {
                    folders.push(path);
                    continue;
                }
                let bytes = fs::read(&path).unwrap_or_default();
                let modified = metadata.modified().unwrap();
                state.insert(path, (metadata.file_type(), modified, bytes));
            }
        }
        state
    }

    fn plan(&self, artifacts: &[(&str, &str)]) -> Plan {
        self.plan_owning(artifacts, Ownership::new("pkg"))
    }

    fn plan_owning(&self, artifacts: &[(&str, &str)], owned: Ownership) -> Plan {
        Plan::new(self.root(), self.path(LOCK), list(artifacts), owned).unwrap()
    }

    fn check(&self, artifacts: &[(&str, &str)]) -> Report {
        check(&self.plan(artifacts)).unwrap()
    }
}

fn list(artifacts: &[(&str, &str)]) -> Vec<Artifact> {
    let artifact = |(path, text): &(&str, &str)| Artifact {
        path: (*path).to_owned(),
        bytes: text.as_bytes().to_vec(),
    };
    artifacts.iter().map(artifact).collect()
}

/// The paths of a report with the first words of what is wrong.
fn paths(report: &Report) -> Vec<(&str, &str)> {
    let problem = |problem: &Problem| match problem {
        Problem::Missing { .. } => "missing",
        Problem::Stale { .. } => "stale",
        Problem::Blocked { obstacle } => match obstacle {
            Obstacle::Folder => "folder",
            Obstacle::NotAFile => "not a file",
            Obstacle::FileAbove => "file above",
            Obstacle::LinkOutside { .. } => "link outside",
            Obstacle::LinkToNothing => "link to nothing",
            Obstacle::SharedPlace { .. } => "shared place",
            Obstacle::Unreadable { .. } => "unreadable",
        },
        Problem::Leftover { leftover, .. } => match leftover {
            super::LeftoverKind::Owned => "owned",
            super::LeftoverKind::Foreign => "foreign",
            super::LeftoverKind::Staged => "staged",
        },
    };
    report
        .findings
        .iter()
        .map(|finding| (finding.path.as_str(), problem(&finding.problem)))
        .collect()
}

#[track_caller]
fn refused(artifacts: &[&str]) -> String {
    let artifacts: Vec<_> = artifacts.iter().map(|path| (*path, "")).collect();
    let owned = Ownership::new("pkg").with_excluded("fixtures");
    let error: PlanError = Plan::new("root", "lock", list(&artifacts), owned).unwrap_err();
    error.to_string()
}

#[test]
fn a_path_that_could_leave_the_root_is_refused() {
    for path in [
        "", "/pkg/a", "pkg/../a", "pkg/./a", "pkg//a", "pkg/", "pkg\\a", "c:/a", "pkg/a\nb",
    ] {
        let message = refused(&[path]);
        assert!(message.contains("not a plain relative path"), "{message}");
    }
    assert!(matches!(
        Plan::new("root", "lock", Vec::new(), Ownership::new("../pkg")),
        Err(PlanError::NotPlain { .. })
    ));
}

#[test]
fn a_path_that_would_not_be_found_again_is_refused() {
    assert_eq!(
        refused(&["docs/a.md"]),
        "own `docs/a.md`: it lies neither under `pkg/` nor has a name that contains `.generated.`"
    );
    assert!(refused(&["pkg"]).starts_with("own `pkg`"));
    assert!(refused(&["pkgs/a"]).starts_with("own `pkgs/a`"));
    for path in [
        "pkg/target/a",
        "pkg/.x/a",
        "node_modules/a.generated.md",
        "fixtures/b/a.generated.c",
    ] {
        let message = refused(&[path]);
        assert!(message.ends_with("not searched for leftovers"), "{message}");
    }
}

#[test]
fn paths_that_stand_in_each_others_way_are_refused() {
    assert_eq!(
        refused(&["pkg/A.rs", "pkg/a.rs"]),
        "place both `pkg/a.rs` and `pkg/A.rs`: they stand in each other's way"
    );
    assert_eq!(
        refused(&["pkg/a", "pkg/A/b/c"]),
        "place both `pkg/A/b/c` and `pkg/a`: they stand in each other's way"
    );
}

#[test]
fn an_owner_covers_its_folder_and_marked_names_anywhere() {
    let owned = Ownership::new("pkg");
    let covered = ["pkg/a", "pkg/b/c", "docs/x.generated.md", ".x.generated.y"];
    assert!(covered.iter().all(|path| owned.covers(path)));
    let others = [
        "pkg",
        "docs/generated.md",
        "x.generated.d/readme.md",
        "src/pkg/a",
    ];
    assert!(!others.iter().any(|path| owned.covers(path)));
}
