//! What no single crate can prove.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod contract;
mod diagnostics;
mod drift;
mod emitted;
mod ends;
mod faults;
mod live;
mod prose;
mod vectors;
