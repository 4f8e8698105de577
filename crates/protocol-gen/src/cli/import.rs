//! The command that imports documents: where files come from and go to, and what is left to do.

use std::{
    fmt::Write as _,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use clap::Args;

use super::{Outcome, Output, colors};
use crate::{
    canonical,
    contract::{DocumentKind, Documents},
    diagnostic, import,
    source::{DEFINITIONS, Source},
};

/// Make definitions of a canonical document: they generate the same bytes.
///
/// The document may be of another major version, of a fork, or of another protocol altogether. What it
/// cannot say is filled by the rules in `schema/README.md`; what a person has to write is marked.
#[derive(Args, Debug)]
pub(super) struct ImportArgs {
    /// The canonical document of the contract
    file: PathBuf,
    /// Folder to write `schema/` into; it must not have one yet
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The canonical document of the payloads
    #[arg(long, value_name = "FILE")]
    payloads: Option<PathBuf>,
    /// The supplement of a recorded release: widths, rules, shared names and the terms of hooks
    #[arg(long, value_name = "FILE")]
    supplement: Option<PathBuf>,
}

pub(super) fn run(arguments: &ImportArgs, output: &mut Output) -> Outcome {
    let mut documents = Documents::default();
    let given = [
        (DocumentKind::Schema, Some(&arguments.file)),
        (DocumentKind::Payloads, arguments.payloads.as_ref()),
        (DocumentKind::Supplement, arguments.supplement.as_ref()),
    ];
    for (kind, path) in given {
        let Some(path) = path else { continue };
        match fs::read_to_string(path) {
            Ok(text) => documents.set(kind, text),
            Err(error) => {
                output.error(&format!("error: read `{}`: {error}\n", path.display()));
                return if error.kind() == ErrorKind::NotFound {
                    Outcome::Usage
                } else if error.kind() == ErrorKind::InvalidData {
                    Outcome::Invalid
                } else {
                    Outcome::Failed
                };
            }
        }
    }
    let target = arguments.out.join(DEFINITIONS);
    if target.exists() {
        output.error(&format!(
            "error: `{}` is there already, and nothing is overwritten\n  hint: name another folder\n",
            target.display()
        ));
        return Outcome::Usage;
    }
    let imported = match import::import(&documents) {
        Ok(imported) => imported,
        Err(faults) => {
            for fault in &faults {
                output.error(&format!("error: `{}`: {fault}\n", arguments.file.display()));
            }
            return Outcome::Invalid;
        }
    };
    // What was made is held to what it is for before a byte is written.
    let sources: Vec<Source> = imported
        .files
        .iter()
        .map(|(path, text)| Source::new(path.clone(), text.as_bytes()))
        .collect();
    let model = match crate::compile(&sources) {
        Ok(model) => model,
        Err(diagnostics) => {
            output.error(&diagnostic::to_text(&diagnostics, &sources, colors()));
            output.error(
                "error: the document says something that definitions cannot; nothing was written\n",
            );
            return Outcome::Invalid;
        }
    };
    let generated = Documents::of(&model);
    let mut told = String::new();
    for (kind, path) in given {
        let (Some(path), Some(text)) = (path, documents.text(kind)) else {
            continue;
        };
        match compared(text, generated.text(kind).unwrap_or_default()) {
            Compared::Equal => {
                let _ = writeln!(told, "{}: the same bytes", path.display());
            }
            Compared::Canonical => {
                let _ = writeln!(
                    told,
                    "{}: not in canonical form; the definitions generate the canonical one",
                    path.display()
                );
            }
            Compared::Other => {
                output.error(&format!(
                    "error: `{}` says something that definitions cannot; nothing was written\n",
                    path.display()
                ));
                return Outcome::Invalid;
            }
        }
    }
    if let Err(error) = write(&arguments.out, &imported.files) {
        output.error(&format!(
            "error: write `{}`: {error}; nothing is left behind\n",
            target.display()
        ));
        return Outcome::Failed;
    }
    for (path, _) in &imported.files {
        output.line(&format!("created {}", arguments.out.join(path).display()));
    }
    output.print(&told);
    output.line(&format!(
        "contract {}",
        canonical::hash(generated.schema.as_bytes())
    ));
    output.line(&format!(
        "{} docs are left to write: search for `{}`\nnext: extension-protocol-gen generate --root {}",
        imported.marked,
        import::MARKER,
        arguments.out.display()
    ));
    Outcome::Clean
}

enum Compared {
    Equal,
    /// They say the same, and the given one is spelled otherwise.
    Canonical,
    Other,
}

fn compared(given: &str, generated: &str) -> Compared {
    if given == generated {
        return Compared::Equal;
    }
    let parse = |text: &str| serde_json::from_str(text).map(sorted).ok();
    match (parse(given), parse(generated)) {
        (Some(given), Some(generated)) if given == generated => Compared::Canonical,
        _ => Compared::Other,
    }
}

/// A document with all that has no order in one order: every list of it is a set.
fn sorted(value: serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::Array(items) => {
            let mut items: Vec<Value> = items.into_iter().map(sorted).collect();
            items.sort_by_key(canonical::to_string);
            Value::Array(items)
        }
        // An any-JSON schema has two spellings.
        Value::Object(members) if members.is_empty() => Value::Bool(true),
        Value::Object(members) => members
            .into_iter()
            .map(|(name, value)| (name, sorted(value)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

/// Writes all files, or none: into a folder that is not seen, which then gets its name.
fn write(out: &Path, files: &[(String, String)]) -> std::io::Result<()> {
    fs::create_dir_all(out)?;
    let staged = tempfile::Builder::new().prefix(".import").tempdir_in(out)?;
    for (path, text) in files {
        let path = staged.path().join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, text)?;
    }
    fs::rename(staged.path().join(DEFINITIONS), out.join(DEFINITIONS))
}
