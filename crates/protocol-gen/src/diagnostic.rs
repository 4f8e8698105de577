//! What is wrong with the definitions, collected: where, what, and what to do. Knows no rule.

use std::fmt::Write as _;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use serde::Serialize;

use crate::{
    github::{escape_data, escape_property},
    source::{At, Source},
};

/// One fault in the definitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Which rule is broken.
    pub code: Code,
    /// What is wrong, without a full stop.
    pub message: String,
    /// Where, and what stands there.
    pub primary: Label,
    /// Other places that take part.
    pub others: Vec<Label>,
    /// What to do.
    pub help: String,
}

/// A place and a remark about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub at: At,
    /// The remark; may be empty.
    pub text: String,
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+) => {
        /// Which rule of the definitions is broken.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Code { $($(#[doc = $doc])+ $variant,)+ }

        impl Code {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The name that a message shows: `error[NAME]`.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }
        }
    };
}

codes! {
    /// The file is not UTF-8.
    NotUtf8 = "not-utf8",
    /// The file begins with a byte order mark.
    ByteOrderMark = "byte-order-mark",
    /// The file is not TOML, or a key stands twice in one table.
    Toml = "toml",
    /// A key that the vocabulary does not have.
    UnknownKey = "unknown-key",
    /// A key that must be there and is not.
    MissingKey = "missing-key",
    /// A value of the wrong kind.
    WrongType = "wrong-type",
    /// Nothing says what this is.
    MissingDoc = "missing-doc",
    /// Prose with a character that cannot be shown.
    BadDoc = "bad-doc",
    /// Two definitions of one name.
    Duplicate = "duplicate",
    /// A name that does not follow the rule of its position.
    BadName = "bad-name",
    /// A name for which no Rust name can be derived.
    NoRustName = "no-rust-name",
    /// Two names that meet in one Rust name.
    RustCollision = "rust-collision",
    /// A Rust name that generated code needs for itself.
    ReservedName = "reserved-name",
    /// A character that the canonical form does not allow.
    BadCharacter = "bad-character",
    /// A name that is not defined.
    Unresolved = "unresolved",
    /// A type expression that cannot be read.
    BadType = "bad-type",
    /// A bound that the type cannot hold.
    BadBound = "bad-bound",
    /// A key that does not fit the type or the other keys.
    Conflict = "conflict",
    /// `externalizable` where `null` cannot stand.
    BadExternalizable = "bad-externalizable",
    /// A type that no finite value can have.
    Infinite = "infinite-type",
    /// Something that nothing uses.
    Unused = "unused",
    /// A rule that its type cannot have.
    BadRule = "bad-rule",
    /// A hook that does not fit its payload.
    BadHook = "bad-hook",
    /// An example that its type refuses.
    BadExample = "bad-example",
}

/// All faults found so far.
#[derive(Debug, Default)]
pub(crate) struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    pub(crate) fn report(
        &mut self,
        code: Code,
        at: At,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> &mut Diagnostic {
        self.0.push(Diagnostic {
            code,
            message: message.into(),
            primary: Label {
                at,
                text: String::new(),
            },
            others: Vec::new(),
            help: help.into(),
        });
        self.0.last_mut().expect("one was just pushed")
    }

    pub(crate) fn last(&mut self) -> Option<&mut Diagnostic> {
        self.0.last_mut()
    }

    /// Whether some name was not read or not understood.
    pub(crate) fn leave_names_open(&self) -> bool {
        self.0.iter().any(|diagnostic| {
            matches!(
                diagnostic.code,
                Code::NotUtf8
                    | Code::ByteOrderMark
                    | Code::Toml
                    | Code::UnknownKey
                    | Code::MissingKey
                    | Code::WrongType
                    | Code::Duplicate
                    | Code::BadName
                    | Code::NoRustName
                    | Code::RustCollision
                    | Code::ReservedName
                    | Code::BadCharacter
                    | Code::Unresolved
                    | Code::BadType
            )
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them, by place.
    pub(crate) fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.0.sort_by(|a, b| {
            (a.primary.at, a.code, &a.message).cmp(&(b.primary.at, b.code, &b.message))
        });
        self.0.dedup();
        self.0
    }
}

impl Diagnostic {
    /// Says more about the primary place.
    pub(crate) fn label(&mut self, text: impl Into<String>) -> &mut Self {
        self.primary.text = text.into();
        self
    }

    /// Points at another place.
    pub(crate) fn also(&mut self, at: At, text: impl Into<String>) -> &mut Self {
        self.others.push(Label {
            at,
            text: text.into(),
        });
        self
    }
}

/// Renders diagnostics for a person: each with file, line, column and the text underlined.
pub fn to_text(diagnostics: &[Diagnostic], sources: &[Source], color: bool) -> String {
    let renderer = if color {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let mut out = String::new();
    for diagnostic in diagnostics {
        out.push_str(&renderer.render(&report(diagnostic, sources)));
        out.push_str("\n\n");
    }
    let count = diagnostics.len();
    let noun = if count == 1 { "error" } else { "errors" };
    let _ = writeln!(
        out,
        "{count} {noun} in the definitions; nothing was written"
    );
    out
}

/// Renders diagnostics as annotations of GitHub Actions, one a line.
pub fn to_github(diagnostics: &[Diagnostic], sources: &[Source]) -> String {
    let mut out = String::new();
    for diagnostic in diagnostics {
        let place = Place::of(diagnostic.primary.at, sources);
        let _ = writeln!(
            out,
            "::error file={},line={},col={},endLine={},endColumn={},title={}::{}",
            escape_property(place.file),
            place.line,
            place.column,
            place.end_line,
            place.end_column,
            diagnostic.code.as_str(),
            escape_data(&format!("{}\n{}", diagnostic.message, diagnostic.help)),
        );
    }
    out
}

/// A diagnostic with its places resolved, as `--format json` prints it.
#[derive(Debug, Serialize)]
pub struct Located<'a> {
    /// Name of the broken rule.
    pub code: &'static str,
    /// What is wrong.
    pub message: &'a str,
    /// Where.
    #[serde(flatten)]
    pub place: Place<'a>,
    /// What to do.
    pub help: &'a str,
    /// Other places that take part.
    pub related: Vec<Related<'a>>,
}

/// Another place that takes part in a diagnostic.
#[derive(Debug, Serialize)]
pub struct Related<'a> {
    /// What stands there.
    pub message: &'a str,
    /// Where.
    #[serde(flatten)]
    pub place: Place<'a>,
}

/// A place as people count: lines and columns from 1, columns in characters.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Place<'a> {
    /// Path below the root.
    pub file: &'a str,
    /// Line of the first character.
    pub line: usize,
    /// Column of the first character.
    pub column: usize,
    /// Line of the character after the last.
    pub end_line: usize,
    /// Column of the character after the last.
    pub end_column: usize,
}

impl<'a> Place<'a> {
    /// Counts lines and columns.
    pub fn of(at: At, sources: &'a [Source]) -> Self {
        let Some(source) = sources.get(at.file as usize) else {
            return Self {
                file: "",
                line: 1,
                column: 1,
                end_line: 1,
                end_column: 1,
            };
        };
        let position = |offset: u32| source.line_and_column(offset as usize);
        let ((line, column), (end_line, end_column)) = (position(at.start), position(at.end));
        Self {
            file: &source.path,
            line,
            column,
            end_line,
            end_column,
        }
    }
}

/// Resolves the places of diagnostics, for output as JSON.
pub fn locate<'a>(diagnostics: &'a [Diagnostic], sources: &'a [Source]) -> Vec<Located<'a>> {
    diagnostics
        .iter()
        .map(|diagnostic| Located {
            code: diagnostic.code.as_str(),
            message: &diagnostic.message,
            place: Place::of(diagnostic.primary.at, sources),
            help: &diagnostic.help,
            related: diagnostic
                .others
                .iter()
                .map(|label| Related {
                    message: &label.text,
                    place: Place::of(label.at, sources),
                })
                .collect(),
        })
        .collect()
}

fn report<'a>(diagnostic: &'a Diagnostic, sources: &'a [Source]) -> Vec<Group<'a>> {
    let mut group = Level::ERROR
        .primary_title(diagnostic.message.as_str())
        .id(diagnostic.code.as_str())
        .elements(Vec::<Snippet<'a, annotate_snippets::Annotation<'a>>>::new());
    // One snippet a file, the primary's first.
    let mut files = vec![diagnostic.primary.at.file];
    for label in &diagnostic.others {
        if !files.contains(&label.at.file) {
            files.push(label.at.file);
        }
    }
    for file in files {
        let Some(source) = sources.get(file as usize) else {
            continue;
        };
        let mut snippet = Snippet::source(source.text()).path(source.path.as_str());
        for (label, kind) in std::iter::once((&diagnostic.primary, AnnotationKind::Primary)).chain(
            diagnostic
                .others
                .iter()
                .map(|label| (label, AnnotationKind::Context)),
        ) {
            if label.at.file != file {
                continue;
            }
            let mut annotation = kind.span(label.at.start as usize..label.at.end as usize);
            if !label.text.is_empty() {
                annotation = annotation.label(label.text.as_str());
            }
            snippet = snippet.annotation(annotation);
        }
        group = group.element(snippet);
    }
    if !diagnostic.help.is_empty() {
        group = group.element(Level::HELP.message(diagnostic.help.as_str()));
    }
    vec![group]
}
