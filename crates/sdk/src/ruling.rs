//! How a handler rules at a hook point. Knows which rulings are legal where.

use std::marker::PhantomData;

use reasonix_extension_protocol::{
    DecodeError, ErrorReason, RawJson,
    hooks::{Hook, PermissionDecision},
    types::{Decision, InterceptResult},
};
use reasonix_extension_wire::RpcError;

/// A ruling at the hook point `H`.
#[derive(Debug)]
#[must_use = "a ruling that is not returned rules nothing"]
pub struct Ruling<H: Hook> {
    decision: Decision,
    replacement: Option<H::Payload>,
    reason: Option<String>,
    point: PhantomData<H>,
}

impl<H: Hook> Ruling<H> {
    fn of(decision: Decision) -> Self {
        Self {
            decision,
            replacement: None,
            reason: None,
            point: PhantomData,
        }
    }

    /// Goes on with the payload as it is.
    pub fn proceed() -> Self {
        Self::of(Decision::Continue)
    }

    /// Stops the operation; the user reads why.
    pub fn block(reason: impl Into<String>) -> Self {
        Self {
            reason: Some(reason.into()),
            ..Self::of(Decision::Block)
        }
    }

    /// Goes on with another payload. The host takes from it what [`adopts`] of the point lists.
    ///
    /// [`adopts`]: reasonix_extension_protocol::HookPoint::adopts
    pub fn replace(payload: H::Payload) -> Self {
        Self {
            replacement: Some(payload),
            ..Self::of(Decision::Replace)
        }
    }

    /// What it decides.
    pub fn decision(&self) -> Decision {
        self.decision
    }

    /// The payload with which it goes on, if that is another.
    pub fn replacement(&self) -> Option<&H::Payload> {
        self.replacement.as_ref()
    }

    /// Why it stops the operation.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// As it came over the wire, with the replacement wherever that travelled.
    pub(crate) fn read(
        result: &InterceptResult,
        replacement: Option<&RawJson>,
    ) -> Result<Self, DecodeError> {
        Ok(Self {
            decision: result.decision,
            replacement: replacement.map(H::decode_replacement).transpose()?,
            reason: result.reason.clone(),
            point: PhantomData,
        })
    }

    /// As it stands on the wire. A replacement that the host would refuse fails here.
    pub(crate) fn into_result(self) -> Result<InterceptResult, RpcError> {
        let mut result = InterceptResult::new(self.decision);
        result.reason = self.reason;
        let Some(payload) = self.replacement else {
            return Ok(result);
        };
        let failed = |error: &dyn std::fmt::Display| {
            let text = format!("replacement at `{}`: {error}", H::POINT);
            RpcError::because(ErrorReason::Internal, text)
        };
        let replacement = RawJson::encode(&payload).map_err(|error| failed(&error))?;
        // What is encoded is what the point carries; what it must write out beyond that is a rule.
        H::RULES
            .check_replacement(&replacement)
            .map_err(|error| failed(&error))?;
        Ok(result.with_replacement(replacement))
    }
}

impl Ruling<PermissionDecision> {
    /// Permits the tool call, even one that the host would deny.
    pub fn allow() -> Self {
        Self::of(Decision::Allow)
    }

    /// Refuses the tool call; the user reads why.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self {
            reason: Some(reason.into()),
            ..Self::of(Decision::Deny)
        }
    }
}
