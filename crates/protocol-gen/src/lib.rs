//! Schema-first code generator for JSON-RPC protocols.

pub mod artifact;
pub mod canonical;
pub mod cli;
pub mod compat;
pub mod contract;
mod definition;
pub mod diagnostic;
pub mod emit;
mod example;
mod github;
mod graph;
pub mod import;
pub mod model;
mod names;
mod prose;
pub mod releases;
mod resolve;
#[cfg(test)]
pub mod runtime;
pub mod source;
pub mod verify;

use crate::{
    diagnostic::{Diagnostic, Diagnostics},
    model::Model,
    source::Source,
};

/// Reads and resolves definitions.
///
/// # Errors
///
/// Every fault that was found, by place.
pub fn compile(sources: &[Source]) -> Result<Model, Vec<Diagnostic>> {
    let mut diagnostics = Diagnostics::default();
    let definitions = definition::read(sources, &mut diagnostics);
    let model = resolve::resolve(&definitions, &mut diagnostics);
    if diagnostics.is_empty() {
        Ok(model)
    } else {
        Err(diagnostics.into_sorted())
    }
}
