//! The binary, run as a user runs it: arguments in, text, exit codes and files out.

use std::{
    collections::BTreeMap,
    fs,
    io::Read as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use tempfile::TempDir;

/// The sample protocol of the workspace, which has every shape.
const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/shapes");

/// A folder with the definitions of the sample.
fn sample() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("schema/v1");
    fs::create_dir_all(&to).unwrap();
    for entry in fs::read_dir(Path::new(SAMPLE).join("schema/v1")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
    folder
}

pub(crate) fn generator(root: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_extension-protocol-gen"));
    command.current_dir(root);
    command
}

pub(crate) fn run(root: &Path, arguments: &[&str]) -> Output {
    generator(root).args(arguments).output().unwrap()
}

#[track_caller]
pub(crate) fn exits(output: &Output, code: i32) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{out}\n{err}");
    (out, err)
}

/// Every file below a folder: its content and when it was last written.
fn tree(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, std::time::SystemTime)> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let written = fs::metadata(&path).unwrap().modified().unwrap();
                files.insert(path.clone(), (fs::read(&path).unwrap(), written));
            }
        }
    }
    files
}

pub(crate) fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    tree(folder)
        .into_iter()
        .map(|(path, (bytes, _))| (path.strip_prefix(folder).unwrap().to_owned(), bytes))
        .collect()
}

/// Changes the definitions so that many artifacts change.
fn edit(root: &Path, title: &str) {
    let path = root.join("schema/v1/protocol.toml");
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<String> = text
        .lines()
        .map(|line| {
            if line.starts_with("title = \"Example Case") && !line.contains("payloads") {
                format!("title = \"Example Case {title}\"")
            } else {
                line.to_owned()
            }
        })
        .collect();
    // In one step, as editors do: a run that reads meanwhile sees the old file or the new one.
    let draft = root.join("draft");
    fs::write(&draft, lines.join("\n") + "\n").unwrap();
    fs::rename(draft, path).unwrap();
}

#[test]
fn help_says_what_each_command_does_and_what_each_exit_code_means() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [
        &["--help"][..],
        &["generate", "--help"],
        &["check", "--help"],
        &["compat", "--help"],
        &["import", "--help"],
        &["release", "--help"],
    ] {
        let (out, err) = exits(&run(folder.path(), arguments), 0);
        for code in [
            "0  clean",
            "1  drift",
            "2  usage",
            "3  invalid",
            "4  broken",
            "5  failed",
        ] {
            assert!(out.contains(code), "{arguments:?}: {out}");
        }
        assert_eq!(err, "");
    }
    insta::assert_snapshot!(exits(&run(folder.path(), &["check", "--help"]), 0).0);
}

#[test]
fn a_wrong_command_line_is_told_apart_from_drift() {
    let folder = sample();
    exits(&run(folder.path(), &[]), 2);
    exits(&run(folder.path(), &["check", "--format", "xml"]), 2);
    let empty = tempfile::tempdir().unwrap();
    let (_, err) = exits(&run(empty.path(), &["check"]), 2);
    assert!(err.contains("--root"), "{err}");
    let (_, err) = exits(&run(empty.path(), &["check", "--root", "nowhere"]), 2);
    assert!(err.contains("nowhere"), "{err}");
}

#[test]
fn what_was_generated_is_clean_and_is_not_written_again() {
    let folder = sample();
    let (out, _) = exits(&run(folder.path(), &["check"]), 1);
    assert!(
        out.ends_with("hint: run `extension-protocol-gen generate` and commit the result\n"),
        "{out}"
    );
    exits(&run(folder.path(), &["generate"]), 0);
    let before = tree(folder.path());
    exits(&run(folder.path(), &["check"]), 0);
    let (out, _) = exits(&run(folder.path(), &["generate"]), 0);
    assert!(out.contains("0 created, 0 updated"), "{out}");
    assert_eq!(
        tree(folder.path()),
        before,
        "no byte and no date has changed"
    );
    // From a folder below, and from elsewhere.
    exits(&run(&folder.path().join("generated/src"), &["check"]), 0);
    let elsewhere = tempfile::tempdir().unwrap();
    let root = folder.path().to_str().unwrap();
    exits(&run(elsewhere.path(), &["check", "--root", root]), 0);
}

#[test]
fn invalid_definitions_write_nothing_and_are_reported_in_each_format() {
    let folder = sample();
    exits(&run(folder.path(), &["generate"]), 0);
    let path = folder.path().join("schema/v1/shapes.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("type = \"Kind\"", "type = \"Knd\"")).unwrap();
    let before = tree(folder.path());
    let (_, err) = exits(&run(folder.path(), &["generate"]), 3);
    assert!(
        err.contains("there is no type `Knd`") && err.contains("shapes.toml:"),
        "{err}"
    );
    assert!(!err.contains('\u{1b}'), "no colors where nobody sees them");
    exits(&run(folder.path(), &["check"]), 3);
    let (out, _) = exits(&run(folder.path(), &["check", "--format", "json"]), 3);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json["version"], 1);
    assert_eq!(json["diagnostics"][0]["code"], "unresolved");
    let (out, _) = exits(&run(folder.path(), &["check", "--format", "github"]), 3);
    assert!(
        out.starts_with("::error file=schema/v1/shapes.toml,line="),
        "{out}"
    );
    assert_eq!(tree(folder.path()), before);
}

#[test]
fn drift_of_every_kind_is_reported_in_each_format() {
    let folder = sample();
    exits(&run(folder.path(), &["generate"]), 0);
    let at = |path: &str| folder.path().join(path);
    fs::remove_file(at("generated/src/hooks.rs")).unwrap();
    fs::write(at("generated/old.generated.json"), "{}").unwrap();
    fs::write(at("generated/notes.txt"), "mine").unwrap();
    let json = fs::read_to_string(at("generated/schema.generated.json")).unwrap();
    fs::write(at("generated/schema.generated.json"), json + "\n").unwrap();
    let lib = fs::read_to_string(at("generated/src/lib.rs")).unwrap();
    fs::write(at("generated/src/lib.rs"), lib.replace('\n', "\r\n")).unwrap();

    let (out, _) = exits(&run(folder.path(), &["check"]), 1);
    insta::assert_snapshot!(out);
    let (out, _) = exits(&run(folder.path(), &["check", "--format", "json"]), 1);
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["version"], 1);
    assert_eq!(report["findings"].as_array().unwrap().len(), 5);
    let (out, _) = exits(&run(folder.path(), &["check", "--format", "github"]), 1);
    assert!(
        out.lines()
            .filter(|line| line.starts_with("::error file="))
            .count()
            >= 5,
        "{out}"
    );

    let (out, err) = exits(&run(folder.path(), &["generate"]), 0);
    assert!(
        out.contains("removed generated/old.generated.json"),
        "{out}"
    );
    assert!(err.contains("generated/notes.txt"), "{err}");
    assert!(at("generated/notes.txt").exists(), "what is not ours stays");
    fs::remove_file(at("generated/notes.txt")).unwrap();
    exits(&run(folder.path(), &["check"]), 0);
}

#[test]
fn neither_locale_nor_folder_nor_time_zone_reaches_an_artifact() {
    let (folder, other) = (sample(), sample());
    exits(&run(folder.path(), &["generate"]), 0);
    let output = generator(Path::new("/"))
        .args(["generate", "--root"])
        .arg(other.path())
        .envs([
            ("LC_ALL", "tr_TR.UTF-8"),
            ("LANG", "tr_TR.UTF-8"),
            ("TZ", "Asia/Kolkata"),
        ])
        .output()
        .unwrap();
    exits(&output, 0);
    assert_eq!(contents(folder.path()), contents(other.path()));
}

#[test]
fn a_check_needs_no_home_and_leaves_no_trace() {
    let folder = sample();
    exits(&run(folder.path(), &["generate"]), 0);
    let before = tree(folder.path());
    let output = generator(folder.path())
        .arg("check")
        .env_clear()
        .env("TMPDIR", "/nowhere")
        .output()
        .unwrap();
    exits(&output, 0);
    assert_eq!(tree(folder.path()), before);
}

#[test]
#[cfg(unix)]
fn a_reader_that_goes_away_ends_no_work() {
    let folder = sample();
    // Far more drift than a pipe holds.
    let mut child = generator(folder.path())
        .arg("check")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut err = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut err)
        .unwrap();
    let status = child.wait().unwrap();
    assert_eq!((status.code(), err.as_str()), (Some(1), ""));

    // Standard output and error closed from the start.
    let binary = env!("CARGO_BIN_EXE_extension-protocol-gen");
    for closed in [">&-", "2>&-", ">&- 2>&-"] {
        let folder = sample();
        let status = Command::new("sh")
            .args(["-c", &format!("exec \"$0\" generate {closed}"), binary])
            .current_dir(folder.path())
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(0), "{closed}");
        exits(&run(folder.path(), &["check"]), 0);
    }
}

#[test]
#[cfg(unix)]
fn a_linked_artifact_stays_a_link() {
    let folder = sample();
    exits(&run(folder.path(), &["generate"]), 0);
    let link = folder.path().join("docs/EXAMPLE.generated.md");
    let target = folder.path().join("page.md");
    fs::rename(&link, &target).unwrap();
    std::os::unix::fs::symlink("../page.md", &link).unwrap();
    exits(&run(folder.path(), &["check"]), 0);
    edit(folder.path(), "linked");
    exits(&run(folder.path(), &["generate"]), 0);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(
        fs::read_to_string(&target)
            .unwrap()
            .contains("Example Case linked")
    );
    exits(&run(folder.path(), &["check"]), 0);
}

#[test]
fn runs_at_once_end_with_the_artifacts_of_one_of_them() {
    let (folder, other) = (sample(), sample());
    edit(other.path(), "other");
    exits(&run(folder.path(), &["generate"]), 0);
    exits(&run(other.path(), &["generate"]), 0);
    let mut outcomes = Vec::new();
    for _ in 0..2 {
        for title in ["v1", "other"] {
            edit(folder.path(), title);
            let children: Vec<_> = (0..4)
                .map(|_| {
                    generator(folder.path())
                        .arg("generate")
                        .stdout(Stdio::null())
                        .stderr(Stdio::piped())
                        .spawn()
                        .unwrap()
                })
                .collect();
            outcomes.extend(children);
        }
    }
    for child in outcomes {
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let generated = |root: &Path| contents(&root.join("generated"));
    let end = generated(folder.path());
    edit(folder.path(), "v1");
    exits(&run(folder.path(), &["generate"]), 0);
    assert!(
        end == generated(folder.path()) || end == generated(other.path()),
        "the artifacts are those of one run"
    );
}

#[test]
#[cfg(unix)]
fn a_killed_run_leaves_whole_artifacts_and_the_next_one_repairs() {
    let (folder, other) = (sample(), sample());
    edit(other.path(), "other");
    exits(&run(folder.path(), &["generate"]), 0);
    exits(&run(other.path(), &["generate"]), 0);
    let sound = [
        contents(&folder.path().join("generated")),
        contents(&other.path().join("generated")),
    ];
    for round in 0..40_u32 {
        edit(folder.path(), if round % 2 == 0 { "other" } else { "v1" });
        let mut child = generator(folder.path())
            .arg("generate")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Killed at another moment each round: after so many looks at whether it has ended.
        for _ in 0..round * 40 {
            if child.try_wait().unwrap().is_some() {
                break;
            }
        }
        let _ = child.kill();
        child.wait().unwrap();
        for (path, bytes) in contents(&folder.path().join("generated")) {
            if path.to_string_lossy().contains(".extension-protocol-gen-") {
                continue;
            }
            let whole = sound.iter().any(|files| files.get(&path) == Some(&bytes));
            assert!(
                whole,
                "round {round}: {} is neither old nor new",
                path.display()
            );
        }
    }
    edit(folder.path(), "v1");
    exits(&run(folder.path(), &["generate"]), 0);
    assert_eq!(
        contents(&folder.path().join("generated")),
        sound[0],
        "nothing is left over"
    );
    exits(&run(folder.path(), &["check"]), 0);
}
