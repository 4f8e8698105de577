//! The vectors, held to the canonical documents by a validator that is neither Rust nor ours.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use reasonix_extension_tests::workspace;

/// The Python of an environment of its own with what `tests/foreign/requirements.txt` pins. It is made
/// once; a change of the pins makes it anew.
fn python() -> PathBuf {
    let pins = workspace().join("tests/foreign/requirements.txt");
    let text = fs::read_to_string(&pins).unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("foreign");
    let python = folder.join(if cfg!(windows) {
        "Scripts/python.exe"
    } else {
        "bin/python"
    });
    let done = folder.join("installed.txt");
    if fs::read_to_string(&done).is_ok_and(|installed| installed == text) {
        return python;
    }
    let _ = fs::remove_dir_all(&folder);
    runs(
        Command::new("python3").args(["-m", "venv"]).arg(&folder),
        "install Python 3 with its module `venv` (Debian: `apt-get install python3-venv`)",
    );
    runs(
        Command::new(&python)
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "-r",
            ])
            .arg(&pins),
        "let pip reach its index, or a mirror that its configuration names",
    );
    fs::write(done, text).unwrap();
    python
}

/// Runs a command to its end; gives what it printed.
#[track_caller]
fn runs(command: &mut Command, mend: &str) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}\nhint: {mend}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?}:\n{errors}\nhint: {mend}"
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_json_schema_validator_sees_what_it_can_and_misses_what_is_written_down() {
    let told = runs(
        Command::new(python())
            .arg(workspace().join("tests/foreign/validate.py"))
            .arg(workspace().join("generated")),
        "the vectors that it lists have the wrong `schema`; see `generated/vectors/README.md`",
    );
    let folder = workspace().join("generated/vectors");
    let files = fs::read_dir(folder)
        .unwrap()
        .filter(|entry| {
            let path = entry.as_ref().unwrap().path();
            path.extension().is_some_and(|kind| kind == "jsonl")
        })
        .count();
    assert!(told.starts_with(&format!("{files} files, ")), "{told}");
}
