//! Judges the payloads and replacements of hook points by a contract that is known only at run time.
//! Shares no code with the generated checks, and must agree with them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, value::RawValue};

use super::{
    Contract, Hook,
    decode::{self, Fault, FaultKind},
    json::push_segment,
};

pub(super) fn payload(contract: &Contract, point: &str, message: &str) -> Result<(), Fault> {
    let hook = hook(contract, point)?;
    decode::decode(contract, &hook.payload, message)?;
    fixed(hook, &members(message))
}

pub(super) fn replacement(contract: &Contract, point: &str, message: &str) -> Result<(), Fault> {
    let hook = hook(contract, point)?;
    decode::decode(contract, &hook.payload, message)?;
    let members = members(message);
    fixed(hook, &members)?;
    let asks = &hook.replacement;
    for name in &asks.required {
        if !members.contains_key(name) {
            let text = "the member is missing; a replacement must write it out";
            return Err(fault(name, FaultKind::MissingMember, text.to_owned()));
        }
    }
    if !asks.any_of.is_empty() && !asks.any_of.iter().any(|name| members.contains_key(name)) {
        return Err(Fault {
            pointer: String::new(),
            kind: FaultKind::Rule,
            message: format!(
                "a replacement must write out at least one of `{}`",
                asks.any_of.join("`, `")
            ),
        });
    }
    let text = |name: &str| members.get(name).and_then(|raw| string(raw));
    for name in &asks.non_empty {
        if text(name).is_none_or(|text| text.is_empty()) {
            let text = "expected text that is not empty in a replacement";
            return Err(fault(name, FaultKind::Rule, text.to_owned()));
        }
    }
    for name in &asks.object_text {
        let object = |text: &str| {
            serde_json::from_str::<Map<String, Value>>(text).is_ok()
                && super::json::scan(text, decode::RAW_DEPTH).is_ok()
        };
        if text(name).is_some_and(|text| !text.is_empty() && !object(&text)) {
            let text = "expected nothing or the text of one JSON object";
            return Err(fault(name, FaultKind::Rule, text.to_owned()));
        }
    }
    Ok(())
}

fn hook<'c>(contract: &'c Contract, point: &str) -> Result<&'c Hook, Fault> {
    contract
        .payloads
        .as_ref()
        .and_then(|payloads| payloads.hooks.get(point))
        .ok_or_else(|| Fault {
            pointer: String::new(),
            kind: FaultKind::UnknownValue,
            message: format!("the contract has no hook point {point:?}"),
        })
}

fn fixed(hook: &Hook, members: &BTreeMap<String, Box<RawValue>>) -> Result<(), Fault> {
    for (name, value) in &hook.fixed {
        if members
            .get(name)
            .is_some_and(|raw| string(raw).as_ref() != Some(value))
        {
            let text = format!("expected `{value}` at this point");
            return Err(fault(name, FaultKind::Rule, text));
        }
    }
    Ok(())
}

/// The members of what was decoded as an object.
fn members(message: &str) -> BTreeMap<String, Box<RawValue>> {
    serde_json::from_str(message).unwrap_or_default()
}

fn string(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

fn fault(member: &str, kind: FaultKind, message: String) -> Fault {
    let mut pointer = String::new();
    push_segment(&mut pointer, member);
    Fault {
        pointer,
        kind,
        message,
    }
}
