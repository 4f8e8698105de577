//! The command that compares two contracts: arguments in, a report and an exit code out.

use std::{collections::BTreeMap, path::PathBuf};

use clap::{Args, ValueEnum};

use super::{
    Outcome, Output,
    side::{self, SideName},
};
use crate::compat::{self, Sides};

/// Compare two contracts and judge every change.
///
/// Within a major version a contract may grow by new optional members, new enum values and new
/// methods, and by nothing else. Each change is reported once, with the rule that permits or forbids
/// it and with a message that one of the two contracts accepts and the other refuses, if there is one.
#[derive(Args, Debug)]
pub(super) struct CompatArgs {
    /// The later contract: `definitions`, `git:REV`, `release:NAME`, or the path of a canonical
    /// document. Documents that lie beside it under the same name with `payloads` or `supplement` for
    /// `schema` are read too; what only one side says is not compared, and that is said
    #[arg(value_name = "SIDE", default_value = "definitions")]
    new: SideName,
    /// The earlier contract, named in the same ways [default: the newest release]
    #[arg(long, value_name = "SIDE")]
    against: Option<SideName>,
    /// Folder that holds `schema/` [default: the nearest one upward from the current folder]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// How to report
    #[arg(long, value_enum, default_value_t = CompatFormat::Text)]
    format: CompatFormat,
    /// Look for no messages that show what a change does
    #[arg(long)]
    no_witnesses: bool,
}

/// How a comparison is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CompatFormat {
    /// For a person.
    Text,
    /// For a program: one JSON document with a `version`.
    Json,
    /// For GitHub Actions: annotations on the definitions.
    Github,
    /// A table for release notes.
    Markdown,
}

pub(super) fn run(arguments: &CompatArgs, output: &mut Output) -> Outcome {
    let root = || {
        arguments.root.clone().or_else(|| {
            let current = std::env::current_dir().ok()?;
            super::find_root(&current).map(ToOwned::to_owned)
        })
    };
    let loaded = (|| {
        let old = match &arguments.against {
            Some(name) => side::load(name, &root, output)?,
            None => side::newest_release(&root, output)?,
        };
        let new = side::load(&arguments.new, &root, output)?;
        Ok((old, new))
    })();
    let (old, new) = match loaded {
        Ok(loaded) => loaded,
        Err(outcome) => return outcome,
    };
    let mut comparison = compat::compare(&old.contract, &new.contract);
    if !arguments.no_witnesses {
        comparison.find_witnesses();
    }
    let mut locations = BTreeMap::new();
    if !comparison.changes.is_empty() {
        locations.extend(old.locations());
        locations.extend(new.locations());
    }
    let sides = Sides {
        old: old.side,
        new: new.side,
        locations,
    };
    output.print(&match arguments.format {
        CompatFormat::Text => comparison.to_text(&sides),
        CompatFormat::Json => comparison.to_json(&sides),
        CompatFormat::Github => comparison.to_github(&sides),
        CompatFormat::Markdown => comparison.to_markdown(&sides),
    });
    if comparison.is_permitted() {
        Outcome::Clean
    } else {
        Outcome::Broken
    }
}
