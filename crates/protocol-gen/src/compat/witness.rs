//! Messages that show what a change does: one contract accepts them and the other refuses. Nothing here
//! reasons about changes; both decoders are run.

pub(super) mod candidates;
mod frames;
mod search;
mod ways;

use std::fmt;

use super::{
    change::{Change, Probe},
    renames::Renames,
};
use crate::contract::{Contract, Fault};

/// A program at one end of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(clippy::exhaustive_enums, reason = "a connection has two ends")]
pub enum Party {
    /// The agent.
    Host,
    /// The sidecar.
    Extension,
}

impl Party {
    /// As reports spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Extension => "extension",
        }
    }

    /// The program at the other end.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Host => Self::Extension,
            Self::Extension => Self::Host,
        }
    }

    pub(super) fn sender(from_host: bool) -> Self {
        if from_host {
            Self::Host
        } else {
            Self::Extension
        }
    }
}

/// One of the two contracts that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(clippy::exhaustive_enums, reason = "two contracts are compared")]
pub enum Version {
    /// The earlier one.
    Old,
    /// The later one.
    New,
}

impl Version {
    /// As reports spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Old => "old",
            Self::New => "new",
        }
    }

    /// The other contract.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Old => Self::New,
            Self::New => Self::Old,
        }
    }
}

/// A place in what peers send, and who sends it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Carrier {
    /// The place: ``params of `extension/initialize` (host_to_extension_request)``.
    pub place: String,
    /// Who sends it; `None` where nothing says who does.
    pub sender: Option<Party>,
}

/// A message that one contract accepts and the other refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Witness {
    /// The message, as JSON text.
    pub message: String,
    /// Where it stands and who sends it.
    pub carrier: Carrier,
    /// The contract that accepts it.
    pub accepted_by: Version,
    /// What the decoder of the other contract says. The place is one in the message.
    pub refusal: Fault,
    /// The same message without what is new, which both contracts accept: what a sender says to a peer
    /// that may be older. There where the change is permitted growth.
    pub without: Option<String>,
}

impl fmt::Display for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (accepts, refuses) = (self.accepted_by, self.accepted_by.other());
        match self.carrier.sender {
            Some(sender) => write!(
                f,
                "the {} {} sends it, the {} {} refuses it: {}",
                accepts.as_str(),
                sender.as_str(),
                refuses.as_str(),
                sender.other().as_str(),
                self.refusal
            ),
            None => write!(
                f,
                "the {} decoder accepts it, the {} one refuses it: {}",
                accepts.as_str(),
                refuses.as_str(),
                self.refusal
            ),
        }
    }
}

/// Both contracts, and what types are called in each.
#[derive(Clone, Copy)]
struct Both<'c> {
    old: &'c Contract,
    new: &'c Contract,
    renames: &'c Renames,
}

impl<'c> Both<'c> {
    fn side(self, version: Version) -> &'c Contract {
        match version {
            Version::Old => self.old,
            Version::New => self.new,
        }
    }

    /// What a type is called in one of them, by its old name.
    fn name<'n>(self, version: Version, old_name: &'n str) -> &'n str
    where
        'c: 'n,
    {
        match version {
            Version::Old => old_name,
            Version::New => self.renames.new_name(old_name),
        }
    }
}

/// Gives every change the messages that show it, or says that there are none.
pub(super) fn find(old: &Contract, new: &Contract, renames: &Renames, changes: &mut [Change]) {
    let both = Both { old, new, renames };
    let ways = ways::Ways::of(both);
    for change in changes {
        change.witnesses.clear();
        let tried = match &change.probe {
            Probe::Nothing => {
                change.no_witness = Some("no message carries what changed".to_owned());
                continue;
            }
            Probe::Members(members) => {
                let members = members.clone();
                search::members(both, &ways, change, &members)
            }
            Probe::Type(ty) => {
                let ty = ty.clone();
                search::whole_type(both, &ways, change, &ty)
            }
            Probe::Method(name) => {
                let name = name.clone();
                frames::method(both, change, &name)
            }
            Probe::Hook(point) => {
                let point = point.clone();
                search::hook(both, change, &point)
            }
            Probe::Document(probe) => {
                let probe = probe.clone();
                search::document(both, &ways, change, &probe)
            }
            Probe::Error(reason) => {
                let reason = reason.clone();
                frames::error(both, change, &reason)
            }
        };
        change.no_witness = change.witnesses.is_empty().then(|| {
            format!("none of the {tried} messages that were tried tells the two contracts apart")
        });
    }
}
