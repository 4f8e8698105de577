//! Models that sidecars serve: which there are, and their answers as streams. Knows no front-end.
//!
//! [`Streams`] takes what [`Services::chunk`](crate::Services::chunk) and its neighbours hear, and must be
//! there before sidecars start; [`Models`] is made of the sidecars that run. A reference below
//! `plugin/<plugin>/` is served by that plugin or by nobody: there is no fallback, ever.
//!
//! # What a host may rely on
//!
//! - **Order.** Chunks are delivered once, in the order of their numbers. What comes early waits, at most 256
//!   ahead; a gap of [`GAP`], a contradiction about the end, or a chunk that cannot be read fails the stream.
//! - **An end.** Every stream ends: in order, with the provider's error, or as interrupted, with the reason. A
//!   stream without its end is never whole.
//! - **Silence.** Nothing for the idle budget ends a stream.
//! - **Slow consumers.** What is not taken waits, up to [`MAX_WAITING`] bytes, and stalls no other stream.
//!   Beyond that the sidecar is held back for as long as the consumer goes on; one that does not ends its stream.
//! - **Cancel.** Dropping a stream, and every failure on the host's side, tells the sidecar to stop.

mod models;
mod reorder;
mod streams;
#[cfg(test)]
mod tests;

pub use self::{
    models::{AskError, ModelSource, Models, ResolveError},
    streams::{GAP, IDLE, MAX_WAITING, ModelEvent, ModelStream, StreamFailure, Streams},
};
