//! The command that records a release: what must hold before, and what was frozen.

use std::path::{Path, PathBuf};

use clap::Args;
use time::OffsetDateTime;

use super::{Outcome, Output, colors};
use crate::{
    artifact,
    compat::{self, Sides},
    contract::{Contract, Documents},
    diagnostic,
    releases::{AppendError, Releases},
};

/// Record the definitions as a release and freeze their documents.
///
/// Refused where a committed artifact is not what the definitions say, where the contract is broken
/// against any earlier release, and where nothing has changed since the newest one. Afterwards the
/// artifacts say since when what is new exists.
#[derive(Args, Debug)]
pub(super) struct ReleaseArgs {
    /// Name of the release, such as `1.1.0`: letters, digits, `.`, `_` and `-`
    name: String,
    /// Folder that holds `schema/` [default: the nearest one upward from the current folder]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

pub(super) fn run(arguments: ReleaseArgs, output: &mut Output) -> Outcome {
    let ReleaseArgs { name, root } = arguments;
    super::with_root(root, output, |root, output| release(root, &name, output))
}

fn release(root: &Path, name: &str, output: &mut Output) -> Outcome {
    let (sources, model) = match super::load(root, output) {
        Ok(loaded) => loaded,
        Err(outcome) => return outcome,
    };
    let mut model = match model {
        Ok(model) => model,
        Err(diagnostics) => {
            output.error(&diagnostic::to_text(&diagnostics, &sources, colors()));
            return Outcome::Invalid;
        }
    };
    let releases = match super::sound_releases(root, output) {
        Ok(releases) => releases,
        Err(outcome) => return outcome,
    };
    let documents = Documents::of(&model);
    let contract = match Contract::read(&documents) {
        Ok(contract) => contract,
        Err(faults) => {
            // A fault of the generator: what it emits must be of its own shape.
            for fault in faults {
                output.error(&format!("error: internal: {fault}\n"));
            }
            return Outcome::Failed;
        }
    };
    if let Err(outcome) = is_growth(&releases, &contract, &documents, output) {
        return outcome;
    }
    releases.annotate(&mut model);
    match super::plan(root, &model) {
        Err(error) => return output.failed(&error),
        Ok(plan) => match artifact::check(&plan) {
            Err(error) => return output.failed(&error),
            Ok(report) if !report.is_clean() => {
                output.error(&report.to_text("extension-protocol-gen generate"));
                output.error(
                    "error: no release is recorded: a committed artifact is not what the definitions \
                     say\n",
                );
                return Outcome::Drift;
            }
            Ok(_) => {}
        },
    }
    let date = OffsetDateTime::now_utc().date().to_string();
    let frozen = match releases.append(root, name, &date, &documents) {
        Ok(frozen) => frozen,
        Err(error @ AppendError::Name(_)) => {
            output.error(&format!("error: {error}\n"));
            return Outcome::Usage;
        }
        Err(error @ (AppendError::Read(_) | AppendError::Write { .. })) => {
            return output.failed(&error);
        }
    };
    output.line(&format!("recorded {name} of {date} in {}", frozen.record));
    for (path, hash) in &frozen.documents {
        output.line(&format!("frozen {path}\n  {hash}"));
    }
    // What was not yet released now is, and the artifacts say so.
    super::generate(root, output)
}

/// Holds the contract to every earlier release, newest first: that one is broken most often.
fn is_growth(
    releases: &Releases,
    contract: &Contract,
    documents: &Documents,
    output: &mut Output,
) -> Result<(), Outcome> {
    for earlier in releases.releases.iter().rev() {
        let mut comparison = compat::compare(&earlier.contract, contract);
        let is_newest = releases
            .newest()
            .is_some_and(|newest| newest.name == earlier.name);
        if is_newest && comparison.changes.is_empty() {
            output.error(&format!(
                "error: nothing has changed since the release {}\n  hint: a release is recorded when \
                 the contract has grown; prose is no part of it\n",
                earlier.name
            ));
            return Err(Outcome::Usage);
        }
        if !comparison.is_permitted() {
            comparison.find_witnesses();
            let sides = Sides {
                old: earlier.side(),
                new: compat::Side {
                    name: "the definitions".to_owned(),
                    hash: crate::canonical::hash(documents.schema.as_bytes()),
                    canonical: true,
                },
                locations: std::collections::BTreeMap::new(),
            };
            output.error(&comparison.to_text(&sides));
            output.error(&format!(
                "error: no release is recorded: the contract is broken against the release {}\n",
                earlier.name
            ));
            return Err(Outcome::Broken);
        }
    }
    Ok(())
}
