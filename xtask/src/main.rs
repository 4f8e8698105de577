//! The commands that a contributor types. Knows the workspace; knows nothing of the protocol.
#![expect(clippy::print_stdout, reason = "these commands talk to a person")]

mod bench;
mod ci;
mod fuzz;
mod soak;

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context as _, Result, bail};
use clap::{Parser, Subcommand};
use extension_protocol_gen::cli::{self, Format, Outcome, Output};

/// Commands for contributors.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Write all artifacts from the definitions, or check the committed ones.
    Codegen {
        /// Write nothing; report what differs and exit with 1.
        #[arg(long)]
        check: bool,
        /// How a check reports.
        #[arg(long, value_enum, default_value_t = Format::Text, requires = "check")]
        format: Format,
    },
    /// Run everything that CI runs, in its order, and summarize.
    Ci,
    /// Measure against the floors and budgets, in one run; print ratios.
    Bench,
    /// Run the property tests long, in release mode: minutes.
    Soak,
    /// Feed what peers may send to the readers at random, from the vectors; needs nightly and cargo-fuzz.
    Fuzz {
        /// How long each target runs.
        #[arg(long, default_value_t = 60)]
        seconds: u32,
    },
    /// Update every snapshot of the tests, then show what changed.
    Bless {
        /// Only tests whose name contains this.
        filter: Option<String>,
    },
    /// Run a command several times and print its median time and peak memory.
    #[command(hide = true)]
    Measure {
        /// How often.
        runs: u32,
        /// The command.
        #[arg(trailing_var_arg = true, required = true)]
        command: Vec<String>,
    },
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            Outcome::Failed.into()
        }
    }
}

fn run(task: Task) -> Result<ExitCode> {
    let root = root()?;
    match task {
        Task::Codegen { check, format } => {
            let mut output = Output::default();
            let outcome = if check {
                cli::check(&root, format, "cargo xtask codegen", &mut output)
            } else {
                cli::generate(&root, &mut output)
            };
            Ok(outcome.into())
        }
        Task::Ci => ci::run(&root),
        Task::Bench => bench::run(&root),
        Task::Soak => soak::run(&root),
        Task::Fuzz { seconds } => fuzz::run(&root, seconds),
        Task::Bless { filter } => bless(&root, filter.as_deref()),
        Task::Measure { runs, command } => bench::measure(runs, &command),
    }
}

/// The one switch that updates snapshots. What it wrote is shown, because a snapshot that nobody
/// read proves nothing.
fn bless(root: &Path, filter: Option<&str>) -> Result<ExitCode> {
    let status = cargo(root)
        .args(["test", "--workspace", "--no-fail-fast"])
        .args(filter)
        .env("INSTA_UPDATE", "always")
        .env("INSTA_FORCE_PASS", "1")
        .status()
        .context("run cargo")?;
    let stat = Command::new("git")
        .current_dir(root)
        .args(["diff", "--stat"])
        .status()
        .context("run git")?;
    println!("\nRead every snapshot that changed (`git diff`) before you commit it.");
    Ok(if status.success() && stat.success() {
        ExitCode::SUCCESS
    } else {
        Outcome::Failed.into()
    })
}

/// The folder of the workspace.
fn root() -> Result<PathBuf> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    // The binary may have been moved or the folder renamed since it was built.
    let Some(root) = manifest
        .parent()
        .filter(|root| root.join("schema").is_dir())
    else {
        bail!("the workspace that this was built in is gone; run `cargo xtask` again");
    };
    Ok(root.to_owned())
}

fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}
