//! What no single crate can prove.

mod contract;
mod drift;
mod prose;
