//! The command as a user runs it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod command;
mod evolution;
mod import;
mod releases;
mod verify;
mod workspace;
