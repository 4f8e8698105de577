//! The command that verifies a copy: which contracts are known, and how what was found is told.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::{Outcome, Output};
use crate::{
    canonical,
    contract::{DocumentKind, Documents},
    source,
    verify::{self, Known, VerifyError},
};

/// Verify that a copy of the documents agrees with itself, and tell which release it is.
///
/// The copy is a canonical document, or a folder that holds documents, their hash files and the
/// generated index. It agrees with itself if every document is in canonical form and every hash that is
/// stated is that of one of them. Known are the recorded releases, and the definitions at hand, of the
/// workspace that the command runs in.
#[derive(Args, Debug)]
pub(super) struct VerifyArgs {
    /// The document or the folder
    #[arg(value_name = "FILE|DIR")]
    path: PathBuf,
    /// Folder that holds `schema/` [default: the nearest one upward from the current folder]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// How to report
    #[arg(long, value_enum, default_value_t = VerifyFormat::Text)]
    format: VerifyFormat,
}

/// How a verification is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum VerifyFormat {
    /// For a person.
    Text,
    /// For a program: one JSON document with a `version`.
    Json,
}

pub(super) fn run(arguments: &VerifyArgs, output: &mut Output) -> Outcome {
    let root = arguments.root.clone().or_else(|| {
        let current = std::env::current_dir().ok()?;
        super::find_root(&current).map(ToOwned::to_owned)
    });
    // A copy can be verified anywhere; only its name needs a workspace.
    let known = match root.map(|root| known(&root, output)).transpose() {
        Ok(known) => known.unwrap_or_default(),
        Err(outcome) => return outcome,
    };
    match verify::verify(&arguments.path, &known) {
        Ok(verification) => {
            output.print(&match arguments.format {
                VerifyFormat::Text => verification.to_text(),
                VerifyFormat::Json => verification.to_json(),
            });
            if verification.consistent {
                Outcome::Clean
            } else {
                Outcome::Drift
            }
        }
        Err(VerifyError::Shape { path, faults }) => {
            for fault in &faults {
                output.error(&format!("error: `{}`: {fault}\n", path.display()));
            }
            Outcome::Invalid
        }
        Err(error @ VerifyError::Missing { .. }) => {
            output.failed(&error);
            Outcome::Usage
        }
        Err(error @ VerifyError::NoContract { .. }) => {
            output.failed(&error);
            output.error(
                "  hint: a document is one JSON object with `protocol`, `$defs` and `methods`, such as \
                 `schema.generated.json`\n",
            );
            Outcome::Invalid
        }
        Err(error @ VerifyError::Io { .. }) => output.failed(&error),
    }
}

fn known(root: &Path, output: &mut Output) -> Result<Vec<Known>, Outcome> {
    let hashes = |documents: &Documents| {
        DocumentKind::ALL
            .into_iter()
            .filter_map(|kind| Some((kind, canonical::hash(documents.text(kind)?.as_bytes()))))
            .collect()
    };
    let mut known: Vec<Known> = super::sound_releases(root, output)?
        .releases
        .iter()
        .map(|release| {
            let name = format!("release {}", release.name);
            (name, hashes(&release.documents))
        })
        .collect();
    // Definitions that are being edited and do not compile are no reason not to verify a copy.
    if let Ok(sources) = source::read(root)
        && let Ok(model) = crate::compile(&sources)
    {
        let name = "the definitions at hand".to_owned();
        known.push((name, hashes(&Documents::of(&model))));
    }
    Ok(known)
}
