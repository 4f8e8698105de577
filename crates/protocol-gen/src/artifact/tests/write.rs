//! What a write leaves on the disk, also when it fails or is not alone.

use std::{io, sync::Barrier, thread, time::Duration};

use super::{
    super::{
        Foreign, WriteError, Written,
        lock::{Lock, LockFailure},
        write,
        write::write_with,
    },
    *,
};

impl Workspace {
    fn write(&self, artifacts: &[(&str, &str)]) -> Result<Written, WriteError> {
        write(&self.plan(artifacts))
    }

    /// Dates far in the past, so that any later change of a file shows.
    fn age(&self, path: &str) -> SystemTime {
        let past = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let file = fs::File::options()
            .write(true)
            .open(self.path(path))
            .unwrap();
        file.set_modified(past).unwrap();
        past
    }
}

/// `write` on `workspace`, with a rename that fails at the artifact `path`.
fn write_failing_at(
    workspace: &Workspace,
    artifacts: &[(&str, &str)],
    path: &str,
) -> Result<Written, WriteError> {
    let broken = fs::canonicalize(workspace.root()).unwrap().join(path);
    write_with(&workspace.plan(artifacts), &mut |staged, target| {
        if target == broken {
            return Err(io::Error::other("broken"));
        }
        staged.persist(target).map_err(io::Error::from)
    })
}

#[test]
fn a_write_makes_the_check_clean() {
    let workspace = Workspace::with(&[("pkg/same", "1"), ("pkg/b", "old")]);
    workspace.put("pkg/x/y/old.rs", "// @generated\n");
    let artifacts = [
        ("pkg/same", "1"),
        ("pkg/b", "new"),
        ("pkg/c/d/e", "new"),
        ("f.generated.md", ""),
    ];
    let written = workspace.write(&artifacts).unwrap();
    assert_eq!(
        written,
        Written {
            created: vec!["f.generated.md".into(), "pkg/c/d/e".into()],
            updated: vec!["pkg/b".into()],
            unchanged: 1,
            removed: vec!["pkg/x/y/old.rs".into()],
            removed_folders: vec!["pkg/x/y".into(), "pkg/x".into()],
            foreign: Vec::new(),
        }
    );
    assert!(workspace.check(&artifacts).is_clean());
    assert!(!workspace.path("pkg/x").exists());
    assert!(!workspace.write(&artifacts).unwrap().changed());
}

#[test]
fn a_file_with_the_right_bytes_is_not_touched() {
    let workspace = Workspace::with(&[("pkg/same", "1"), ("pkg/b", "old")]);
    let past = workspace.age("pkg/same");
    workspace.age("pkg/b");
    workspace
        .write(&[("pkg/same", "1"), ("pkg/b", "new")])
        .unwrap();
    assert_eq!(workspace.modified("pkg/same"), past);
    assert_ne!(workspace.modified("pkg/b"), past);

    let before = workspace.state();
    workspace
        .write(&[("pkg/same", "1"), ("pkg/b", "new")])
        .unwrap();
    assert_eq!(workspace.state(), before);
}

#[test]
fn only_leftovers_of_ours_are_removed() {
    let workspace = Workspace::with(&[
        ("pkg/notes.txt", "mine"),
        ("pkg/sub/notes.txt", "mine"),
        ("pkg/sub/old.rs", "// @generated\n"),
        ("pkg/.keep", ""),
        ("pkg/.extension-protocol-gen-x1.staged", ""),
        ("docs/old.generated.md", ""),
        ("docs2/readme.md", ""),
    ]);
    let written = workspace.write(&[]).unwrap();
    assert_eq!(
        written.removed,
        [
            "docs/old.generated.md",
            "pkg/.extension-protocol-gen-x1.staged",
            "pkg/sub/old.rs"
        ]
    );
    assert_eq!(written.removed_folders, <[&str; 0]>::default());
    let foreign: Vec<_> = written
        .foreign
        .iter()
        .map(|Foreign { path }| path)
        .collect();
    assert_eq!(foreign, ["pkg/notes.txt", "pkg/sub/notes.txt"]);
    // A folder outside of the package is not ours, empty or not.
    for path in [
        "docs",
        "docs2/readme.md",
        "pkg/.keep",
        "pkg/notes.txt",
        "pkg/sub/notes.txt",
    ] {
        assert!(workspace.path(path).exists(), "{path}");
    }
}

#[test]
fn the_package_folder_itself_stays() {
    let workspace = Workspace::with(&[("pkg/old.rs", "// @generated\n")]);
    workspace.write(&[]).unwrap();
    assert!(workspace.path("pkg").is_dir());
}

#[test]
fn what_stands_in_the_way_stops_the_write_before_it_starts() {
    let workspace = Workspace::with(&[("pkg/a", "old"), ("pkg/dir/x", ""), ("pkg/file", "")]);
    workspace.put("pkg/old.rs", "// @generated\n");
    let before = workspace.state();
    let error = workspace
        .write(&[
            ("pkg/a", "new"),
            ("pkg/b/c", ""),
            ("pkg/dir", ""),
            ("pkg/file/d", ""),
        ])
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "write `pkg/dir`: a folder stands there; move it away; `pkg/file/d`: a file stands where \
         its folder should be; move that file away"
    );
    assert_eq!(workspace.state(), before);
}

#[test]
fn a_failed_preparation_leaves_everything_as_it_was() {
    let workspace = Workspace::with(&[("pkg/a", "old")]);
    let before: Vec<_> = workspace.state().into_keys().collect();
    // A longer name than any file system takes.
    let long = format!("pkg/new/{}/d", "x".repeat(300));
    let error = workspace
        .write(&[("pkg/a", "new"), ("pkg/b/c", "new"), (&long, "new")])
        .unwrap_err();
    let WriteError::Stage { path, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(path, &long);
    assert!(error.to_string().ends_with("; nothing was changed"));
    assert_eq!(workspace.read("pkg/a"), "old");
    assert_eq!(workspace.state().into_keys().collect::<Vec<_>>(), before);
}

#[test]
fn a_failed_rename_puts_back_what_was_replaced() {
    let workspace = Workspace::with(&[("pkg/a", "old"), ("pkg/c", "old"), ("pkg/z", "old")]);
    workspace.put("pkg/old.rs", "// @generated\n");
    let past = workspace.age("pkg/a");
    let before: Vec<_> = workspace.state().into_keys().collect();
    let artifacts = ["pkg/a", "pkg/b/new", "pkg/c", "pkg/z"].map(|path| (path, "new"));

    let error = write_failing_at(&workspace, &artifacts, "pkg/c").unwrap_err();
    assert_eq!(
        error.to_string(),
        "replace `pkg/c`; all files were put back"
    );
    let source = std::error::Error::source(&error).unwrap();
    assert_eq!(source.to_string(), "broken");
    for path in ["pkg/a", "pkg/c", "pkg/z"] {
        assert_eq!(workspace.read(path), "old");
    }
    assert_eq!(workspace.modified("pkg/a"), past);
    assert_eq!(workspace.state().into_keys().collect::<Vec<_>>(), before);
}

#[test]
fn a_target_that_turns_into_a_folder_meanwhile_is_a_failed_rename() {
    let workspace = Workspace::with(&[("pkg/a", "old"), ("pkg/b", "old")]);
    let plan = workspace.plan(&[("pkg/a", "new"), ("pkg/b", "new")]);
    let error = write_with(&plan, &mut |staged, target| {
        if target.ends_with("b") {
            fs::remove_file(target)?;
            fs::create_dir(target)?;
            fs::write(target.join("x"), "")?;
        }
        staged.persist(target).map_err(io::Error::from)
    })
    .unwrap_err();
    assert!(matches!(error, WriteError::Replace { .. }), "{error:?}");
    assert_eq!(workspace.read("pkg/a"), "old");
    assert!(workspace.path("pkg/b/x").exists());
}

#[test]
fn what_could_not_be_put_back_is_named() {
    let workspace = Workspace::with(&[("pkg/b", "old")]);
    let plan = workspace.plan(&[("pkg/a", "new"), ("pkg/b", "new")]);
    let error = write_with(&plan, &mut |staged, target| {
        if target.ends_with("b") {
            fs::remove_file(target.with_file_name("a"))?;
            return Err(io::Error::other("broken"));
        }
        staged.persist(target).map_err(io::Error::from)
    })
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "replace `pkg/b`; all files were put back but `pkg/a`"
    );
}

#[test]
fn staged_files_stand_beside_their_target_and_a_check_finds_them() {
    let workspace = Workspace::with(&[("pkg/a", "old")]);
    let artifacts = [("pkg/a", "new")];
    let plan = workspace.plan(&artifacts);
    let mut seen = Vec::new();
    write_with(&plan, &mut |staged, target| {
        assert_eq!(staged.parent(), target.parent());
        assert_eq!(fs::read(&staged)?, b"new");
        assert_eq!(fs::read(target)?, b"old");
        seen = check(&plan).unwrap().findings;
        staged.persist(target).map_err(io::Error::from)
    })
    .unwrap();
    assert_eq!(seen.len(), 2);
    assert!(seen[0].path.starts_with("pkg/.extension-protocol-gen-"));
}

#[cfg(unix)]
#[test]
fn modes_are_kept_and_new_files_are_not_private() {
    use std::os::unix::fs::PermissionsExt as _;

    let workspace = Workspace::with(&[("pkg/a", "old"), ("pkg/b", "old"), ("probe", "")]);
    let mode = |path: &str| {
        fs::metadata(workspace.path(path))
            .unwrap()
            .permissions()
            .mode()
            & 0o777
    };
    let set = |path: &str, mode| {
        fs::set_permissions(workspace.path(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    set("pkg/a", 0o755);
    set("pkg/b", 0o444);
    let names = ["pkg/a", "pkg/b", "pkg/c"];
    workspace.write(&names.map(|name| (name, "new"))).unwrap();
    // An ordinary new file shows what the umask leaves.
    assert_eq!(names.map(mode), [0o755, 0o444, mode("probe") & 0o644]);
}

#[cfg(unix)]
#[test]
fn a_link_inside_the_root_stays_and_its_target_is_written() {
    use std::os::unix::fs::symlink;

    let workspace = Workspace::with(&[("elsewhere/a", "old")]);
    fs::create_dir_all(workspace.path("pkg")).unwrap();
    symlink("../elsewhere/a", workspace.path("pkg/a")).unwrap();
    workspace.write(&[("pkg/a", "new")]).unwrap();
    assert!(workspace.path("pkg/a").is_symlink());
    assert_eq!(workspace.read("elsewhere/a"), "new");
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_root_is_refused() {
    use std::os::unix::fs::symlink;

    let other = Workspace::with(&[("a", "old"), ("dir/b", "old")]);
    let workspace = Workspace::with(&[("pkg/z", "old")]);
    symlink(other.path("a"), workspace.path("pkg/a")).unwrap();
    symlink(other.path("dir"), workspace.path("pkg/dir")).unwrap();
    let error = workspace
        .write(&["pkg/a", "pkg/dir/b", "pkg/dir/new", "pkg/z"].map(|path| (path, "new")))
        .unwrap_err();
    let WriteError::Blocked { blocked } = error else {
        panic!("{error:?}");
    };
    assert_eq!(blocked.len(), 3);
    assert!(
        blocked[0]
            .to_string()
            .starts_with("`pkg/a`: it is a symbolic link out of the root")
    );
    assert_eq!(other.read("a"), "old");
    assert_eq!(workspace.read("pkg/z"), "old");
    assert!(!other.path("dir/new").exists());
}

#[cfg(unix)]
#[test]
fn of_a_leftover_link_only_the_link_is_removed() {
    use std::os::unix::fs::symlink;

    let workspace = Workspace::with(&[("precious", "1"), ("pkg/a", "1")]);
    symlink("../precious", workspace.path("pkg/b.generated.md")).unwrap();
    symlink("../precious", workspace.path("pkg/c")).unwrap();
    let written = workspace.write(&[("pkg/a", "1")]).unwrap();
    assert_eq!(written.removed, ["pkg/b.generated.md"]);
    assert_eq!(written.foreign[0].path, "pkg/c");
    assert_eq!(workspace.read("precious"), "1");
}

#[cfg(unix)]
#[test]
fn leftovers_behind_a_linked_package_folder_are_found() {
    use std::os::unix::fs::symlink;

    let workspace = Workspace::with(&[
        ("real/old.rs", "// @generated\n"),
        ("real/sub/old.rs", "// @generated\n"),
    ]);
    symlink("real", workspace.path("pkg")).unwrap();
    let written = workspace.write(&[("pkg/a", "1")]).unwrap();
    assert_eq!(written.removed, ["pkg/old.rs", "pkg/sub/old.rs"]);
    assert_eq!(written.removed_folders, ["pkg/sub"]);
    assert_eq!(workspace.read("real/a"), "1");
}

#[test]
fn a_lock_that_is_held_is_waited_for_and_then_given_up() {
    let workspace = Workspace::new();
    let path = workspace.path(LOCK);
    let held = Lock::acquire(&path, Duration::ZERO).unwrap();
    let failure = Lock::acquire(&path, Duration::ZERO).unwrap_err();
    assert!(matches!(failure, LockFailure::Busy), "{failure:?}");

    let is_waiting = Barrier::new(2);
    thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            is_waiting.wait();
            Lock::acquire(&path, Duration::from_mins(1)).is_ok()
        });
        is_waiting.wait();
        drop(held);
        assert!(waiter.join().unwrap());
    });
}

#[test]
fn a_lock_file_that_is_missing_is_an_error_and_stays_missing() {
    let workspace = Workspace::new();
    let lock = workspace.path("no.toml");
    let plan = Plan::new(
        workspace.root(),
        &lock,
        list(&[("pkg/a", "1")]),
        Ownership::new("pkg"),
    )
    .unwrap();
    let error = write(&plan).unwrap_err();
    assert!(matches!(error, WriteError::Lock { .. }), "{error:?}");
    assert!(!lock.exists() && !workspace.path("pkg").exists());
}

#[cfg(unix)]
#[test]
fn the_root_itself_can_be_the_lock() {
    let workspace = Workspace::new();
    let plan = Plan::new(
        workspace.root(),
        workspace.root(),
        list(&[("pkg/a", "1")]),
        Ownership::new("pkg"),
    )
    .unwrap();
    write(&plan).unwrap();
    assert_eq!(workspace.read("pkg/a"), "1");
}

#[test]
fn runs_at_once_end_with_all_files_of_one_of_them() {
    let workspace = Workspace::new();
    let names: Vec<_> = (0..20).map(|n| format!("pkg/{}/{n}.rs", n % 3)).collect();
    let plan_of = |text: &'static str| {
        let mut artifacts: Vec<_> = names.iter().map(|name| (name.as_str(), text)).collect();
        // Each also has a file of its own, which the other one finds left over.
        let own = format!("pkg/{text}/{text}.generated.rs");
        artifacts.push((&own, text));
        workspace.plan(&artifacts)
    };
    let plans = [plan_of("a"), plan_of("b")];
    let start = Barrier::new(8);
    thread::scope(|scope| {
        for plan in plans.iter().cycle().take(8) {
            let start = &start;
            scope.spawn(move || {
                start.wait();
                for _ in 0..3 {
                    write(plan).unwrap();
                }
            });
        }
    });
    let clean = plans.iter().filter(|plan| check(plan).unwrap().is_clean());
    assert_eq!(clean.count(), 1);
}

#[test]
fn a_reader_never_sees_half_a_file() {
    let workspace = Workspace::new();
    let (a, b) = ("a".repeat(300_000), "b".repeat(200_000));
    workspace.put("pkg/a", &a);
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for text in [&b, &a, &b, &a, &b, &a] {
                workspace.write(&[("pkg/a", text)]).unwrap();
            }
        });
        while !writer.is_finished() {
            let text = workspace.read("pkg/a");
            assert!(text == a || text == b, "{} bytes", text.len());
        }
    });
}
