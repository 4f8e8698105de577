//! Hook points: their payloads, timeouts, slots, decisions and replacements.

use std::collections::BTreeMap;

use super::{HOOK_POINT, Resolver, checks, doc, given, sorted_names};
use crate::{
    definition::{HookDef, Item},
    model::{Enum, Field, Hook, Name, Replacement, Slot, Timeout, Type},
    source::Spanned,
};

impl Resolver<'_> {
    pub(super) fn hooks(
        &mut self,
        types: &BTreeMap<String, Type>,
        enums: &BTreeMap<String, Enum>,
        timeouts: &[Timeout],
        slots: &[Slot],
    ) -> Vec<Hook> {
        let mut hooks = Vec::new();
        // Their names were checked with the enum of all hooks.
        let points: Vec<Name> = enums
            .get(HOOK_POINT)
            .map(|points| {
                points
                    .values
                    .iter()
                    .map(|value| value.name.clone())
                    .collect()
            })
            .unwrap_or_default();
        for name in points {
            let Some(item) = self
                .definitions
                .hooks
                .iter()
                .filter(|item| item.name.value == name.wire)
                .min_by_key(|item| item.name.at)
            else {
                continue;
            };
            let def = &item.def;
            if let Some(timeout) = &def.timeout {
                if !timeouts
                    .iter()
                    .any(|known| known.name.wire == timeout.value)
                {
                    let known: Vec<String> = timeouts
                        .iter()
                        .map(|known| known.name.wire.clone())
                        .collect();
                    self.unresolved("timeout family", timeout, &known);
                }
                self.use_name("timeout", &timeout.value);
            }
            if let Some(slot) = &def.slot
                && !slots.iter().any(|known| known.name.wire == slot.value)
            {
                let known: Vec<String> =
                    slots.iter().map(|known| known.name.wire.clone()).collect();
                self.unresolved("slot", slot, &known);
            }
            let ty = def.payload.as_ref().and_then(|payload| {
                self.object_name(payload, "the payload of a hook");
                types.get(&payload.value)
            });
            if let (Some(payload), Some(ty)) = (&def.payload, ty) {
                self.in_payloads(payload, &ty.module);
            }
            let replacement = self.replacement(item, ty);
            self.decisions(def.decisions.as_ref(), enums);
            hooks.push(Hook {
                name,
                payload: given(def.payload.as_ref()),
                timeout: given(def.timeout.as_ref()),
                slot: def.slot.as_ref().map(|slot| slot.value.clone()),
                decisions: sorted_names(def.decisions.as_ref()),
                adopts: self.members(ty, def.adopts.as_ref(), |_| true, "a member"),
                fixed: self.fixed(item, ty, enums),
                replacement,
                doc: doc(def.doc.as_ref()),
            });
        }
        hooks
    }

    /// Decisions are values of the enum of decisions, where one is named.
    fn decisions(
        &mut self,
        decisions: Option<&Spanned<Vec<Spanned<String>>>>,
        enums: &BTreeMap<String, Enum>,
    ) {
        let named = self
            .definitions
            .payloads
            .first()
            .and_then(|(_, def)| def.decisions.as_ref());
        let Some(name) = named else {
            return;
        };
        self.use_name("enum", &name.value);
        let Some(values) = enums.get(&name.value) else {
            let known: Vec<String> = enums.keys().cloned().collect();
            self.unresolved("enum", name, &known);
            return;
        };
        let known: Vec<String> = values
            .values
            .iter()
            .map(|value| value.name.wire.clone())
            .collect();
        for decision in decisions.into_iter().flat_map(|list| &list.value) {
            if !known.contains(&decision.value) {
                self.unresolved("decision", decision, &known);
            }
        }
    }

    fn replacement(&mut self, item: &Item<HookDef>, ty: Option<&Type>) -> Replacement {
        let Some(def) = &item.def.replacement else {
            return Replacement::default();
        };
        let any = |_: &Field| true;
        let text = |field: &Field| checks::is_text(&field.ty);
        Replacement {
            required: self.members(ty, def.required.as_ref(), any, "a member"),
            non_empty: self.members(ty, def.non_empty.as_ref(), text, "a string member"),
            any_of: self.members(ty, def.any_of.as_ref(), any, "a member"),
            object_text: self.members(ty, def.object_text.as_ref(), text, "a string member"),
        }
    }
}
