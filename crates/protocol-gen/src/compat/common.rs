//! What two contracts both say. A side whose documents are not all at hand says less, and what it does
//! not say is no change.

use crate::contract::{Contract, Shape};

/// Both contracts without what only one of them can say, and what that was.
pub(super) fn common(old: &Contract, new: &Contract) -> (Contract, Contract, Vec<String>) {
    let (mut old, mut new) = (old.clone(), new.clone());
    let mut left_out = Vec::new();
    // With a supplement all documents are at hand: no payloads document then means that there is none.
    let unknown = |contract: &Contract| contract.payloads.is_none() && !contract.supplemented;
    let payloads_unknown = unknown(&old) || unknown(&new);
    if payloads_unknown && (old.payloads.is_some() || new.payloads.is_some()) {
        let side = if unknown(&old) { "old" } else { "new" };
        left_out.push(format!(
            "payload types, hooks and error data: the payloads document of the {side} side is not at hand"
        ));
        without_payloads(&mut old);
        without_payloads(&mut new);
    }
    if old.supplemented != new.supplemented {
        let side = if old.supplemented { "new" } else { "old" };
        left_out.push(format!(
            "rules, widths, spellings, shared names, timeouts, slots and terms of hooks: the supplement \
             of the {side} side is not at hand"
        ));
        without_supplement(&mut old);
        without_supplement(&mut new);
    }
    (old, new, left_out)
}

fn without_payloads(contract: &mut Contract) {
    contract.payloads = None;
    contract.types.retain(|_, object| object.in_contract);
    for object in contract.types.values_mut() {
        object.in_payloads = false;
        for member in object.members.values_mut() {
            member.documents = None;
        }
    }
}

fn without_supplement(contract: &mut Contract) {
    contract.supplemented = false;
    contract.timeouts.clear();
    contract.slots.clear();
    for limit in contract.limits.values_mut() {
        limit.unit = None;
    }
    for object in contract.types.values_mut() {
        object.rules.clear();
        for member in object.members.values_mut() {
            member.shared = None;
            member.absent_is_zero = false;
            match member.shape.innermost_mut() {
                Shape::Integer(integer) => integer.width = integer.narrowest(),
                Shape::Text(text) => text.lower_hex = None,
                Shape::Any
                | Shape::Bool
                | Shape::Number { .. }
                | Shape::Enum(_)
                | Shape::Type(_)
                | Shape::List(_)
                | Shape::Map(_) => {}
            }
        }
    }
    if let Some(payloads) = &mut contract.payloads {
        for hook in payloads.hooks.values_mut() {
            hook.terms = None;
        }
    }
}
