//! Who takes part in dispatch: what each plugin may be asked, in which order, and which slots it owns.

use std::{collections::BTreeMap, fmt, sync::Arc};

use reasonix_extension_protocol::{HookPoint, RawJson};
use reasonix_extension_wire::BoxFuture;

use super::slot::{InvalidSlot, SlotName};
use crate::{
    launch::Ruled,
    sidecar::{CallFailure, Sidecar},
};

/// One who can be asked for rulings: a sidecar, or what stands for one in tests.
pub trait Client: Send + Sync + 'static {
    /// Asks for a ruling. It bounds itself in time, and gives up when the future is dropped.
    fn intercept(
        &self,
        point: HookPoint,
        payload: RawJson,
    ) -> BoxFuture<Result<Ruled, CallFailure>>;

    /// Tells what happened, without waiting; false if that was not possible.
    fn observe(&self, point: HookPoint, payload: RawJson) -> bool;
}

impl Client for Sidecar {
    fn intercept(
        &self,
        point: HookPoint,
        payload: RawJson,
    ) -> BoxFuture<Result<Ruled, CallFailure>> {
        let sidecar = self.clone();
        Box::pin(async move { Sidecar::intercept(&sidecar, point, payload).await })
    }

    fn observe(&self, point: HookPoint, payload: RawJson) -> bool {
        Sidecar::observe(self, point, payload)
    }
}

/// A plugin that takes part in dispatch.
#[derive(Clone)]
#[non_exhaustive]
pub struct Participant {
    /// The name under which it is installed.
    pub plugin: String,
    /// Lower ones are asked first; between equal ones the name decides.
    pub priority: i32,
    /// Whether its failure is one of the operation. The owner of a slot is required whatever this says.
    pub required: bool,
    /// Hook points at which it is asked and told. One that stands twice counts once.
    pub points: Vec<HookPoint>,
    /// Slots that it owns. One that stands twice counts once.
    pub slots: Vec<SlotName>,
    /// How it is asked; `None` where it does not run.
    pub client: Option<Arc<dyn Client>>,
}

impl Participant {
    /// A plugin that is asked nothing yet.
    pub fn new(plugin: impl Into<String>, client: Option<Arc<dyn Client>>) -> Self {
        Self {
            plugin: plugin.into(),
            priority: 0,
            required: false,
            points: Vec::new(),
            slots: Vec::new(),
            client,
        }
    }

    /// A sidecar, with what it declared in the handshake: that is within its manifest.
    ///
    /// # Errors
    ///
    /// When it declared a slot that there is not.
    pub fn of(sidecar: &Sidecar) -> Result<Self, InvalidSlot> {
        let declared = sidecar.declared();
        let names = declared.replaces.iter().flatten();
        let subscribed = |point: &HookPoint| {
            let mut points = declared.subscriptions.iter().flatten();
            points.any(|name| name == point.as_str())
        };
        Ok(Self {
            plugin: sidecar.name().to_owned(),
            priority: sidecar.launch().priority,
            required: sidecar.launch().required,
            points: HookPoint::ALL.iter().copied().filter(subscribed).collect(),
            slots: names.map(|name| name.parse()).collect::<Result<_, _>>()?,
            client: Some(Arc::new(sidecar.clone())),
        })
    }

    /// Whether its failure is one of the operation.
    pub(super) fn is_required(&self) -> bool {
        self.required || !self.slots.is_empty()
    }
}

impl fmt::Debug for Participant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Participant")
            .field("plugin", &self.plugin)
            .field("priority", &self.priority)
            .field("required", &self.required)
            .field("points", &self.points)
            .field("slots", &self.slots)
            .finish_non_exhaustive()
    }
}

/// Two plugins claim one slot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the slot `{slot}` is claimed by `{owner}` and by `{other}`; disable one of them or remove the slot from its manifest"
)]
#[non_exhaustive]
pub struct SlotConflict {
    /// The slot.
    pub slot: SlotName,
    /// Who claims it, first by name.
    pub owner: String,
    /// Who claims it, too.
    pub other: String,
}

/// Who is asked where. It does not change any more.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// By point; a point at which nobody is asked is not there.
    pub(super) chains: BTreeMap<HookPoint, Vec<Arc<Participant>>>,
    pub(super) owners: BTreeMap<SlotName, Arc<Participant>>,
}

impl Plan {
    pub(super) fn new(
        participants: impl IntoIterator<Item = Participant>,
    ) -> Result<Self, SlotConflict> {
        let mut participants: Vec<Arc<Participant>> =
            participants.into_iter().map(Arc::new).collect();
        // Whoever names the conflict names it the same way in every run.
        participants.sort_by(|a, b| a.plugin.cmp(&b.plugin));
        let mut plan = Self::default();
        for participant in &participants {
            for slot in &participant.slots {
                match plan.owners.get(slot) {
                    Some(owner) if owner.plugin != participant.plugin => {
                        return Err(SlotConflict {
                            slot: slot.clone(),
                            owner: owner.plugin.clone(),
                            other: participant.plugin.clone(),
                        });
                    }
                    _ => {
                        plan.owners.insert(slot.clone(), participant.clone());
                    }
                }
            }
        }
        // Stable: what is equal stays in the order of registration.
        participants.sort_by_key(|participant| participant.priority);
        for &point in HookPoint::ALL {
            let chain: Vec<_> = participants
                .iter()
                .filter(|participant| participant.points.contains(&point))
                .cloned()
                .collect();
            if !chain.is_empty() {
                plan.chains.insert(point, chain);
            }
        }
        Ok(plan)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.chains.is_empty() && self.owners.is_empty()
    }

    pub(super) fn chain(&self, point: HookPoint) -> &[Arc<Participant>] {
        self.chains.get(&point).map_or(&[], Vec::as_slice)
    }
}
