//! Changes of hooks, timeouts and slots.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    change::{Change, Growth, Kind, Law, Probe, Subject, Uses, Verdict},
    diff::{Diff, grow_or_break, pointer},
    sections::hook_group,
};
use crate::{
    contract::{DocumentKind, Hook, HookTerms, Payloads},
    model::Replacement,
};

impl Diff<'_> {
    pub(super) fn hooks(&mut self) {
        let (old, new) = (self.old, self.new);
        let none = BTreeMap::new();
        let hooks = |payloads: &Option<Payloads>| match payloads {
            Some(payloads) => payloads.hooks.clone(),
            None => none.clone(),
        };
        let (old_hooks, new_hooks) = (hooks(&old.payloads), hooks(&new.payloads));
        for (added, from, to, from_hooks, to_hooks) in [
            (false, &new.events, &old.events, &new_hooks, &old_hooks),
            (true, &old.events, &new.events, &old_hooks, &new_hooks),
        ] {
            let points: BTreeSet<&String> = to.iter().chain(to_hooks.keys()).collect();
            for point in points {
                let (in_events, in_hooks) = (to.contains(point), to_hooks.get(point));
                let here = in_events && !from.contains(point);
                let there = in_hooks.is_some() && !from_hooks.contains_key(point);
                if !here && !there {
                    continue;
                }
                let (kind, what) = if added {
                    (Kind::HookAdded, "was added")
                } else {
                    (Kind::HookRemoved, "is gone")
                };
                let verdict = grow_or_break(added, Growth::EnumValue, Law::Hooks);
                let mut change = Change::new(kind, Subject::Hook(point.clone()), verdict, what);
                if here {
                    let index = to
                        .iter()
                        .position(|known| known == point)
                        .unwrap_or_default();
                    let at = pointer(&["interceptEvents", &index.to_string()]);
                    change = change.at(DocumentKind::Schema, at);
                }
                if there {
                    change = change.at(DocumentKind::Payloads, pointer(&["hooks", point]));
                    let payload = in_hooks.map(|hook| hook.payload.clone());
                    change.uses = if added {
                        Uses::of([], payload)
                    } else {
                        Uses::of(payload, [])
                    };
                }
                self.push_grouped(hook_group(added, point), change);
            }
        }
        for (point, hook) in &old_hooks {
            if let Some(other) = new_hooks.get(point) {
                self.hook(point, hook, other);
            }
        }
    }

    fn hook(&mut self, point: &str, old: &Hook, new: &Hook) {
        let subject = || Subject::Hook(point.to_owned());
        let law = Verdict::Forbidden(Law::Hooks);
        let at = |member: &str| pointer(&["hooks", point, member]);
        let probe = || Probe::Hook(point.to_owned());
        if self.renames.new_name(&old.payload) != new.payload {
            let mut change = Change::new(Kind::HookPayload, subject(), law, "has another payload")
                .was(format!("`{}`", old.payload), format!("`{}`", new.payload))
                .at(DocumentKind::Payloads, at("payload"))
                .probe(probe());
            change.uses = Uses::of([old.payload.clone()], [new.payload.clone()]);
            self.push(change);
        }
        if old.fixed != new.fixed {
            let words = |fixed: &BTreeMap<String, String>| {
                let pairs: Vec<String> = fixed
                    .iter()
                    .map(|(name, value)| format!("`{name}` {value:?}"))
                    .collect();
                list(&pairs)
            };
            let change = Change::new(Kind::HookFixed, subject(), law, "fixes other members")
                .was(words(&old.fixed), words(&new.fixed))
                .at(DocumentKind::Payloads, at("payload"))
                .at(DocumentKind::Payloads, at("replacement"))
                .probe(probe());
            self.push(change);
        }
        // A member that is new on its own brings what a replacement must be of it.
        let fresh = |member: &String| {
            let of = |contract: &crate::contract::Contract, ty: &str| {
                contract
                    .types
                    .get(ty)
                    .is_some_and(|object| object.members.contains_key(member))
            };
            !of(self.old, &old.payload) && of(self.new, &new.payload)
        };
        let carried = Replacement {
            required: new.replacement.required.clone(),
            non_empty: without(
                &new.replacement.non_empty,
                &old.replacement.non_empty,
                fresh,
            ),
            any_of: if old.replacement.any_of.is_empty() {
                new.replacement.any_of.clone()
            } else {
                without(&new.replacement.any_of, &old.replacement.any_of, fresh)
            },
            object_text: without(
                &new.replacement.object_text,
                &old.replacement.object_text,
                fresh,
            ),
        };
        if old.replacement != carried {
            let change = Change::new(
                Kind::Replacement,
                subject(),
                law,
                "asks other things of a replacement",
            )
            .was(replacement(&old.replacement), replacement(&new.replacement))
            .at(DocumentKind::Payloads, at("replacement"))
            .probe(probe());
            self.push(change);
        }
        if let (Some(old), Some(new)) = (&old.terms, &new.terms) {
            let adopts: BTreeSet<String> = new
                .adopts
                .iter()
                .filter(|name| old.adopts.contains(*name) || !fresh(name))
                .cloned()
                .collect();
            self.terms_of(point, old, new, &adopts);
        }
    }

    fn terms_of(
        &mut self,
        point: &str,
        old: &HookTerms,
        new: &HookTerms,
        adopts: &BTreeSet<String>,
    ) {
        let subject = || Subject::Hook(point.to_owned());
        let law = Verdict::Forbidden(Law::Hooks);
        let at = |member: &str| pointer(&["hooks", point, member]);
        let set = |names: &BTreeSet<String>| {
            list(
                &names
                    .iter()
                    .map(|name| format!("`{name}`"))
                    .collect::<Vec<_>>(),
            )
        };
        let mut push = |kind, what: &str, member: &str, was: String, is: String, note: &str| {
            let change = Change::new(kind, subject(), law, what)
                .was(was, is)
                .at(DocumentKind::Supplement, at(member))
                .note(note);
            self.push(change);
        };
        if old.timeout != new.timeout {
            push(
                Kind::HookTimeout,
                "has another timeout family",
                "timeout",
                format!("`{}`", old.timeout),
                format!("`{}`", new.timeout),
                "no message carries it; it says how long the host waits for a ruling",
            );
        }
        if old.slot != new.slot {
            let words = |slot: &Option<String>| {
                slot.as_ref()
                    .map_or("none".to_owned(), |slot| format!("`{slot}`"))
            };
            push(
                Kind::HookSlot,
                "has another slot",
                "slot",
                words(&old.slot),
                words(&new.slot),
                "no message of the hook carries it; it says whose ruling comes last",
            );
        }
        if old.decisions != new.decisions {
            push(
                Kind::Decisions,
                "allows other decisions",
                "decisions",
                set(&old.decisions),
                set(&new.decisions),
                "every decoder reads every decision; a host refuses one that is not legal at the hook",
            );
        }
        if &old.adopts != adopts {
            push(
                Kind::Adopts,
                "takes other members from a replacement",
                "adopts",
                set(&old.adopts),
                set(&new.adopts),
                "the messages are the same; what the host does with them is not",
            );
        }
    }

    /// Timeouts and slots. One that comes with a hook is carried by it.
    pub(super) fn terms(&mut self) {
        let (old, new) = (self.old, self.new);
        let law = Verdict::Forbidden(Law::Hooks);
        let carriers = |used: &dyn Fn(&HookTerms) -> bool, added: bool| -> Option<String> {
            let (with, without) = if added { (new, old) } else { (old, new) };
            let hooks = &with.payloads.as_ref()?.hooks;
            let known = without.payloads.as_ref().map(|payloads| &payloads.hooks);
            hooks
                .iter()
                .find(|(point, hook)| {
                    hook.terms.as_ref().is_some_and(used)
                        && known.is_none_or(|known| !known.contains_key(*point))
                })
                .map(|(point, _)| hook_group(added, point))
        };
        let mut found: Vec<(Option<String>, String, Change)> = Vec::new();
        for (name, millis) in &old.timeouts {
            let subject = Subject::Timeout(name.clone());
            let at = pointer(&["timeouts", name]);
            match new.timeouts.get(name) {
                Some(other) if other == millis => {}
                Some(other) => {
                    let change = Change::new(Kind::Timeout, subject, law, "has another length")
                        .was(format!("{millis} ms"), format!("{other} ms"))
                        .at(DocumentKind::Supplement, at);
                    found.push((None, String::new(), change));
                }
                None => {
                    let carrier = carriers(&|terms| &terms.timeout == name, false);
                    let change = Change::new(Kind::Timeout, subject, law, "is gone")
                        .at(DocumentKind::Supplement, at);
                    found.push((
                        carrier,
                        format!("without the timeout family `{name}`"),
                        change,
                    ));
                }
            }
        }
        for name in new
            .timeouts
            .keys()
            .filter(|name| !old.timeouts.contains_key(*name))
        {
            let carrier = carriers(&|terms| &terms.timeout == name, true);
            let change = Change::new(
                Kind::Timeout,
                Subject::Timeout(name.clone()),
                law,
                "was added and no new hook has it",
            )
            .at(DocumentKind::Supplement, pointer(&["timeouts", name]));
            found.push((carrier, format!("with the timeout family `{name}`"), change));
        }
        for (name, parameter) in &old.slots {
            let subject = Subject::Slot(name.clone());
            let at = pointer(&["slots", name]);
            let words = |parameter: &Option<String>| match parameter {
                Some(parameter) => format!("`{name}:<{parameter}>`"),
                None => format!("`{name}`"),
            };
            match new.slots.get(name) {
                Some(other) if other == parameter => {}
                Some(other) => {
                    let change =
                        Change::new(Kind::SlotParameter, subject, law, "is spelled otherwise")
                            .was(words(parameter), words(other))
                            .at(DocumentKind::Supplement, at);
                    found.push((None, String::new(), change));
                }
                None => {
                    let carrier = carriers(&|terms| terms.slot.as_ref() == Some(name), false);
                    let change = Change::new(Kind::SlotRemoved, subject, law, "is gone")
                        .at(DocumentKind::Supplement, at);
                    found.push((carrier, format!("without the slot `{name}`"), change));
                }
            }
        }
        for name in new
            .slots
            .keys()
            .filter(|name| !old.slots.contains_key(*name))
        {
            let carrier = carriers(&|terms| terms.slot.as_ref() == Some(name), true);
            let change = Change::new(
                Kind::SlotAdded,
                Subject::Slot(name.clone()),
                Verdict::Allowed(Growth::EnumValue),
                "was added",
            )
            .at(DocumentKind::Supplement, pointer(&["slots", name]))
            .note("slots are named in manifests, not in messages; an old host does not know it");
            found.push((carrier, format!("with the slot `{name}`"), change));
        }
        for (carrier, line, change) in found {
            match carrier.and_then(|group| self.grouped(&group)) {
                Some(carrier) => carrier.carries.push(line),
                None => self.push(change),
            }
        }
    }
}

/// The names of `new` without those that are not in `old` and came with their member.
fn without(new: &[String], old: &[String], fresh: impl Fn(&String) -> bool) -> Vec<String> {
    new.iter()
        .filter(|name| old.contains(name) || !fresh(name))
        .cloned()
        .collect()
}

fn list(words: &[String]) -> String {
    if words.is_empty() {
        "none".to_owned()
    } else {
        words.join(", ")
    }
}

fn replacement(replacement: &Replacement) -> String {
    let mut words = Vec::new();
    for (names, what) in [
        (&replacement.required, "written out"),
        (&replacement.non_empty, "not empty"),
        (&replacement.object_text, "empty or the text of one object"),
    ] {
        words.extend(names.iter().map(|name| format!("`{name}` {what}")));
    }
    if !replacement.any_of.is_empty() {
        words.push(format!(
            "one of `{}` written out",
            replacement.any_of.join("`, `")
        ));
    }
    list(&words)
}
