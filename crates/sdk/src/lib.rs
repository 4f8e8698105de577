//! Write extensions of Reasonix.
//!
//! An extension is a process of its own that the host starts and talks to over standard input and output.
//! [`Extension`] is built of handlers and then [run](Extension::run):
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use reasonix_extension_sdk::{Extension, Ruling, hooks::ToolBefore};
//!
//! fn main() -> ExitCode {
//!     Extension::new("guard", "1.0.0")
//!         .on::<ToolBefore, _, _>(|call, _host| async move {
//!             if call.name == "bash" && call.arguments.contains("rm -rf /") {
//!                 return Ok(Ruling::block("this would delete everything"));
//!             }
//!             Ok(Ruling::proceed())
//!         })
//!         .run()
//! }
//! ```
//!
//! # What an author may rely on
//!
//! - **Order.** Requests and notifications come in the order in which the host sent them. A request is
//!   handled beside others, up to [`MAX_CALLBACKS`] at once, each from the order in which it came;
//!   observers run one after the other. Answers go out as they are ready.
//! - **Deadlines.** The host says how long a ruling may take; the handler is dropped when the time is up,
//!   and the host is told so. A handler must not block its thread: all of them share it. Use
//!   `tokio::task::spawn_blocking`, or a process, for what computes for long.
//! - **Failures.** An error or a panic of a handler is answered to the host and costs that call alone.
//! - **Values that were too large for a frame** are fetched, counted and hashed before a handler sees
//!   them.
//! - **Standard output is the wire.** The SDK takes it over: what a library prints there is shown on
//!   standard error instead, with a warning.
//! - **The end.** When the host asks for it or closes the pipe, what was asked is answered, and the process
//!   ends.

mod client;
mod extension;
mod ruling;
mod serve;
mod service;
mod stdio;
mod stream;
pub mod testing;

pub use reasonix_extension_protocol::{
    ErrorReason, Externalizable, HookPoint, RawJson, hooks, limits, methods, payloads, types,
};
pub use reasonix_extension_wire::{CallError, RpcError, content::ContentError};

pub use self::{
    client::Host,
    extension::{Extension, HandlerError, MAX_CALLBACKS},
    ruling::Ruling,
    serve::ServeError,
    stream::{SinkClosed, StreamSink},
};
