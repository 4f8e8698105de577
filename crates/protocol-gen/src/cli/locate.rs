//! Where definitions say what a change is about. Judges nothing.

use crate::{
    compat::{Location, Subject},
    definition,
    diagnostic::{Diagnostics, Place},
    source::{At, Source},
};

/// The place of every subject that definitions have.
pub(super) fn subjects(sources: &[Source]) -> Vec<(Subject, Location)> {
    let definitions = definition::read(sources, &mut Diagnostics::default());
    let mut found: Vec<(Subject, At)> = Vec::new();
    let mut add = |subject: Subject, at: At| found.push((subject, at));
    for (at, _) in &definitions.protocol {
        add(Subject::Protocol, *at);
    }
    for (at, _) in &definitions.payloads {
        add(Subject::Payloads, *at);
    }
    for item in &definitions.methods {
        add(Subject::Method(item.name.value.clone()), item.name.at);
    }
    for item in &definitions.errors {
        add(Subject::Error(item.name.value.clone()), item.name.at);
    }
    for item in &definitions.limits {
        add(Subject::Limit(item.name.value.clone()), item.name.at);
    }
    for item in &definitions.hooks {
        add(Subject::Hook(item.name.value.clone()), item.name.at);
    }
    for item in &definitions.timeouts {
        add(Subject::Timeout(item.name.value.clone()), item.name.at);
    }
    for item in &definitions.slots {
        add(Subject::Slot(item.name.value.clone()), item.name.at);
    }
    for item in &definitions.scalars {
        add(Subject::Shared(item.name.value.clone()), item.name.at);
    }
    for item in &definitions.enums {
        add(Subject::Shared(item.name.value.clone()), item.name.at);
        for (value, _) in &item.def.values {
            add(
                Subject::SharedValue(item.name.value.clone(), value.value.clone()),
                value.at,
            );
        }
    }
    for item in &definitions.types {
        add(Subject::Type(item.name.value.clone()), item.name.at);
        for (member, _) in &item.def.fields {
            add(
                Subject::Member(item.name.value.clone(), member.value.clone()),
                member.at,
            );
        }
    }
    found
        .into_iter()
        .map(|(subject, at)| {
            let place = Place::of(at, sources);
            let location = Location {
                file: place.file.to_owned(),
                line: place.line,
                column: place.column,
            };
            (subject, location)
        })
        .collect()
}
