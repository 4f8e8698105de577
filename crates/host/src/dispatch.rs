//! Runs a hook point: the chain of extensions, then the owner of its slot, then observation. Knows no
//! process.
//!
//! A host asks at the point where it acts, with the payload of that point; a payload of another point does
//! not compile:
//!
//! ```
//! # use reasonix_extension_host::dispatch::{DispatchError, Dispatcher};
//! # use reasonix_extension_protocol::{hooks::ToolBefore, payloads::ToolBeforePayload};
//! # async fn call(dispatcher: &Dispatcher) -> Result<(), DispatchError> {
//! let call = ToolBeforePayload::new().with_name("bash").with_arguments(r#"{"command":"ls"}"#);
//! let outcome = dispatcher.dispatch::<ToolBefore>(call).await?;
//! if let Some(blocked) = outcome.blocked {
//!     println!("blocked by {}: {}", blocked.plugin, blocked.reason);
//! } else {
//!     println!("run {} {}", outcome.payload.name, outcome.payload.arguments);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Rules
//!
//! - **Order.** Lower priority first, then the name of the plugin, bytewise. One after the other: each is
//!   asked with what the one before it left.
//! - **Rulings.** `continue` goes on, `block` stops, `replace` goes on with another payload, which is decoded
//!   in full and held to the rules of the point. At `permission.decision` the first `allow` or `deny` ends
//!   the walk.
//! - **Slots.** The owner of a slot rules last, on what the chain left. It is not asked after a block.
//! - **Failures.** Of a required plugin, which every owner of a slot is, a failure or a broken rule fails the
//!   operation. Of any other it is passed over, and said once by plugin, point and kind.
//!   `frontend.event` and `session.load` go on even without their owner: what is shown to users must not
//!   be lost, and what is loaded is loaded.
//! - **What a replacement changes** is what the point lets it: the payload of an outcome is the host's own
//!   but for [`adopts`](HookPoint::adopts). Observers and later plugins see all of the replacement.
//! - **Giving up.** Dropping the future gives the dispatch up; that is nobody's failure.
//! - **Observation** comes last, never waits, and is left out where the operation failed.

mod explain;
mod participant;
mod slot;
mod walk;
mod warn;

use std::{fmt, marker::PhantomData, sync::Arc, time::Duration, time::SystemTime};

use reasonix_extension_protocol::{ErrorReason, HookPoint, RawJson, hooks::Hook};

pub use self::{
    explain::{Change, Explanation, Observer, Role, Step, Verdict},
    participant::{Client, Participant, SlotConflict},
    slot::{InvalidSlot, SlotName},
    warn::{Warning, WarningKind},
};
use self::{
    participant::Plan,
    walk::{Walk, Walked},
    warn::Warnings,
};
use crate::sidecar::CallFailure;

/// Asks the extensions of one generation. Copies are the same dispatcher; without extensions it is a
/// null check.
#[derive(Clone, Debug, Default)]
pub struct Dispatcher(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    plan: Plan,
    /// How long a whole chain may take.
    budget: Option<Duration>,
    warnings: Warnings,
}

/// A dispatcher that is being made.
#[derive(Debug)]
#[must_use = "it dispatches nothing before it is built"]
pub struct DispatcherBuilder(Inner);

impl DispatcherBuilder {
    /// Bounds a whole chain with its owner: whoever is not done by then has failed. Without it, each plugin
    /// has the time of its own.
    pub fn budget(mut self, budget: Duration) -> Self {
        self.0.budget = Some(budget);
        self
    }

    /// Hears warnings, each once by plugin, point and kind. The function must not wait.
    pub fn on_warning(mut self, hear: impl Fn(Warning) + Send + Sync + 'static) -> Self {
        self.0.warnings.hear(hear);
        self
    }

    /// The dispatcher.
    pub fn build(self) -> Dispatcher {
        Dispatcher((!self.0.plan.is_empty()).then(|| Arc::new(self.0)))
    }
}

impl Dispatcher {
    /// A dispatcher that asks nobody.
    pub fn none() -> Self {
        Self(None)
    }

    /// A dispatcher that asks these.
    ///
    /// # Errors
    ///
    /// When two of them claim one slot.
    pub fn builder(
        participants: impl IntoIterator<Item = Participant>,
    ) -> Result<DispatcherBuilder, SlotConflict> {
        Ok(DispatcherBuilder(Inner {
            plan: Plan::new(participants)?,
            budget: None,
            warnings: Warnings::default(),
        }))
    }

    /// Whether anybody may be asked or told at a point: a host need not make a payload where nobody is.
    #[inline]
    pub fn asks(&self, point: HookPoint) -> bool {
        self.0.as_ref().is_some_and(|inner| inner.plan.asks(point))
    }

    /// Runs a point.
    ///
    /// # Errors
    ///
    /// As [`Dispatch::run`].
    #[inline]
    pub async fn dispatch<H: Hook>(
        &self,
        payload: H::Payload,
    ) -> Result<Outcome<H>, DispatchError> {
        self.at::<H>(payload).run().await
    }

    /// A run of a point that is still to be told more.
    #[inline]
    pub fn at<H: Hook>(&self, payload: H::Payload) -> Dispatch<'_, H> {
        Dispatch {
            dispatcher: self,
            payload,
            provider: None,
        }
    }

    /// How often each warning came up, whether it was heard or not.
    pub fn warning_counts(&self) -> Vec<(String, HookPoint, WarningKind, u64)> {
        self.0
            .as_ref()
            .map_or_else(Vec::new, |inner| inner.warnings.counts())
    }
}

/// A run of a point, before it runs.
#[must_use = "it asks nobody before it runs"]
pub struct Dispatch<'a, H: Hook> {
    dispatcher: &'a Dispatcher,
    payload: H::Payload,
    provider: Option<&'a str>,
}

impl<'a, H: Hook> Dispatch<'a, H> {
    /// Says which model the request or the answer is of: the owner of its slot `provider:<ref>` is then asked,
    /// after the owner of the slot of all models.
    pub fn for_provider(mut self, reference: &'a str) -> Self {
        self.provider = Some(reference);
        self
    }

    /// Asks whoever is to be asked, and tells whoever is to be told.
    ///
    /// # Errors
    ///
    /// When a required plugin or the owner of a slot fails, breaks a rule, or (the owner) blocks; then the
    /// operation must not go on, and nobody is told of it.
    pub async fn run(self) -> Result<Outcome<H>, DispatchError> {
        let Some(inner) = self.dispatcher.0.as_deref() else {
            return Ok(Outcome::untouched(self.payload));
        };
        if !inner.plan.asks(H::POINT) {
            return Ok(Outcome::untouched(self.payload));
        }
        // Apart, so that a run that asks nobody stays small.
        Box::pin(self.walk(inner, None)).await
    }

    /// As [`run`](Self::run), and says how it went.
    pub async fn explained(self) -> (Result<Outcome<H>, DispatchError>, Explanation) {
        let mut explanation = Explanation::new(H::POINT);
        let outcome = match self.dispatcher.0.as_deref() {
            Some(inner) => self.walk(inner, Some(&mut explanation)).await,
            None => Ok(Outcome::untouched(self.payload)),
        };
        (outcome, explanation)
    }

    async fn walk(
        self,
        inner: &Inner,
        explanation: Option<&mut Explanation>,
    ) -> Result<Outcome<H>, DispatchError> {
        let unsound = |error: &dyn fmt::Display| DispatchError::Payload {
            point: H::POINT,
            why: error.to_string(),
        };
        let original = RawJson::encode(&self.payload).map_err(|error| unsound(&error))?;
        let walk = Walk::new(inner, H::POINT, self.provider, original.clone());
        let walked = walk.run(explanation).await?;
        let adopted = walk::adopted(H::POINT, &original, &walked.payload)
            .map(|adopted| H::decode_payload(&adopted))
            .transpose()
            .map_err(|error| unsound(&error))?;
        let Walked {
            blocked,
            permission,
            applied,
            audit,
            ..
        } = walked;
        Ok(Outcome {
            changed: adopted.is_some(),
            payload: adopted.unwrap_or(self.payload),
            blocked,
            permission,
            applied,
            audit,
            point: PhantomData,
        })
    }
}

impl<H: Hook> fmt::Debug for Dispatch<'_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dispatch")
            .field("point", &H::POINT)
            .field("provider", &self.provider)
            .finish_non_exhaustive()
    }
}

/// What came of a run.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome<H: Hook> {
    /// What the host goes on with.
    pub payload: H::Payload,
    /// Whether that is another than it came with.
    pub changed: bool,
    /// Who stopped the operation, if anybody did.
    pub blocked: Option<Blocked>,
    /// How the tool call was ruled, at `permission.decision`; without it the host's own decision stands.
    pub permission: Option<Permission>,
    /// Whose replacements were taken, in order.
    pub applied: Vec<String>,
    /// What must be recorded: a permission against the host's own decision.
    pub audit: Option<Audit>,
    point: PhantomData<fn() -> H>,
}

impl<H: Hook> Outcome<H> {
    #[inline]
    fn untouched(payload: H::Payload) -> Self {
        Self {
            payload,
            changed: false,
            blocked: None,
            permission: None,
            applied: Vec::new(),
            audit: None,
            point: PhantomData,
        }
    }
}

/// A block of the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Blocked {
    /// The plugin.
    pub plugin: String,
    /// Why, without credentials; may be empty.
    pub reason: String,
}

/// A ruling on a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Permission {
    /// The plugin that ruled last.
    pub plugin: String,
    /// Whether it permits the call.
    pub allowed: bool,
    /// Why, without credentials; may be empty.
    pub reason: String,
}

/// A tool call that a plugin permitted although the host had refused it: for a durable record.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Audit {
    /// When.
    pub at: SystemTime,
    /// The plugin.
    pub plugin: String,
    /// The tool, as the host named it.
    pub tool: String,
    /// Why, without credentials; may be empty.
    pub reason: String,
}

/// Why an operation must not go on. Texts are free of credentials and control characters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DispatchError {
    /// A plugin that is required could not be asked, or did not answer.
    #[error("`{plugin}` is required at `{point}` and {cause}")]
    Failed {
        /// The plugin.
        plugin: String,
        /// The hook point.
        point: HookPoint,
        /// Why.
        #[source]
        cause: Failure,
    },
    /// The answer of a plugin that is required breaks the rules of the point.
    #[error("`{plugin}` is required at `{point}` and broke its rules: {what}")]
    Violation {
        /// The plugin.
        plugin: String,
        /// The hook point.
        point: HookPoint,
        /// Which rule.
        what: String,
    },
    /// The owner of a slot stopped the operation.
    #[error("`{plugin}`, which owns `{slot}`, blocked `{point}`: {reason}")]
    BlockedByOwner {
        /// The plugin.
        plugin: String,
        /// The hook point.
        point: HookPoint,
        /// The slot.
        slot: String,
        /// Why; may be empty.
        reason: String,
    },
    /// The host's own payload is not what the point carries.
    #[error("the payload of `{point}` breaks the contract: {why}")]
    Payload {
        /// The hook point.
        point: HookPoint,
        /// What is wrong.
        why: String,
    },
}

impl DispatchError {
    /// The reason of the contract.
    pub fn reason(&self) -> ErrorReason {
        match self {
            Self::Failed { cause, .. } => cause.reason(),
            Self::Violation { .. } => ErrorReason::ProtocolError,
            Self::BlockedByOwner { .. } | Self::Payload { .. } => ErrorReason::Internal,
        }
    }
}

/// Why a plugin could not be asked, or did not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The call failed.
    #[error("{}", .0.kind)]
    Call(#[source] CallFailure),
    /// It does not run.
    #[error("does not run")]
    NotRunning,
    /// What asks it panicked.
    #[error("made its host panic")]
    Panicked,
    /// The time of the whole chain was over.
    #[error("was not done within the {} ms of the whole chain", .0.as_millis())]
    Budget(Duration),
}

impl Failure {
    /// The reason of the contract.
    pub fn reason(&self) -> ErrorReason {
        match self {
            Self::Call(failure) => failure.reason(),
            Self::NotRunning => ErrorReason::ProviderInterrupted,
            Self::Panicked => ErrorReason::Internal,
            Self::Budget(_) => ErrorReason::InterceptTimeout,
        }
    }
}

#[cfg(test)]
mod tests;
