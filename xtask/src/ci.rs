//! What CI runs: every step, to the end, with a table of what failed. Knows commands only.

use std::{path::Path, process::ExitCode};

use anyhow::{Context as _, Result};
use extension_protocol_gen::cli::Outcome;

use crate::cargo;

/// One step of CI.
struct Step {
    name: &'static str,
    arguments: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
}

/// In order; the tests come last, so that their summary is what a run ends with.
const STEPS: &[Step] = &[
    Step {
        name: "generated artifacts",
        arguments: &["xtask", "codegen", "--check"],
        environment: &[],
    },
    Step {
        name: "formatting",
        arguments: &["fmt", "--all", "--check"],
        environment: &[],
    },
    Step {
        name: "clippy",
        arguments: &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ],
        environment: &[],
    },
    Step {
        name: "rustdoc",
        arguments: &["doc", "--workspace", "--no-deps"],
        environment: &[("RUSTDOCFLAGS", "-D warnings")],
    },
    Step {
        name: "tests",
        arguments: &["test", "--workspace"],
        environment: &[],
    },
];

pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    let mut failed = Vec::new();
    for step in STEPS {
        println!("== {}: cargo {}", step.name, step.arguments.join(" "));
        let status = cargo(root)
            .args(step.arguments)
            .envs(step.environment.iter().copied())
            .status()
            .context("run cargo")?;
        if !status.success() {
            failed.push(step.name);
        }
    }
    println!();
    for step in STEPS {
        let mark = if failed.contains(&step.name) {
            "FAILED"
        } else {
            "ok"
        };
        println!("{mark:6} {}", step.name);
    }
    // A line that says the same to programs that read test runners.
    println!(
        "\n{} passed, {} failed",
        STEPS.len() - failed.len(),
        failed.len()
    );
    Ok(if failed.is_empty() {
        ExitCode::SUCCESS
    } else {
        Outcome::Drift.into()
    })
}
