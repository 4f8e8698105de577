//! The command line: arguments in, exit codes and text out. Decides nothing about definitions or
//! artifacts.

mod compat;
mod import;
mod locate;
mod release;
mod side;
mod verify;

use std::{
    error::Error,
    ffi::OsString,
    fmt::Write as _,
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, Parser, Subcommand, ValueEnum};
use serde::Serialize;

use crate::{
    artifact::{self, Ownership, Plan},
    diagnostic::{self, Diagnostic},
    emit, github,
    model::Model,
    releases::{self, Releases},
    source::{self, ReadError, Source},
};

/// How a run ended. The number is the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the exit codes are documented as a whole"
)]
pub enum Outcome {
    /// Nothing is wrong.
    Clean = 0,
    /// A committed artifact is not what the definitions say.
    Drift = 1,
    /// The command line is wrong.
    Usage = 2,
    /// The definitions are wrong.
    Invalid = 3,
    /// The stability contract is broken.
    Broken = 4,
    /// Something could not be read or written, or the generator has a fault.
    Failed = 5,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(outcome as u8)
    }
}

const EXIT_CODES: &str = "\
Exit codes:
  0  clean: nothing is wrong
  1  drift: a committed artifact is not what the definitions say
  2  usage: the command line is wrong
  3  invalid: the definitions are wrong; nothing was written
  4  broken: the stability contract is broken
  5  failed: something could not be read or written";

const VERIFY_EXIT_CODES: &str = "\
Exit codes:
  0  the copy agrees with itself
  1  the copy does not agree with itself
  2  usage: the command line is wrong, or there is no such file
  3  nothing there is a document of the shape that this generator writes
  5  failed: something could not be read";

/// Generates a protocol's contract, index and Rust crate from its definitions.
///
/// The definitions are the TOML files below `schema/v<major>`; what each key means is in
/// `schema/README.md` and in the meta-schema that editors read.
#[derive(Debug, Parser)]
#[command(name = "extension-protocol-gen", version, after_help = EXIT_CODES, after_long_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write all artifacts, or none.
    ///
    /// An artifact whose bytes have not changed is not touched; one that is no longer produced is
    /// removed. Where the definitions are wrong, nothing is written.
    #[command(after_help = EXIT_CODES, after_long_help = EXIT_CODES)]
    Generate(Place),
    /// Compare the committed artifacts with what the definitions say; write nothing.
    ///
    /// Every artifact that is missing, stale or left over is reported, with a bounded diff, and the
    /// command that mends it. The record of releases is held to its hashes and to the stability
    /// contract.
    #[command(after_help = EXIT_CODES, after_long_help = EXIT_CODES)]
    Check {
        #[command(flatten)]
        place: Place,
        /// How to report.
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    #[command(after_help = EXIT_CODES, after_long_help = EXIT_CODES)]
    Compat(compat::CompatArgs),
    #[command(after_help = EXIT_CODES, after_long_help = EXIT_CODES)]
    Import(import::ImportArgs),
    #[command(after_help = EXIT_CODES, after_long_help = EXIT_CODES)]
    Release(release::ReleaseArgs),
    #[command(after_help = VERIFY_EXIT_CODES, after_long_help = VERIFY_EXIT_CODES)]
    Verify(verify::VerifyArgs),
}

#[derive(Args, Debug)]
struct Place {
    /// Folder that holds `schema/` [default: the nearest one upward from the current folder]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

/// How a check reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[expect(
    clippy::exhaustive_enums,
    reason = "every format is handled where they are told apart"
)]
pub enum Format {
    /// For a person.
    Text,
    /// For a program: one JSON document with a `version`.
    Json,
    /// For GitHub Actions: annotations on the files.
    Github,
}

/// Runs the command line.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> Outcome {
    let mut output = Output::default();
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors and go to standard output. Neither is worth a panic
            // where the reader has gone.
            let _ = error.print();
            return if error.use_stderr() {
                Outcome::Usage
            } else {
                Outcome::Clean
            };
        }
    };
    match cli.command {
        Command::Generate(place) => with_root(place.root, &mut output, |root, output| {
            generate(root, output)
        }),
        Command::Check { place, format } => with_root(place.root, &mut output, |root, output| {
            check(root, format, "extension-protocol-gen generate", output)
        }),
        Command::Compat(arguments) => compat::run(&arguments, &mut output),
        Command::Import(arguments) => import::run(&arguments, &mut output),
        Command::Release(arguments) => release::run(arguments, &mut output),
        Command::Verify(arguments) => verify::run(&arguments, &mut output),
    }
}

/// Writes all artifacts below `root`.
pub fn generate(root: &Path, output: &mut Output) -> Outcome {
    let (sources, model) = match load(root, output) {
        Ok(loaded) => loaded,
        Err(outcome) => return outcome,
    };
    let mut model = match model {
        Ok(model) => model,
        Err(diagnostics) => {
            let text = diagnostic::to_text(&diagnostics, &sources, colors());
            output.error(&text);
            return Outcome::Invalid;
        }
    };
    match sound_releases(root, output) {
        Ok(releases) => releases.annotate(&mut model),
        Err(outcome) => return outcome,
    }
    let plan = match plan(root, &model) {
        Ok(plan) => plan,
        Err(error) => return output.failed(&error),
    };
    match artifact::write(&plan) {
        Ok(written) => {
            for path in &written.created {
                output.line(&format!("created {path}"));
            }
            for path in &written.updated {
                output.line(&format!("updated {path}"));
            }
            for path in written.removed.iter().chain(&written.removed_folders) {
                output.line(&format!("removed {path}"));
            }
            for foreign in &written.foreign {
                output.error(&format!(
                    "warning: {} is in the generated package and is not generated\n  hint: move it \
                     elsewhere or delete it\n",
                    foreign.path
                ));
            }
            output.line(&format!(
                "{} artifacts: {} created, {} updated, {} unchanged, {} removed",
                plan.artifacts().len(),
                written.created.len(),
                written.updated.len(),
                written.unchanged,
                written.removed.len(),
            ));
            Outcome::Clean
        }
        Err(error) => output.failed(&error),
    }
}

/// Compares the artifacts below `root` with what the definitions say. `mend` is the command that a
/// person types to write them.
pub fn check(root: &Path, format: Format, mend: &str, output: &mut Output) -> Outcome {
    let (sources, model) = match load(root, output) {
        Ok(loaded) => loaded,
        Err(outcome) => return outcome,
    };
    let mut model = match model {
        Ok(model) => model,
        Err(diagnostics) => {
            match format {
                Format::Text => {
                    let text = diagnostic::to_text(&diagnostics, &sources, colors());
                    output.error(&text);
                }
                Format::Json => output.line(&invalid_json(&diagnostics, &sources)),
                Format::Github => output.print(&diagnostic::to_github(&diagnostics, &sources)),
            }
            return Outcome::Invalid;
        }
    };
    let releases = match read_releases(root, output) {
        Ok(releases) => releases,
        Err(outcome) => return outcome,
    };
    if !releases.faults.is_empty() {
        // What the artifacts say of releases hangs on the record, so they are not compared with it.
        output.print(&match format {
            Format::Text => {
                releases_text(&releases.faults)
                    + "error: the record of releases is broken; the artifacts were not compared\n"
            }
            Format::Json => releases_json(&releases.faults),
            Format::Github => releases_github(&releases.faults),
        });
        return Outcome::Broken;
    }
    releases.annotate(&mut model);
    let report = plan(root, &model)
        .map_err(Box::<dyn Error>::from)
        .and_then(|plan| artifact::check(&plan).map_err(Box::from));
    let report = match report {
        Ok(report) => report,
        Err(error) => return output.failed(&*error),
    };
    output.print(&match format {
        Format::Text => report.to_text(mend),
        Format::Json => report.to_json(mend),
        Format::Github => report.to_github(mend),
    });
    if report.is_clean() {
        Outcome::Clean
    } else {
        Outcome::Drift
    }
}

/// The folder, upward from `from`, that holds definitions.
pub fn find_root(from: &Path) -> Option<&Path> {
    from.ancestors().find(|folder| source::find(folder).is_ok())
}

/// The definitions below a root, and what they come to.
type Loaded = (Vec<Source>, Result<Model, Vec<Diagnostic>>);

fn read_sources(root: &Path, output: &mut Output) -> Result<Vec<Source>, Outcome> {
    source::read(root).map_err(|error| {
        output.failed(&error);
        match error {
            ReadError::Find { .. } => Outcome::Usage,
            ReadError::Io { .. } => Outcome::Failed,
        }
    })
}

fn load(root: &Path, output: &mut Output) -> Result<Loaded, Outcome> {
    let sources = read_sources(root, output)?;
    let model = crate::compile(&sources);
    Ok((sources, model))
}

fn read_releases(root: &Path, output: &mut Output) -> Result<Releases, Outcome> {
    Releases::read(root).map_err(|error| output.failed(&error))
}

/// The releases, if the record is as it was released; otherwise what is wrong with it is said.
fn sound_releases(root: &Path, output: &mut Output) -> Result<Releases, Outcome> {
    let releases = read_releases(root, output)?;
    if releases.faults.is_empty() {
        Ok(releases)
    } else {
        output.error(&releases_text(&releases.faults));
        Err(Outcome::Broken)
    }
}

fn releases_text(faults: &[releases::Fault]) -> String {
    let mut text = String::new();
    for fault in faults {
        let line = fault.line.map_or(String::new(), |line| format!(":{line}"));
        let message = fault.message.trim_end().replace('\n', "\n    ");
        let _ = writeln!(text, "{}{line}: {message}", fault.path);
        let _ = writeln!(text, "  hint: {}\n", fault.hint);
    }
    text
}

fn releases_github(faults: &[releases::Fault]) -> String {
    let mut text = String::new();
    for fault in faults {
        let _ = writeln!(
            text,
            "::error file={},line={},title=release record::{}",
            github::escape_property(&fault.path),
            fault.line.unwrap_or(1),
            github::escape_data(&format!("{}\nhint: {}", fault.message, fault.hint)),
        );
    }
    text
}

/// What the files below `root` should be.
///
/// # Errors
///
/// When the artifacts cannot all stand where the definitions put them.
pub fn plan(root: &Path, model: &Model) -> Result<Plan, artifact::PlanError> {
    // A folder can be locked on Unix, and no editor replaces it; elsewhere only a file can.
    let lock = if cfg!(unix) {
        root.to_owned()
    } else {
        let folder = source::find(root).unwrap_or_default();
        root.join(folder).join("protocol.toml")
    };
    let owned = Ownership::new(model.package.directory.clone());
    Plan::new(root, lock, emit::emit(model), owned)
}

const NO_ROOT: &str = "error: no folder from here upward has `schema/v<major>`\n  hint: run in a \
                       workspace with definitions, or give its folder with `--root`\n";

fn with_root(
    given: Option<PathBuf>,
    output: &mut Output,
    run: impl FnOnce(&Path, &mut Output) -> Outcome,
) -> Outcome {
    if let Some(root) = given {
        return run(&root, output);
    }
    let current = match std::env::current_dir() {
        Ok(current) => current,
        Err(error) => return output.failed(&error),
    };
    if let Some(root) = find_root(&current) {
        run(root, output)
    } else {
        output.error(NO_ROOT);
        Outcome::Usage
    }
}

/// Version of the JSON that a check prints for definitions that are wrong: as that of its report.
const JSON_VERSION: u32 = 1;

#[derive(Serialize)]
struct InvalidDefinitions<'a> {
    version: u32,
    clean: bool,
    diagnostics: Vec<diagnostic::Located<'a>>,
}

fn invalid_json(diagnostics: &[Diagnostic], sources: &[Source]) -> String {
    serde_json::to_string(&InvalidDefinitions {
        version: JSON_VERSION,
        clean: false,
        diagnostics: diagnostic::locate(diagnostics, sources),
    })
    .unwrap_or_default()
}

#[derive(Serialize)]
struct BrokenRecord<'a> {
    version: u32,
    clean: bool,
    releases: &'a [releases::Fault],
}

fn releases_json(faults: &[releases::Fault]) -> String {
    let record = BrokenRecord {
        version: JSON_VERSION,
        clean: false,
        releases: faults,
    };
    serde_json::to_string(&record).unwrap_or_default() + "\n"
}

/// Where text goes: one place for all that the command prints. That its reader has gone ends no work: what cannot be written is dropped, and
/// the exit code still tells.
#[derive(Debug, Default)]
pub struct Output {
    _private: (),
}

#[expect(
    clippy::unused_self,
    reason = "whoever holds it may print, and nobody else"
)]
impl Output {
    fn print(&mut self, text: &str) {
        let mut out = io::stdout().lock();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }

    fn line(&mut self, text: &str) {
        self.print(&format!("{text}\n"));
    }

    fn error(&mut self, text: &str) {
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    fn failed(&mut self, error: &dyn Error) -> Outcome {
        let mut text = format!("error: {error}\n");
        let mut source = error.source();
        while let Some(cause) = source {
            let _ = writeln!(text, "  because: {cause}");
            source = cause.source();
        }
        self.error(&text);
        Outcome::Failed
    }
}

/// Whether diagnostics may have colors: they go to a terminal, and nobody objects.
fn colors() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !refused && io::stderr().is_terminal()
}
