//! What happened in one dispatch, for whoever asks why: as data, and as text for people.

use std::{fmt, time::Duration};

use reasonix_extension_protocol::HookPoint;
use serde::Serialize;
use serde_json::Value;

use crate::redact;

/// How one dispatch went, step by step.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Explanation {
    /// Wire name of the hook point.
    pub point: &'static str,
    /// Who was asked or passed over, in order.
    pub steps: Vec<Step>,
    /// Who was told afterwards.
    pub observers: Vec<Observer>,
}

/// One plugin in one role.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Step {
    /// The plugin.
    pub plugin: String,
    /// As what it was asked.
    pub role: Role,
    /// What came of it.
    pub verdict: Verdict,
    /// How long it took; zero where it was not asked.
    #[serde(rename = "elapsedMicros", serialize_with = "micros")]
    pub elapsed: Duration,
    /// What its replacement changed, as the plugin wrote it.
    pub changes: Vec<Change>,
}

/// As what a plugin is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Role {
    /// As one of the chain.
    Chain,
    /// As the owner of this slot.
    Owner(String),
}

/// What came of asking a plugin. Texts are free of credentials and control characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Verdict {
    /// It goes on with the payload as it is.
    Continued,
    /// It goes on with another payload.
    Replaced,
    /// It stopped the operation.
    Blocked(String),
    /// It permitted the tool call.
    Allowed,
    /// It refused the tool call.
    Denied(String),
    /// It could not be asked, or did not answer.
    Failed(String),
    /// Its answer broke the rules of the point.
    Violated(String),
    /// It was not asked, for this reason.
    Skipped(String),
}

/// One place of a payload that a replacement changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Change {
    /// JSON Pointer to it.
    pub pointer: String,
    /// What was there.
    pub before: Option<Value>,
    /// What is there.
    pub after: Option<Value>,
}

/// One who was told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Observer {
    /// The plugin.
    pub plugin: String,
    /// Whether there was room to tell it.
    pub told: bool,
}

impl Explanation {
    pub(super) fn new(point: HookPoint) -> Self {
        Self {
            point: point.as_str(),
            steps: Vec::new(),
            observers: Vec::new(),
        }
    }
}

/// What differs between two payloads. Numbers are compared by value.
pub(super) fn changes(before: &str, after: &str) -> Vec<Change> {
    let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let (before, after) = (parse(before), parse(after));
    let patch = json_patch::diff(&before, &after);
    let mut changes = Vec::new();
    for operation in patch.0 {
        let pointer = operation.path().to_string();
        changes.push(Change {
            before: before.pointer(&pointer).cloned(),
            after: after.pointer(&pointer).cloned(),
            pointer,
        });
    }
    changes
}

fn micros<S: serde::Serializer>(elapsed: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX))
}

/// Characters of a value that are shown.
const EXCERPT: usize = 60;

fn shown(value: Option<&Value>) -> String {
    let Some(value) = value else {
        return "nothing".to_owned();
    };
    let text = redact::visible(&redact::text(&value.to_string()));
    let mut excerpt: String = text.chars().take(EXCERPT).collect();
    if text.chars().nth(EXCERPT).is_some() {
        excerpt.push('…');
    }
    excerpt
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.point)?;
        if self.steps.is_empty() {
            write!(f, ": nobody was asked")?;
        }
        for step in &self.steps {
            write!(f, "\n  {}", step.plugin)?;
            if let Role::Owner(slot) = &step.role {
                write!(f, " (owner of `{slot}`)")?;
            }
            match &step.verdict {
                Verdict::Continued => write!(f, " went on")?,
                Verdict::Replaced => write!(f, " replaced the payload")?,
                Verdict::Blocked(reason) => write!(f, " blocked: {}", or_nothing(reason))?,
                Verdict::Allowed => write!(f, " allowed it")?,
                Verdict::Denied(reason) => write!(f, " denied it: {}", or_nothing(reason))?,
                Verdict::Failed(why) => write!(f, " failed: {why}")?,
                Verdict::Violated(why) => write!(f, " broke the rules: {why}")?,
                Verdict::Skipped(why) => write!(f, " was not asked: {why}")?,
            }
            if !matches!(step.verdict, Verdict::Skipped(_)) {
                write!(f, " ({:.1} ms)", step.elapsed.as_secs_f64() * 1_000.0)?;
            }
            for change in &step.changes {
                let (before, after) = (shown(change.before.as_ref()), shown(change.after.as_ref()));
                write!(f, "\n    {}: {before} → {after}", change.pointer)?;
            }
        }
        let observers: Vec<String> = self
            .observers
            .iter()
            .map(|observer| {
                let missed = if observer.told { "" } else { " (missed it)" };
                format!("{}{missed}", observer.plugin)
            })
            .collect();
        if !observers.is_empty() {
            write!(f, "\n  told: {}", observers.join(", "))?;
        }
        Ok(())
    }
}

fn or_nothing(reason: &str) -> &str {
    if reason.is_empty() {
        "no reason given"
    } else {
        reason
    }
}
