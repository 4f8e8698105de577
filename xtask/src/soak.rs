//! The long runs of property tests, which the tests of every day run short.

use std::{path::Path, process::ExitCode};

use anyhow::{Context as _, Result};
use extension_protocol_gen::cli::Outcome;

/// Each test, the variable that says how many cases it tries, and how many are many.
const RUNS: [(&str, &str, &str); 2] = [
    ("compat::tests::random", "COMPAT_EDITS", "10000"),
    ("import::tests::every", "PROPTEST_CASES", "5000"),
];

/// Runs each, with its figures shown; one that fails says what repeats it.
pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    for (test, variable, cases) in RUNS {
        println!("{test}: {cases} cases");
        let status = crate::cargo(root)
            .args(["test", "--release", "--quiet", "--lib"])
            .args([
                "--package",
                "extension-protocol-gen",
                test,
                "--",
                "--nocapture",
            ])
            .env(variable, cases)
            .status()
            .context("run cargo")?;
        if !status.success() {
            return Ok(Outcome::Failed.into());
        }
    }
    Ok(ExitCode::SUCCESS)
}
