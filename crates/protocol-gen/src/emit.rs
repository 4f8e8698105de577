//! From the model to files in memory: one module an artifact, each a pure function.
//!
//! No emitter reads a file, a clock, an environment variable or a locale, and none can fail.

pub mod json_schema;
pub mod markdown;
pub mod meta_schema;
pub mod rust;
pub mod vectors;

use crate::{artifact::Artifact, model::Model};

/// Every artifact, by path.
pub fn emit(model: &Model) -> Vec<Artifact> {
    let mut artifacts = json_schema::emit(model);
    artifacts.push(markdown::emit(model));
    artifacts.push(meta_schema::emit());
    artifacts.extend(rust::emit(model));
    artifacts.extend(vectors::emit(model));
    artifacts.sort_by(|a, b| a.path.cmp(&b.path));
    artifacts
}
