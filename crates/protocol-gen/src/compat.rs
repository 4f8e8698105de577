//! Two contracts in, judged changes out: the stability contract as code. Knows no definitions, no files
//! and no command line.
//!
//! [`compare`] finds every change once and judges it; [`Comparison::find_witnesses`] then looks for
//! messages that show what a change does to a peer, by running the decoders of both contracts.

mod change;
mod common;
mod diff;
mod hooks;
mod renames;
mod report;
mod sections;
mod types;
mod witness;

pub use self::{
    change::{Change, Growth, Kind, Law, Place, Subject, Verdict},
    report::{Location, REPORT_VERSION, Side, Sides},
    witness::{Carrier, Party, Version, Witness},
};
use crate::contract::Contract;

/// Judges every change from one contract to another. What only one of them says, because a document of
/// the other is not at hand, is left out and listed in [`Comparison::left_out`].
pub fn compare(old: &Contract, new: &Contract) -> Comparison {
    let (old, new, left_out) = common::common(old, new);
    let (changes, renames) = diff::diff(&old, &new);
    Comparison {
        changes,
        left_out,
        renames,
        old,
        new,
    }
}

/// Every change from one contract to another, forbidden ones first.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Comparison {
    /// The changes.
    pub changes: Vec<Change>,
    /// What was not compared, and why.
    pub left_out: Vec<String>,
    renames: renames::Renames,
    old: Contract,
    new: Contract,
}

impl Comparison {
    /// Whether a major version permits all of it. Another major version may do what it likes.
    pub fn is_permitted(&self) -> bool {
        self.changes
            .iter()
            .all(|change| !matches!(change.verdict, Verdict::Forbidden(_)))
    }

    /// Looks for messages that one of the two contracts accepts and the other refuses, a pair a change
    /// at most.
    pub fn find_witnesses(&mut self) {
        witness::find(&self.old, &self.new, &self.renames, &mut self.changes);
    }
}

#[cfg(test)]
mod tests;
