//! What a contract says and its canonical documents cannot: widths of integers, spellings, shared
//! names, rules between members, and the terms of hooks. Written from the model, frozen with every
//! release, so that a change in any of it is found.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Contract, DocumentKind, HookTerms, Rule, Shape, ShapeFault,
    json::{self, push_segment},
};
use crate::{
    canonical,
    model::{Condition, Demand, Field, Model, Presence, ScalarKind, TypeRef, Width},
};

/// Version of the form of this document.
const VERSION: u32 = 1;

/// What the canonical documents cannot say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Supplement {
    version: u32,
    protocol: String,
    /// By `Type.member`.
    members: BTreeMap<String, MemberTerms>,
    /// By type.
    rules: BTreeMap<String, BTreeSet<RuleTerms>>,
    /// By hook point.
    hooks: BTreeMap<String, HookText>,
    /// Milliseconds, by family.
    timeouts: BTreeMap<String, u64>,
    /// The parameter of families, by slot.
    slots: BTreeMap<String, Option<String>>,
    /// The unit, by limit.
    units: BTreeMap<String, String>,
}

/// What the documents do not say of a member. Of a list or a map it is said of what it holds in the
/// end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct MemberTerms {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    width: Option<WidthText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lower_hex: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shared: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    absent_is_zero: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum WidthText {
    I64,
    U64,
}

/// A rule; exactly one of the last three is there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleTerms {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    when: Option<ConditionTerms>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unless: Option<ConditionTerms>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    requires: Option<BTreeSet<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    forbids: Option<BTreeSet<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    object: Option<BTreeSet<String>>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConditionTerms {
    member: String,
    value: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HookText {
    timeout: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    slot: Option<String>,
    decisions: BTreeSet<String>,
    adopts: BTreeSet<String>,
}

impl Supplement {
    /// The supplement of a model.
    pub fn of(model: &Model) -> Self {
        let mut members = BTreeMap::new();
        let mut rules = BTreeMap::new();
        for ty in model.types.values() {
            for field in &ty.fields {
                let terms = MemberTerms::of(field, model);
                if terms != MemberTerms::default() {
                    members.insert(format!("{}.{}", ty.name.wire, field.name.wire), terms);
                }
            }
            let of_type: BTreeSet<RuleTerms> = ty.rules.iter().map(RuleTerms::of).collect();
            if !of_type.is_empty() {
                rules.insert(ty.name.wire.clone(), of_type);
            }
        }
        Self {
            version: VERSION,
            protocol: model.protocol.id.clone(),
            members,
            rules,
            hooks: model
                .hooks
                .iter()
                .map(|hook| {
                    let terms = HookText {
                        timeout: hook.timeout.clone(),
                        slot: hook.slot.clone(),
                        decisions: hook.decisions.iter().cloned().collect(),
                        adopts: hook.adopts.iter().cloned().collect(),
                    };
                    (hook.name.wire.clone(), terms)
                })
                .collect(),
            timeouts: model
                .timeouts
                .iter()
                .map(|timeout| (timeout.name.wire.clone(), timeout.millis))
                .collect(),
            slots: model
                .slots
                .iter()
                .map(|slot| (slot.name.wire.clone(), slot.parameter.clone()))
                .collect(),
            units: model
                .limits
                .iter()
                .map(|limit| (limit.name.wire.clone(), limit.unit.clone()))
                .collect(),
        }
    }

    /// Its canonical JSON.
    pub fn to_canonical(&self) -> String {
        // Of maps with string keys, strings, integers and booleans: nothing in it fails to become JSON.
        canonical::to_string(&serde_json::to_value(self).unwrap_or(Value::Null))
    }

    pub(super) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        let value = json::parse(text)?;
        let supplement: Self = serde_json::from_value(value)?;
        if supplement.version == VERSION {
            Ok(supplement)
        } else {
            Err(serde::de::Error::custom(format_args!(
                "version {} of this document is not known; this program knows version {VERSION}",
                supplement.version
            )))
        }
    }

    /// Adds to a contract what the documents left out.
    pub(super) fn apply(self, contract: &mut Contract, faults: &mut Vec<ShapeFault>) {
        let mut fault = |path: &[&str], message: &str| {
            let mut pointer = String::new();
            for segment in path {
                push_segment(&mut pointer, segment);
            }
            faults.push(ShapeFault {
                document: DocumentKind::Supplement,
                pointer,
                message: message.to_owned(),
            });
        };
        if self.protocol != contract.id {
            fault(&["protocol"], "it is of another protocol than the contract");
        }
        for (place, terms) in self.members {
            let member = place.split_once('.').and_then(|(ty, member)| {
                let object = contract.types.get_mut(ty)?;
                object.members.get_mut(member)
            });
            let Some(member) = member else {
                // Without the payloads document its types are unknown, which is no fault.
                if contract.payloads.is_some() {
                    fault(&["members", &place], "there is no such member");
                }
                continue;
            };
            member.shared = terms.shared;
            member.absent_is_zero = terms.absent_is_zero;
            match member.shape.innermost_mut() {
                Shape::Integer(integer) => {
                    if let Some(width) = terms.width {
                        integer.width = width.into();
                    }
                }
                Shape::Text(text) => text.lower_hex = terms.lower_hex,
                Shape::Any
                | Shape::Bool
                | Shape::Number { .. }
                | Shape::Enum(_)
                | Shape::Type(_)
                | Shape::List(_)
                | Shape::Map(_) => {
                    if terms.width.is_some() || terms.lower_hex.is_some() {
                        fault(&["members", &place], "its value has no width or spelling");
                    }
                }
            }
        }
        for (ty, rules) in self.rules {
            let Some(object) = contract.types.get_mut(&ty) else {
                if contract.payloads.is_some() {
                    fault(&["rules", &ty], "there is no such type");
                }
                continue;
            };
            for rule in rules {
                match rule.into_rule() {
                    Some(rule) if rule.names().all(|name| object.members.contains_key(name)) => {
                        object.rules.push(rule);
                    }
                    Some(_) => fault(&["rules", &ty], "a rule names what is no member"),
                    None => fault(
                        &["rules", &ty],
                        "a rule has at most one condition and exactly one demand",
                    ),
                }
            }
            object.rules.sort();
        }
        if let Some(payloads) = &mut contract.payloads {
            for (point, terms) in self.hooks {
                match payloads.hooks.get_mut(&point) {
                    Some(hook) => {
                        hook.terms = Some(HookTerms {
                            timeout: terms.timeout,
                            slot: terms.slot,
                            decisions: terms.decisions,
                            adopts: terms.adopts,
                        });
                    }
                    None => fault(&["hooks", &point], "there is no such hook point"),
                }
            }
        }
        for (name, unit) in self.units {
            match contract.limits.get_mut(&name) {
                Some(limit) => limit.unit = Some(unit),
                None => fault(&["units", &name], "there is no such limit"),
            }
        }
        contract.timeouts = self.timeouts;
        contract.slots = self.slots;
        contract.supplemented = true;
    }
}

impl MemberTerms {
    fn of(field: &Field, model: &Model) -> Self {
        let mut terms = Self {
            absent_is_zero: field.presence == Presence::ZeroIfAbsent,
            ..Self::default()
        };
        match field.ty.innermost() {
            TypeRef::Integer(integer) => terms.width = Some(integer.width.into()),
            TypeRef::Scalar(name) => {
                terms.shared = Some(name.clone());
                match model.scalars.get(name).map(|scalar| &scalar.kind) {
                    Some(ScalarKind::Integer(integer)) => terms.width = Some(integer.width.into()),
                    Some(ScalarKind::String { lower_hex, .. }) => terms.lower_hex = *lower_hex,
                    None => {}
                }
            }
            TypeRef::Enum(name) => terms.shared = Some(name.clone()),
            TypeRef::String
            | TypeRef::Bool
            | TypeRef::Number { .. }
            | TypeRef::Json
            | TypeRef::Object(_)
            | TypeRef::List(_)
            | TypeRef::Map(_) => {}
        }
        terms
    }
}

impl RuleTerms {
    fn of(rule: &crate::model::Rule) -> Self {
        let mut terms = Self {
            when: None,
            unless: None,
            requires: None,
            forbids: None,
            object: None,
        };
        if let Some(condition) = &rule.condition {
            let text = ConditionTerms {
                member: condition.field.clone(),
                value: condition.value.clone(),
            };
            if condition.equal {
                terms.when = Some(text);
            } else {
                terms.unless = Some(text);
            }
        }
        let set = |names: &[String]| Some(names.iter().cloned().collect());
        match &rule.demand {
            Demand::Requires(names) => terms.requires = set(names),
            Demand::Forbids(names) => terms.forbids = set(names),
            Demand::Object(names) => terms.object = set(names),
        }
        terms
    }

    fn into_rule(self) -> Option<Rule> {
        let condition = match (self.when, self.unless) {
            (Some(when), None) => Some((when, true)),
            (None, Some(unless)) => Some((unless, false)),
            (None, None) => None,
            (Some(_), Some(_)) => return None,
        };
        let list = |names: BTreeSet<String>| names.into_iter().collect();
        let demand = match (self.requires, self.forbids, self.object) {
            (Some(names), None, None) => Demand::Requires(list(names)),
            (None, Some(names), None) => Demand::Forbids(list(names)),
            (None, None, Some(names)) => Demand::Object(list(names)),
            _ => return None,
        };
        Some(Rule {
            condition: condition.map(|(terms, equal)| Condition {
                field: terms.member,
                value: terms.value,
                equal,
            }),
            demand,
        })
    }
}

impl Rule {
    /// The members that it names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let (Demand::Requires(names) | Demand::Forbids(names) | Demand::Object(names)) =
            &self.demand;
        let condition = self.condition.iter().map(|condition| &condition.field);
        names.iter().chain(condition).map(String::as_str)
    }
}

impl From<Width> for WidthText {
    fn from(width: Width) -> Self {
        match width {
            Width::I64 => Self::I64,
            Width::U64 => Self::U64,
        }
    }
}

impl From<WidthText> for Width {
    fn from(width: WidthText) -> Self {
        match width {
            WidthText::I64 => Self::I64,
            WidthText::U64 => Self::U64,
        }
    }
}
