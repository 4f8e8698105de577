//! Changes of methods, errors and limits.

use super::{
    change::{Change, Growth, Kind, Law, Probe, Subject, Uses, Verdict},
    diff::{Diff, grow_or_break, pointer},
};
use crate::contract::{Contract, DocumentKind, Limit, Method};

impl Diff<'_> {
    pub(super) fn methods(&mut self) {
        let (old, new) = (self.old, self.new);
        for (name, method) in &old.methods {
            match new.methods.get(name) {
                Some(other) => self.method(name, method, other),
                None => self.whole_method(name, method, false),
            }
        }
        for (name, method) in &new.methods {
            if !old.methods.contains_key(name) {
                self.whole_method(name, method, true);
            }
        }
    }

    fn whole_method(&mut self, name: &str, method: &Method, added: bool) {
        let types = [Some(&method.params), method.result.as_ref()];
        let types = types.into_iter().flatten().cloned();
        let (kind, what, uses) = if added {
            (Kind::MethodAdded, "was added", Uses::of([], types))
        } else {
            (Kind::MethodRemoved, "is gone", Uses::of(types, []))
        };
        let verdict = grow_or_break(added, Growth::Method, Law::Methods);
        let mut change = Change::new(kind, Subject::Method(name.to_owned()), verdict, what)
            .at(DocumentKind::Schema, pointer(&["methods", name]))
            .probe(Probe::Method(name.to_owned()));
        change.uses = uses;
        self.push(change);
    }

    fn method(&mut self, name: &str, old: &Method, new: &Method) {
        let subject = || Subject::Method(name.to_owned());
        let law = Verdict::Forbidden(Law::Methods);
        let at = |member: &str| pointer(&["methods", name, member]);
        let answered = old.direction.is_notification() == new.direction.is_notification();
        if old.direction != new.direction {
            let mut change = Change::new(Kind::Direction, subject(), law, "has another direction")
                .was(old.direction.as_str(), new.direction.as_str())
                .at(DocumentKind::Schema, at("direction"))
                .probe(Probe::Method(name.to_owned()));
            if !answered {
                // Whether it is answered is said three times.
                change = change
                    .at(DocumentKind::Schema, at("notification"))
                    .at(DocumentKind::Schema, at("result"))
                    .note(if new.direction.is_notification() {
                        "an old peer that sends it waits for an answer that never comes"
                    } else {
                        "a new peer that sends it waits for an answer that an old one never gives"
                    });
                change.uses = Uses::of(old.result.clone(), new.result.clone());
            }
            self.push(change);
        }
        if old.class != new.class {
            let change = Change::new(Kind::Class, subject(), law, "has another class")
                .was(format!("`{}`", old.class), format!("`{}`", new.class))
                .at(DocumentKind::Schema, at("class"))
                .note("no message carries the class; it says when the method may be called");
            self.push(change);
        }
        if self.renames.new_name(&old.params) != new.params {
            let mut change = Change::new(Kind::Params, subject(), law, "has other params")
                .was(format!("`{}`", old.params), format!("`{}`", new.params))
                .at(DocumentKind::Schema, at("params"))
                .probe(Probe::Method(name.to_owned()));
            change.uses = Uses::of([old.params.clone()], [new.params.clone()]);
            self.push(change);
        }
        if let (Some(old), Some(new)) = (&old.result, &new.result)
            && self.renames.new_name(old) != new
        {
            let mut change = Change::new(Kind::ResultType, subject(), law, "has another result")
                .was(format!("`{old}`"), format!("`{new}`"))
                .at(DocumentKind::Schema, at("result"))
                .probe(Probe::Method(name.to_owned()));
            change.uses = Uses::of([old.clone()], [new.clone()]);
            self.push(change);
        }
    }

    pub(super) fn errors(&mut self) {
        let (old, new) = (self.old, self.new);
        // Errors are a list that is sorted by reason.
        let index = |contract: &Contract, reason: &str| {
            let index = contract.errors.keys().position(|known| known == reason);
            index.unwrap_or_default().to_string()
        };
        for (reason, error) in &old.errors {
            let Some(other) = new.errors.get(reason) else {
                let change = Change::new(
                    Kind::ErrorRemoved,
                    Subject::Error(reason.clone()),
                    Verdict::Forbidden(Law::Errors),
                    "is gone",
                )
                .at(
                    DocumentKind::Schema,
                    pointer(&["errors", &index(old, reason)]),
                )
                .probe(Probe::Error(reason.clone()));
                self.push_grouped(error_group(false, reason), change);
                continue;
            };
            let at = index(new, reason);
            let law = Verdict::Forbidden(Law::Errors);
            let mut push = |kind, what: &str, member: &str, was: String, is: String| {
                let change = Change::new(kind, Subject::Error(reason.clone()), law, what)
                    .was(was, is)
                    .at(DocumentKind::Schema, pointer(&["errors", &at, member]))
                    .probe(Probe::Error(reason.clone()));
                self.push(change);
            };
            if error.code != other.code {
                let (was, is) = (error.code.to_string(), other.code.to_string());
                push(Kind::ErrorCode, "has another code", "jsonRpcCode", was, is);
            }
            if error.message != other.message {
                let (was, is) = (
                    format!("{:?}", error.message),
                    format!("{:?}", other.message),
                );
                push(
                    Kind::ErrorMessage,
                    "has another message",
                    "message",
                    was,
                    is,
                );
            }
            if error.retryable != other.retryable {
                let what = if other.retryable {
                    "is retryable now"
                } else {
                    "is no longer retryable"
                };
                let (was, is) = (error.retryable.to_string(), other.retryable.to_string());
                push(Kind::ErrorRetryable, what, "retryable", was, is);
            }
        }
        for reason in new.errors.keys() {
            if !old.errors.contains_key(reason) {
                let change = Change::new(
                    Kind::ErrorAdded,
                    Subject::Error(reason.clone()),
                    Verdict::Allowed(Growth::EnumValue),
                    "was added",
                )
                .at(
                    DocumentKind::Schema,
                    pointer(&["errors", &index(new, reason)]),
                )
                .probe(Probe::Error(reason.clone()));
                self.push_grouped(error_group(true, reason), change);
            }
        }
        let data = |contract: &Contract| {
            contract
                .payloads
                .as_ref()
                .and_then(|payloads| payloads.error_data.clone())
        };
        let (was, is) = (data(old), data(new));
        if was.as_deref().map(|was| self.renames.new_name(was)) != is.as_deref()
            && old.payloads.is_some()
            && new.payloads.is_some()
        {
            let words = |ty: &Option<String>| {
                ty.as_ref()
                    .map_or("none".to_owned(), |ty| format!("`{ty}`"))
            };
            let mut change = Change::new(
                Kind::ErrorData,
                Subject::Payloads,
                Verdict::Forbidden(Law::Errors),
                "has another type for the data of errors",
            )
            .was(words(&was), words(&is))
            .at(DocumentKind::Payloads, pointer(&["errorData"]));
            change.uses = Uses::of(was, is);
            self.push(change);
        }
    }

    pub(super) fn limits(&mut self) {
        let (old, new) = (self.old, self.new);
        let law = Verdict::Forbidden(Law::Limits);
        let words = |limit: &Limit| match &limit.unit {
            Some(unit) => format!("{} {unit}", limit.value),
            None => limit.value.to_string(),
        };
        for (name, limit) in &old.limits {
            let subject = || Subject::Limit(name.clone());
            let at = pointer(&["limits", name]);
            let Some(other) = new.limits.get(name) else {
                let mut change = Change::new(Kind::LimitRemoved, subject(), law, "is gone")
                    .at(DocumentKind::Schema, at);
                change.old = Some(words(limit));
                self.push(change);
                continue;
            };
            if limit.value != other.value {
                let change = Change::new(Kind::LimitValue, subject(), law, "has another value")
                    .was(words(limit), words(other))
                    .at(DocumentKind::Schema, at);
                self.push(change);
            }
            if limit.unit != other.unit {
                let words =
                    |unit: &Option<String>| unit.clone().unwrap_or_else(|| "none".to_owned());
                let change = Change::new(Kind::LimitUnit, subject(), law, "has another unit")
                    .was(words(&limit.unit), words(&other.unit))
                    .at(DocumentKind::Supplement, pointer(&["units", name]));
                self.push(change);
            }
        }
        for (name, limit) in &new.limits {
            if !old.limits.contains_key(name) {
                let mut change = Change::new(
                    Kind::LimitAdded,
                    Subject::Limit(name.clone()),
                    law,
                    "was added",
                )
                .at(DocumentKind::Schema, pointer(&["limits", name]));
                change.new = Some(words(limit));
                self.push(change);
            }
        }
    }
}

/// What makes an error and the enum values that name it one change.
pub(super) fn error_group(added: bool, reason: &str) -> String {
    format!("error {added} {reason}")
}

/// What makes a hook point and the enum values that name it one change.
pub(super) fn hook_group(added: bool, point: &str) -> String {
    format!("hook {added} {point}")
}
