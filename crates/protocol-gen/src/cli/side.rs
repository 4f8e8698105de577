//! Where a contract comes from: definitions, a git revision, a recorded release, or documents on disk.
//! Compares nothing.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    str::FromStr,
};

use super::{Outcome, Output, colors, locate};
use crate::{
    canonical,
    compat::{Location, Side, Subject},
    contract::{Contract, Documents},
    diagnostic,
    releases::Release,
    source::{self, Source},
};

/// A contract that a person names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SideName {
    /// The definitions in the working folder.
    Definitions,
    /// The definitions of a revision.
    Git(String),
    /// A recorded release.
    Release(String),
    /// A canonical document, or a folder that holds one.
    Path(PathBuf),
}

impl FromStr for SideName {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(if text == "definitions" {
            Self::Definitions
        } else if let Some(revision) = text.strip_prefix("git:") {
            Self::Git(revision.to_owned())
        } else if let Some(name) = text.strip_prefix("release:") {
            Self::Release(name.to_owned())
        } else {
            Self::Path(text.into())
        })
    }
}

/// A contract and how a report speaks of it.
pub(super) struct Loaded {
    pub(super) contract: Contract,
    pub(super) side: Side,
    /// The working definitions, if they are this side.
    sources: Vec<Source>,
}

impl Loaded {
    /// Where the working definitions say what they say.
    pub(super) fn locations(&self) -> Vec<(Subject, Location)> {
        locate::subjects(&self.sources)
    }
}

/// Reads a side, or says why it cannot be read.
pub(super) fn load(
    name: &SideName,
    root: &dyn Fn() -> Option<PathBuf>,
    output: &mut Output,
) -> Result<Loaded, Outcome> {
    match name {
        SideName::Path(path) => documents(path, output),
        SideName::Definitions | SideName::Git(_) | SideName::Release(_) => {
            let Some(root) = root() else {
                output.error(super::NO_ROOT);
                return Err(Outcome::Usage);
            };
            match name {
                SideName::Git(revision) => git(&root, revision, output),
                SideName::Release(name) => release(&root, name, output),
                SideName::Definitions | SideName::Path(_) => {
                    let sources = super::read_sources(&root, output)?;
                    let loaded = definitions("the definitions".to_owned(), &sources, true, output)?;
                    Ok(Loaded { sources, ..loaded })
                }
            }
        }
    }
}

fn definitions(
    name: String,
    sources: &[Source],
    working: bool,
    output: &mut Output,
) -> Result<Loaded, Outcome> {
    let model = crate::compile(sources).map_err(|diagnostics| {
        output.error(&diagnostic::to_text(&diagnostics, sources, colors()));
        if !working {
            output.error(&format!(
                "hint: {name} cannot be read by this version of the generator; compare with a \
                 canonical document of it instead\n"
            ));
        }
        Outcome::Invalid
    })?;
    let documents = Documents::of(&model);
    drop(model);
    read(name, &documents, &documents, output)
}

/// A contract of documents, whose canonical form is at hand: what was emitted is in it already.
fn read(
    name: String,
    documents: &Documents,
    form: &Documents,
    output: &mut Output,
) -> Result<Loaded, Outcome> {
    let contract = Contract::read(documents).map_err(|faults| {
        for fault in &faults {
            output.error(&format!("error: {name}: {fault}\n"));
        }
        output.error(&format!(
            "hint: {name} is not a contract of the shape that this generator writes; look at a \
             `schema.generated.json` that it wrote\n"
        ));
        Outcome::Invalid
    })?;
    Ok(Loaded {
        contract,
        side: Side {
            name,
            hash: canonical::hash(form.schema.as_bytes()),
            canonical: form == documents,
        },
        sources: Vec::new(),
    })
}

/// The canonical form of a document that was read; of one that is no JSON, nothing.
fn canonical_form(text: &str) -> String {
    serde_json::from_str(text).map_or_else(|_| String::new(), |value| canonical::to_string(&value))
}

/// How the document of the contract is called in a folder, most telling name first.
const SCHEMA_FILES: [&str; 2] = ["schema.json", "schema.generated.json"];

/// Documents on disk: a contract, and the two others where they lie beside it under names in which
/// only `schema` is another word.
fn documents(path: &Path, output: &mut Output) -> Result<Loaded, Outcome> {
    let mut file = path.to_owned();
    if path.is_dir() {
        let found = SCHEMA_FILES
            .iter()
            .map(|name| path.join(name))
            .find(|path| path.is_file());
        let Some(found) = found else {
            output.error(&format!(
                "error: `{}` holds no `{}`\n  hint: name the file of the canonical document\n",
                path.display(),
                SCHEMA_FILES.join("` and no `")
            ));
            return Err(Outcome::Usage);
        };
        file = found;
    }
    let read_file = |path: &Path, output: &mut Output| {
        fs::read_to_string(path).map_err(|error| {
            output.error(&format!("error: read `{}`: {error}\n", path.display()));
            if error.kind() == std::io::ErrorKind::NotFound {
                output.error(
                    "  hint: a side is `definitions`, `git:REV`, `release:NAME`, or the path of a \
                     canonical document\n",
                );
                Outcome::Usage
            } else if error.kind() == std::io::ErrorKind::InvalidData {
                Outcome::Invalid
            } else {
                Outcome::Failed
            }
        })
    };
    let schema = read_file(&file, output)?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let mut beside = |word: &str| -> Result<Option<String>, Outcome> {
        let other = name.replacen("schema", word, 1);
        let other = file.with_file_name(&other);
        if other == file || !other.is_file() {
            return Ok(None);
        }
        read_file(&other, output).map(Some)
    };
    let documents = Documents {
        schema,
        payloads: beside("payloads")?,
        supplement: beside("supplement")?,
    };
    let form = Documents {
        schema: canonical_form(&documents.schema),
        payloads: documents.payloads.as_deref().map(canonical_form),
        supplement: documents.supplement.as_deref().map(canonical_form),
    };
    read(format!("`{}`", path.display()), &documents, &form, output)
}

fn release(root: &Path, name: &str, output: &mut Output) -> Result<Loaded, Outcome> {
    let releases = super::sound_releases(root, output)?;
    if let Some(release) = releases.find(name) {
        return Ok(of_release(release));
    }
    let known: Vec<&str> = releases
        .releases
        .iter()
        .map(|release| release.name.as_str())
        .collect();
    output.error(&format!(
        "error: no release `{name}` is recorded\n  hint: {}\n",
        if known.is_empty() {
            NO_RELEASE.to_owned()
        } else {
            format!("the record has {}", known.join(", "))
        }
    ));
    Err(Outcome::Usage)
}

fn of_release(release: &Release) -> Loaded {
    Loaded {
        contract: release.contract.clone(),
        side: release.side(),
        sources: Vec::new(),
    }
}

/// Why a revision cannot be read.
#[derive(Debug, thiserror::Error)]
enum GitError {
    #[error("run git: {0}")]
    Run(#[from] std::io::Error),
    #[error("git {command}: {message}")]
    Refused { command: String, message: String },
    #[error("git cat-file: unexpected answer {0:?}")]
    Answer(String),
}

fn git(root: &Path, revision: &str, output: &mut Output) -> Result<Loaded, Outcome> {
    let sources = git_sources(root, revision).map_err(|error| {
        output.error(&format!(
            "error: read the definitions of the revision `{revision}`: {error}\n  hint: name a commit \
             of the repository that holds `{}`\n",
            root.display()
        ));
        match error {
            GitError::Refused { .. } => Outcome::Usage,
            GitError::Run(_) | GitError::Answer(_) => Outcome::Failed,
        }
    })?;
    if sources.is_empty() {
        output.error(&format!(
            "error: the revision `{revision}` has no `schema/v<major>` here\n  hint: name a later \
             commit, or another side\n"
        ));
        return Err(Outcome::Usage);
    }
    definitions(format!("git {revision}"), &sources, false, output)
}

/// The definition files of a revision, from the object store alone: nothing is checked out, and the
/// working folder and the index stay as they are.
fn git_sources(root: &Path, revision: &str) -> Result<Vec<Source>, GitError> {
    let commit = git_output(
        root,
        &[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &format!("{revision}^{{commit}}"),
        ],
    )
    .map_err(|error| match error {
        GitError::Refused { command, message } if message.is_empty() => GitError::Refused {
            command,
            message: "no such commit".to_owned(),
        },
        error @ (GitError::Run(_) | GitError::Refused { .. } | GitError::Answer(_)) => error,
    })?;
    let commit = String::from_utf8_lossy(&commit).trim().to_owned();
    let listed = git_output(
        root,
        &["ls-tree", "-r", "-z", &commit, "--", source::DEFINITIONS],
    )?;
    let mut files: Vec<(String, String)> = Vec::new();
    for entry in String::from_utf8_lossy(&listed).split('\0') {
        // `<mode> blob <object>\t<path>`
        let Some((terms, path)) = entry.split_once('\t') else {
            continue;
        };
        let mut terms = terms.split(' ').skip(1);
        if let (Some("blob"), Some(object)) = (terms.next(), terms.next())
            && source::is_definition(path)
        {
            files.push((path.to_owned(), object.to_owned()));
        }
    }
    files.sort();
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let mut child = Command::new("git")
        .arg("-C")
        .arg(root)
        .args(["cat-file", "--batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut ask = child.stdin.take();
    let objects: Vec<&str> = files.iter().map(|(_, object)| object.as_str()).collect();
    let objects = objects.join("\n") + "\n";
    // Git answers while it reads: whoever writes everything first may wait for ever.
    let writer = std::thread::spawn(move || match &mut ask {
        Some(ask) => ask.write_all(objects.as_bytes()),
        None => Ok(()),
    });
    let mut sources = Vec::new();
    if let Some(answers) = child.stdout.take() {
        let mut answers = BufReader::new(answers);
        for (path, object) in &files {
            let mut head = String::new();
            answers.read_line(&mut head)?;
            // `<object> blob <size>`
            let size = head
                .strip_prefix(object.as_str())
                .and_then(|rest| rest.trim().strip_prefix("blob "))
                .and_then(|size| size.parse::<u64>().ok())
                .ok_or_else(|| GitError::Answer(head.trim().to_owned()))?;
            let mut bytes = Vec::new();
            (&mut answers).take(size + 1).read_to_end(&mut bytes)?;
            bytes.pop();
            sources.push(Source::new(path.clone(), &bytes));
        }
    }
    let written = writer.join();
    child.wait()?;
    if let Ok(written) = written {
        written?;
    }
    Ok(sources)
}

fn git_output(root: &Path, arguments: &[&str]) -> Result<Vec<u8>, GitError> {
    let result = Command::new("git")
        .arg("-C")
        .arg(root)
        .args(arguments)
        .stdin(Stdio::null())
        .output()?;
    if result.status.success() {
        Ok(result.stdout)
    } else {
        Err(GitError::Refused {
            command: arguments.first().copied().unwrap_or_default().to_owned(),
            message: String::from_utf8_lossy(&result.stderr).trim().to_owned(),
        })
    }
}

const NO_RELEASE: &str = "the record has none; say what to compare with: `--against git:REV` or the path of \
                          a canonical document";

/// The newest recorded release.
pub(super) fn newest_release(
    root: &dyn Fn() -> Option<PathBuf>,
    output: &mut Output,
) -> Result<Loaded, Outcome> {
    let Some(root) = root() else {
        output.error(super::NO_ROOT);
        return Err(Outcome::Usage);
    };
    let releases = super::sound_releases(&root, output)?;
    if let Some(release) = releases.newest() {
        return Ok(of_release(release));
    }
    output.error(&format!(
        "error: no release is recorded\n  hint: {NO_RELEASE}\n"
    ));
    Err(Outcome::Usage)
}
