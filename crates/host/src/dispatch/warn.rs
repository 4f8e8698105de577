//! Warnings that are said once and counted always.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Mutex, PoisonError},
};

use reasonix_extension_protocol::HookPoint;

/// What a person should know of a dispatch that went on. The text is free of credentials and control
/// characters.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warning {
    /// The plugin.
    pub plugin: String,
    /// The hook point.
    pub point: HookPoint,
    /// What kind it is.
    pub kind: WarningKind,
    /// What happened.
    pub text: String,
}

/// Kinds of warnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum WarningKind {
    /// An optional plugin could not be asked, or did not answer.
    Failure,
    /// The answer of an optional plugin breaks the rules of the point.
    Violation,
    /// An owner blocked what is not blocked.
    Block,
    /// A plugin missed an observation.
    Missed,
}

type Hear = Box<dyn Fn(Warning) + Send + Sync>;

#[derive(Default)]
pub(super) struct Warnings {
    hear: Option<Hear>,
    counts: Mutex<BTreeMap<(String, HookPoint, WarningKind), u64>>,
}

impl Warnings {
    pub(super) fn hear(&mut self, hear: impl Fn(Warning) + Send + Sync + 'static) {
        self.hear = Some(Box::new(hear));
    }

    /// Counts a warning, and says it if it is the first.
    pub(super) fn warn(&self, plugin: &str, point: HookPoint, kind: WarningKind, text: String) {
        let first = {
            let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            let count = counts.entry((plugin.to_owned(), point, kind)).or_default();
            *count += 1;
            *count == 1
        };
        if let (true, Some(hear)) = (first, &self.hear) {
            hear(Warning {
                plugin: plugin.to_owned(),
                point,
                kind,
                text,
            });
        }
    }

    pub(super) fn counts(&self) -> Vec<(String, HookPoint, WarningKind, u64)> {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = counts.iter();
        entries
            .map(|((plugin, point, kind), count)| (plugin.clone(), *point, *kind, *count))
            .collect()
    }
}

impl fmt::Debug for Warnings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Warnings").field(&self.counts()).finish()
    }
}
