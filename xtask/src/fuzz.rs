//! Fuzzing of what peers may send, from the vectors as seeds. Knows where both lie.

use std::{
    fs,
    path::Path,
    process::{Command, ExitCode},
};

use anyhow::{Context as _, Result, ensure};
use extension_protocol_gen::cli::Outcome;

/// The package of the targets.
const PACKAGE: &str = "tests/fuzz";
/// How a seed is made of the text of a vector.
type Seed = fn(&str) -> String;
/// The targets.
const TARGETS: [(&str, Seed); 3] = [
    // Reads of 64 bytes.
    ("frame", |text| format!("@{text}\r\n\n {text}\n")),
    ("envelope", |text| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"extension/shutdown\",\"params\":{text}}}\n{{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{text}}}\n"
        )
    }),
    ("decode", str::to_owned),
];

/// Runs each target for a while; one that fails says which input repeats it.
pub(crate) fn run(root: &Path, seconds: u32) -> Result<ExitCode> {
    for (target, seed) in TARGETS {
        let seeds = root.join(PACKAGE).join("target/seeds").join(target);
        let written = write_seeds(root, &seeds, seed)?;
        let corpus = root.join(PACKAGE).join("corpus").join(target);
        fs::create_dir_all(&corpus).context("make a folder for what is found")?;
        println!("{target}: {seconds} s from {written} seeds");
        // Past the cargo that runs this program, which is of another toolchain.
        let status = Command::new("rustup")
            .current_dir(root)
            .args([
                "run",
                "nightly",
                "cargo",
                "fuzz",
                "run",
                "--fuzz-dir",
                PACKAGE,
                target,
            ])
            .args([corpus, seeds])
            .args(["--", &format!("-max_total_time={seconds}")])
            .status()
            .context("run rustup")?;
        if !status.success() {
            eprintln!(
                "error: `{target}` failed. If cargo knows no `fuzz`: `rustup toolchain install nightly` and `cargo install cargo-fuzz`"
            );
            return Ok(Outcome::Failed.into());
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes a seed for each vector; gives how many there are.
fn write_seeds(root: &Path, folder: &Path, seed: Seed) -> Result<usize> {
    fs::create_dir_all(folder).context("make a folder of seeds")?;
    let mut written = 0;
    for entry in fs::read_dir(root.join("generated/vectors")).context("read the vectors")? {
        let path = entry.context("read the vectors")?.path();
        if path
            .extension()
            .is_none_or(|extension| extension != "jsonl")
        {
            continue;
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let vectors = fs::read_to_string(&path).context("read the vectors")?;
        for (number, vector) in vectors.lines().enumerate() {
            let vector: serde_json::Value =
                serde_json::from_str(vector).context("read a vector")?;
            // One that is no text has none.
            let Some(text) = vector.get("text").and_then(serde_json::Value::as_str) else {
                continue;
            };
            fs::write(folder.join(format!("{name}-{number}")), seed(text))
                .context("write a seed")?;
            written += 1;
        }
    }
    ensure!(written > 0, "there are no vectors");
    Ok(written)
}
