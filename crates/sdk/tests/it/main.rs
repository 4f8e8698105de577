//! An extension as its author and as its host see it, without a process.
#![expect(clippy::unwrap_used, reason = "what goes wrong here fails its test")]

mod author;
mod hostile;
