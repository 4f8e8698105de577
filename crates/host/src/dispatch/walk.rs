//! One walk: who is asked, what each answer means, and what the host adopts. Payloads are JSON here.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, SystemTime},
};

use reasonix_extension_protocol::{
    HookPoint, RawJson,
    hooks::Slot,
    payloads::{HostDecision, PermissionDecisionPayload},
    types::Decision,
};
use reasonix_extension_wire::unwound;
use serde_json::value::RawValue;
use tokio::time::{Instant, timeout};

use super::{
    Audit, Blocked, DispatchError, Failure, Inner, Permission,
    explain::{self, Explanation, Observer, Role, Step, Verdict},
    participant::{Participant, Plan},
    slot::SlotName,
    warn::WarningKind,
};
use crate::{launch::Ruled, redact};

/// Why those are not asked who come behind a ruling that ends the walk.
const ENDED: &str = "the ruling before it ended the walk";

/// What an answer means.
enum Answer {
    Continue,
    Replace(RawJson),
    Block(String),
    Permit(bool, String),
}

/// Why there is no answer.
enum Bad {
    Failed(Failure),
    Violated(String),
}

/// What a walk left.
pub(super) struct Walked {
    /// The payload with every replacement in it.
    pub(super) payload: RawJson,
    pub(super) blocked: Option<Blocked>,
    pub(super) permission: Option<Permission>,
    pub(super) applied: Vec<String>,
    pub(super) audit: Option<Audit>,
}

pub(super) struct Walk<'a> {
    inner: &'a Inner,
    point: HookPoint,
    provider: Option<&'a str>,
    deadline: Option<Instant>,
    original: RawJson,
    walked: Walked,
}

/// The family of slots that a parameter of the operation tells apart at a point.
fn family(point: HookPoint) -> Option<Slot> {
    if matches!(point, HookPoint::ToolBefore | HookPoint::ToolAfter) {
        Some(Slot::Tool)
    } else if matches!(
        point,
        HookPoint::ProviderRequest | HookPoint::ProviderResponse
    ) {
        Some(Slot::Provider)
    } else {
        None
    }
}

impl Plan {
    /// Whether anybody may be asked or told at a point.
    pub(super) fn asks(&self, point: HookPoint) -> bool {
        self.chains.contains_key(&point)
            || point.slot().is_some_and(|slot| self.owner(slot).is_some())
            || family(point)
                .is_some_and(|family| self.owners.keys().any(|name| name.slot() == family))
    }

    fn owner(&self, slot: Slot) -> Option<&Arc<Participant>> {
        self.owners.get(&SlotName::named(slot))
    }
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        inner: &'a Inner,
        point: HookPoint,
        provider: Option<&'a str>,
        original: RawJson,
    ) -> Self {
        let walked = Walked {
            payload: original.clone(),
            blocked: None,
            permission: None,
            applied: Vec::new(),
            audit: None,
        };
        Self {
            inner,
            point,
            provider,
            deadline: inner.budget.map(|budget| Instant::now() + budget),
            original,
            walked,
        }
    }

    /// Walks the chain, asks the owners, and tells whoever is to be told.
    pub(super) async fn run(
        mut self,
        mut explanation: Option<&mut Explanation>,
    ) -> Result<Walked, DispatchError> {
        let chain = self.inner.plan.chain(self.point);
        for (index, participant) in chain.iter().enumerate() {
            let asked = self.ask_one_of_chain(participant, explanation.as_deref_mut());
            let ended = asked.await?;
            if ended {
                if let Some(explanation) = explanation.as_deref_mut() {
                    for skipped in chain.iter().skip(index + 1) {
                        explanation.skip(&skipped.plugin, Role::Chain);
                    }
                }
                break;
            }
        }
        for slot in self.slots() {
            let Some(owner) = self.inner.plan.owners.get(&slot) else {
                continue;
            };
            if self.walked.blocked.is_some() {
                if let Some(explanation) = explanation.as_deref_mut() {
                    explanation.skip(&owner.plugin, Role::Owner(slot.to_string()));
                }
                continue;
            }
            self.ask_owner(owner, &slot, explanation.as_deref_mut())
                .await?;
        }
        self.audit();
        self.tell(explanation);
        Ok(self.walked)
    }

    /// The slots whose owners rule here, the last of them last.
    fn slots(&self) -> Vec<SlotName> {
        let mut slots: Vec<SlotName> = self.point.slot().map(SlotName::named).into_iter().collect();
        let family = family(self.point);
        if family == Some(Slot::Tool) {
            slots.extend(member(&self.walked.payload, "name").map(SlotName::tool));
        } else if family == Some(Slot::Provider) {
            slots.extend(self.provider.map(SlotName::provider));
        }
        slots
    }

    /// Asks one of the chain; whether the walk ends with its ruling.
    async fn ask_one_of_chain(
        &mut self,
        participant: &Participant,
        explanation: Option<&mut Explanation>,
    ) -> Result<bool, DispatchError> {
        let before = self.walked.payload.clone();
        let (answer, elapsed) = self.ask(participant).await;
        if let Some(explanation) = explanation {
            explanation.step(&participant.plugin, Role::Chain, &before, &answer, elapsed);
        }
        match answer {
            Ok(Answer::Continue) => Ok(false),
            Ok(Answer::Replace(payload)) => {
                self.replace(participant, payload);
                Ok(false)
            }
            Ok(Answer::Block(reason)) => {
                self.block(participant, reason);
                Ok(true)
            }
            Ok(Answer::Permit(allowed, reason)) => {
                self.permit(participant, allowed, reason);
                Ok(true)
            }
            Err(bad) if participant.is_required() => Err(self.fatal(participant, bad)),
            Err(bad) => {
                self.pass_over(participant, bad);
                Ok(false)
            }
        }
    }

    /// Asks the owner of a slot, whose word is the last.
    async fn ask_owner(
        &mut self,
        owner: &Participant,
        slot: &SlotName,
        explanation: Option<&mut Explanation>,
    ) -> Result<(), DispatchError> {
        let before = self.walked.payload.clone();
        let (answer, elapsed) = self.ask(owner).await;
        if let Some(explanation) = explanation {
            let role = Role::Owner(slot.to_string());
            explanation.step(&owner.plugin, role, &before, &answer, elapsed);
        }
        // What users are to see must not be lost, and what is loaded is loaded.
        let goes_on = matches!(
            self.point,
            HookPoint::FrontendEvent | HookPoint::SessionLoad
        );
        match answer {
            Ok(Answer::Continue) => {}
            Ok(Answer::Replace(payload)) => self.replace(owner, payload),
            Ok(Answer::Permit(allowed, reason)) => self.permit(owner, allowed, reason),
            Ok(Answer::Block(reason)) if self.point == HookPoint::FrontendEvent => {
                self.block(owner, reason);
            }
            Ok(Answer::Block(reason)) if goes_on => {
                let text = format!(
                    "`{}` blocked `{}`, which goes on: {reason}",
                    owner.plugin, self.point
                );
                self.warn(owner, WarningKind::Block, text);
            }
            Ok(Answer::Block(reason)) => {
                return Err(DispatchError::BlockedByOwner {
                    plugin: owner.plugin.clone(),
                    point: self.point,
                    slot: slot.to_string(),
                    reason,
                });
            }
            Err(bad) if goes_on => self.pass_over(owner, bad),
            Err(bad) => return Err(self.fatal(owner, bad)),
        }
        Ok(())
    }

    async fn ask(&self, participant: &Participant) -> (Result<Answer, Bad>, Duration) {
        let begun = Instant::now();
        let answer = self.call(participant).await;
        let answer = match answer {
            Ok(ruled) => self.judge(&ruled).map_err(Bad::Violated),
            Err(failure) => Err(Bad::Failed(failure)),
        };
        (answer, begun.elapsed())
    }

    async fn call(&self, participant: &Participant) -> Result<Ruled, Failure> {
        let client = participant.client.as_ref().ok_or(Failure::NotRunning)?;
        let (point, payload) = (self.point, self.walked.payload.clone());
        // A panic costs this plugin's ruling and nothing else.
        let ruling = unwound(async { client.intercept(point, payload).await });
        let ruled = match (self.deadline, self.inner.budget) {
            (Some(deadline), Some(budget)) => {
                let left = deadline.saturating_duration_since(Instant::now());
                timeout(left, ruling)
                    .await
                    .map_err(|_| Failure::Budget(budget))?
            }
            _ => ruling.await,
        };
        ruled.ok_or(Failure::Panicked)?.map_err(Failure::Call)
    }

    /// What a ruling means at this point, or which rule it breaks.
    fn judge(&self, ruled: &Ruled) -> Result<Answer, String> {
        let decision = ruled.result.decision;
        if !self.point.decisions().contains(&decision) {
            return Err(format!("`{decision}` is no decision of this point"));
        }
        let reason = || redact::message(ruled.result.reason.as_deref().unwrap_or_default());
        match decision {
            Decision::Continue => Ok(Answer::Continue),
            Decision::Block => Ok(Answer::Block(reason())),
            Decision::Allow => Ok(Answer::Permit(true, reason())),
            Decision::Deny => Ok(Answer::Permit(false, reason())),
            Decision::Replace => {
                let Some(replacement) = &ruled.replacement else {
                    return Err("it replaces the payload and has no replacement".to_owned());
                };
                self.point
                    .check_replacement(replacement)
                    .map_err(|error| redact::message(&error.within("/replacement").to_string()))?;
                // What the event is decides who sees it; that is not an extension's to say.
                let kind = |payload| member(payload, "kind");
                if self.point == HookPoint::FrontendEvent
                    && kind(replacement) != kind(&self.original)
                {
                    return Err("a replacement may not change `kind`".to_owned());
                }
                Ok(Answer::Replace(replacement.clone()))
            }
            // What later releases may add.
            _ => Err(format!("`{decision}` is not known to this host")),
        }
    }

    fn replace(&mut self, participant: &Participant, payload: RawJson) {
        self.walked.payload = payload;
        self.walked.applied.push(participant.plugin.clone());
    }

    fn block(&mut self, participant: &Participant, reason: String) {
        self.walked.blocked = Some(Blocked {
            plugin: participant.plugin.clone(),
            reason,
        });
    }

    fn permit(&mut self, participant: &Participant, allowed: bool, reason: String) {
        self.walked.permission = Some(Permission {
            plugin: participant.plugin.clone(),
            allowed,
            reason,
        });
    }

    fn fatal(&self, participant: &Participant, bad: Bad) -> DispatchError {
        let (plugin, point) = (participant.plugin.clone(), self.point);
        match bad {
            Bad::Failed(cause) => DispatchError::Failed {
                plugin,
                point,
                cause,
            },
            Bad::Violated(what) => DispatchError::Violation {
                plugin,
                point,
                what,
            },
        }
    }

    fn pass_over(&self, participant: &Participant, bad: Bad) {
        let (plugin, point) = (&participant.plugin, self.point);
        let (kind, text) = match bad {
            Bad::Failed(cause) => (
                WarningKind::Failure,
                format!("`{plugin}` {cause}; it is passed over at `{point}`"),
            ),
            Bad::Violated(what) => (
                WarningKind::Violation,
                format!(
                    "`{plugin}` broke the rules of `{point}`, so its ruling is passed over: {what}"
                ),
            ),
        };
        self.warn(participant, kind, text);
    }

    fn warn(&self, participant: &Participant, kind: WarningKind, text: String) {
        let warnings = &self.inner.warnings;
        warnings.warn(&participant.plugin, self.point, kind, text);
    }

    /// Records a permission against what the host itself had decided.
    fn audit(&mut self) {
        let Some(Permission {
            plugin,
            allowed: true,
            reason,
        }) = &self.walked.permission
        else {
            return;
        };
        let Ok(asked) = self.original.decode::<PermissionDecisionPayload>() else {
            return;
        };
        if asked.host_decision == HostDecision::Deny && self.walked.blocked.is_none() {
            self.walked.audit = Some(Audit {
                at: SystemTime::now(),
                plugin: plugin.clone(),
                tool: asked.name,
                reason: reason.clone(),
            });
        }
    }

    /// Tells the chain and the owner of the point's slot what became of the payload.
    fn tell(&self, mut explanation: Option<&mut Explanation>) {
        let plan = &self.inner.plan;
        let owner = self.point.slot().and_then(|slot| plan.owner(slot));
        let mut told: Vec<&str> = Vec::new();
        for participant in plan.chain(self.point).iter().chain(owner) {
            let Some(client) = &participant.client else {
                continue;
            };
            if told.contains(&participant.plugin.as_str()) {
                continue;
            }
            told.push(&participant.plugin);
            let heard = client.observe(self.point, self.walked.payload.clone());
            if !heard {
                let text = format!(
                    "`{}` does not keep up or has ended; it missed `{}`",
                    participant.plugin, self.point
                );
                self.warn(participant, WarningKind::Missed, text);
            }
            if let Some(explanation) = explanation.as_deref_mut() {
                explanation.observers.push(Observer {
                    plugin: participant.plugin.clone(),
                    told: heard,
                });
            }
        }
    }
}

impl Explanation {
    fn skip(&mut self, plugin: &str, role: Role) {
        self.steps.push(Step {
            plugin: plugin.to_owned(),
            role,
            verdict: Verdict::Skipped(ENDED.to_owned()),
            elapsed: Duration::ZERO,
            changes: Vec::new(),
        });
    }

    fn step(
        &mut self,
        plugin: &str,
        role: Role,
        before: &RawJson,
        answer: &Result<Answer, Bad>,
        elapsed: Duration,
    ) {
        let mut changes = Vec::new();
        let verdict = match answer {
            Ok(Answer::Continue) => Verdict::Continued,
            Ok(Answer::Replace(after)) => {
                changes = explain::changes(before.as_str(), after.as_str());
                Verdict::Replaced
            }
            Ok(Answer::Block(reason)) => Verdict::Blocked(reason.clone()),
            Ok(Answer::Permit(true, _)) => Verdict::Allowed,
            Ok(Answer::Permit(false, reason)) => Verdict::Denied(reason.clone()),
            Err(Bad::Failed(failure)) => Verdict::Failed(failure.to_string()),
            Err(Bad::Violated(what)) => Verdict::Violated(what.clone()),
        };
        self.steps.push(Step {
            plugin: plugin.to_owned(),
            role,
            verdict,
            elapsed,
            changes,
        });
    }
}

type Members<'a> = BTreeMap<String, &'a RawValue>;

fn members(json: &RawJson) -> Option<Members<'_>> {
    serde_json::from_str(json.as_str()).ok()
}

/// A member that is a string.
fn member(json: &RawJson, name: &str) -> Option<String> {
    serde_json::from_str(members(json)?.get(name)?.get()).ok()
}

/// The host's payload with what the point lets a replacement change; `None` where that is nothing new.
pub(super) fn adopted(point: HookPoint, original: &RawJson, last: &RawJson) -> Option<RawJson> {
    if original == last {
        return None;
    }
    let mut adopted = members(original)?;
    let replaced = members(last)?;
    let mut changed = false;
    for &name in point.adopts() {
        let (old, new) = (adopted.get(name).copied(), replaced.get(name).copied());
        changed |= !same(old, new);
        match new {
            Some(new) => adopted.insert(name.to_owned(), new),
            None => adopted.remove(name),
        };
    }
    let adopted = changed.then(|| serde_json::to_string(&adopted).ok())??;
    RawJson::parse(&adopted).ok()
}

/// Whether two members say the same, however they are spelled.
fn same(old: Option<&RawValue>, new: Option<&RawValue>) -> bool {
    let value = |raw: &RawValue| serde_json::from_str::<serde_json::Value>(raw.get()).ok();
    match (old, new) {
        (Some(old), Some(new)) => old.get() == new.get() || value(old) == value(new),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}
