//! What no single crate can prove.

mod contract;
mod diagnostics;
mod drift;
mod emitted;
mod prose;
