//! The host's side of the Reasonix Extension Protocol.
//!
//! A [`Launch`] says what an installed plugin may do. [`Sidecar::start`] runs it as a process of its own,
//! shakes hands, and gives a [`Sidecar`] that can be called; a [`Generation`] is all sidecars of one
//! runtime, and a [`Runtime`] swaps one generation for the next. What sidecars ask of the host goes to its
//! [`Services`].
//!
//! # What a host may rely on
//!
//! - **Every wait has a bound.** A start has its budget, a call its deadline, an end its steps, each with a
//!   time. A sidecar that reads nothing, floods, or never answers cannot hold the host.
//! - **A crash is a fact, not a retry.** When a process or its connection ends, every call that waits fails
//!   at once, later ones fail immediately, and nothing is started again before the next generation.
//! - **Nothing stays behind.** A process is killed with everything that it started; on Linux it also dies
//!   when the host does, however that happens. What it has started itself dies with a killed host on Windows
//!   alone; elsewhere it must notice the end of its input.
//! - **No message of a stranger is given as it came.** Errors, reasons and notices are free of credentials
//!   ([`redact`]) and of control characters. What is to be shown, asked or streamed is not changed.

pub mod dispatch;
mod generation;
mod handshake;
mod launch;
mod process;
pub mod provider;
pub mod redact;
mod sidecar;

pub use reasonix_extension_wire::{BoxFuture, RpcError, content};

pub use self::{
    generation::{Generation, Runtime, STARTING_AT_ONCE},
    launch::{
        Declared, Launch, MAX_TIMEOUT, NoServices, Notice, Ruled, Services, Session, Stage,
        StartError,
    },
    process::Program,
    sidecar::{CallFailure, FailureKind, SHUTDOWN_BUDGET, START_BUDGET, Sidecar, State},
};
