//! A comparison as text for a person, JSON for a program, annotations for a code host, and a table for
//! release notes. Judges nothing.

use std::{
    collections::BTreeMap,
    fmt::{self, Write as _},
};

use serde::Serialize;

use super::{
    Comparison,
    change::{Change, Growth, Subject, Verdict},
    witness::{Carrier, Witness},
};
use crate::{
    artifact::visible::visible_lines,
    github::{escape_data, escape_property},
};

/// Version of the JSON form. Raised when a member is renamed, removed or means something else.
pub const REPORT_VERSION: u32 = 1;

/// How many places and carriers of one change a text names before it counts the rest.
const MAX_LISTED: usize = 6;

/// One of the two contracts, as people know it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::exhaustive_structs, reason = "whoever compares says all of it")]
pub struct Side {
    /// What it is: `release 1.0.0`, `the definitions`.
    pub name: String,
    /// Hash of the canonical document of the contract, as `sha256:` and 64 hexadecimal digits.
    pub hash: String,
    /// Whether its documents are in canonical form.
    pub canonical: bool,
}

/// Where a subject stands in the definitions, as people count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(clippy::exhaustive_structs, reason = "a place has no more to it")]
pub struct Location {
    /// Path below the root.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// Both contracts, and where the definitions say what changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "whoever compares says all of it")]
pub struct Sides {
    /// The earlier contract.
    pub old: Side,
    /// The later contract.
    pub new: Side,
    /// Places in the definitions, where one of the sides is made from them.
    pub locations: BTreeMap<Subject, Location>,
}

impl Sides {
    /// The place in the definitions of a subject, or of what it is part of.
    fn location(&self, subject: &Subject) -> Option<&Location> {
        let mut subject = subject.clone();
        loop {
            if let Some(location) = self.locations.get(&subject) {
                return Some(location);
            }
            subject = subject.whole()?;
        }
    }
}

impl Subject {
    /// What the subject is part of.
    fn whole(&self) -> Option<Self> {
        match self {
            Self::Member(ty, _) => Some(Self::Type(ty.clone())),
            Self::Value(ty, member, _) => Some(Self::Member(ty.clone(), member.clone())),
            Self::SharedValue(name, _) => Some(Self::Shared(name.clone())),
            Self::Protocol
            | Self::Payloads
            | Self::Type(_)
            | Self::Shared(_)
            | Self::Method(_)
            | Self::Error(_)
            | Self::Limit(_)
            | Self::Hook(_)
            | Self::Timeout(_)
            | Self::Slot(_) => None,
        }
    }
}

impl Growth {
    /// What it costs: peers are strict, so one that is older refuses what it does not know.
    pub fn cost(self) -> &'static str {
        match self {
            Self::OptionalMember => {
                "a strict peer that predates the member refuses a message that carries it: leave it \
                 out unless it is set"
            }
            Self::EnumValue => {
                "a strict peer that predates the value refuses a message that carries it: send it only \
                 where no older value will do"
            }
            Self::Method => {
                "a peer that predates the method refuses it: be ready for that answer, and do without"
            }
        }
    }
}

impl Verdict {
    fn heading(self) -> &'static str {
        match self {
            Self::Forbidden(_) => "forbidden",
            Self::Major => "part of another major version",
            Self::Allowed(_) => "allowed",
            Self::Unseen => "unseen by peers",
        }
    }
}

impl Comparison {
    /// How many changes there are of each verdict, in the order of reports.
    fn counts(&self) -> Vec<(&'static str, usize)> {
        let mut counts: Vec<(&'static str, usize)> = Vec::new();
        for change in &self.changes {
            let heading = change.verdict.heading();
            match counts.iter_mut().find(|(known, _)| *known == heading) {
                Some((_, count)) => *count += 1,
                None => counts.push((heading, 1)),
            }
        }
        counts
    }

    /// The last line of every text.
    fn conclusion(&self) -> String {
        if self.changes.is_empty() {
            return "no change: the contracts are identical\n".to_owned();
        }
        let counts: Vec<String> = self
            .counts()
            .into_iter()
            .map(|(heading, count)| format!("{count} {heading}"))
            .collect();
        let counts = counts.join(", ");
        if self.is_permitted() {
            format!("permitted: {counts}\n")
        } else {
            format!("error: the stability contract is broken: {counts}\n")
        }
    }

    /// For a person: grouped by verdict, what is forbidden first; ends with a conclusion.
    pub fn to_text(&self, sides: &Sides) -> String {
        let mut text = String::new();
        // Here and below: writing to a string cannot fail.
        for (label, side) in [("from", &sides.old), ("to", &sides.new)] {
            let _ = writeln!(text, "{label:>4}  {} ({})", side.name, side.hash);
            if !side.canonical {
                let _ = writeln!(
                    text,
                    "      note: not in canonical form; compared by what it says"
                );
            }
        }
        for left_out in &self.left_out {
            let _ = writeln!(text, "note: not compared: {left_out}");
        }
        let mut heading = "";
        for change in &self.changes {
            if change.verdict.heading() != heading {
                heading = change.verdict.heading();
                let _ = writeln!(text, "\n{heading}");
            }
            text.push('\n');
            change_text(&mut text, change, sides);
        }
        let _ = write!(text, "\n{}", self.conclusion());
        visible_lines(&text).into_owned()
    }

    /// For a program: one line of JSON, with a `version`.
    pub fn to_json(&self, sides: &Sides) -> String {
        let report = JsonReport {
            version: REPORT_VERSION,
            permitted: self.is_permitted(),
            old: &sides.old,
            new: &sides.new,
            not_compared: &self.left_out,
            changes: self
                .changes
                .iter()
                .map(|change| JsonChange::of(change, sides))
                .collect(),
        };
        // A report is made of texts and numbers, which JSON can always hold.
        let mut json = serde_json::to_string(&report).unwrap_or_default();
        json.push('\n');
        json
    }

    /// For a code host that reads workflow commands from the log: one annotation a change, then the
    /// conclusion as a plain line.
    pub fn to_github(&self, sides: &Sides) -> String {
        let mut text = String::new();
        for change in &self.changes {
            let command = match change.verdict {
                Verdict::Forbidden(_) => "error",
                Verdict::Major | Verdict::Allowed(_) | Verdict::Unseen => "notice",
            };
            let place = sides
                .location(&change.subject)
                .map_or_else(String::new, |at| {
                    format!(
                        "file={},line={},col={},",
                        escape_property(&at.file),
                        at.line,
                        at.column
                    )
                });
            let mut message = change.summary();
            for line in judgement(change) {
                let _ = write!(message, "\n{line}");
            }
            if let Some(witness) = change.witnesses.first() {
                let _ = write!(message, "\nwitness: {witness}\n{}", witness.message);
            }
            let _ = writeln!(
                text,
                "::{command} {place}title={}::{}",
                escape_property(&format!(
                    "{}: {}",
                    change.verdict.heading(),
                    change.kind.as_str()
                )),
                escape_data(&message)
            );
        }
        text.push_str(&self.conclusion());
        text
    }

    /// For release notes: one row a change.
    pub fn to_markdown(&self, sides: &Sides) -> String {
        let mut text = format!("## From {} to {}\n\n", sides.old.name, sides.new.name);
        if self.changes.is_empty() {
            text.push_str("No change: the contracts are identical.\n");
            return text;
        }
        text.push_str("| Verdict | Change | Where it is sent | What it means for peers |\n");
        text.push_str("| --- | --- | --- | --- |\n");
        for change in &self.changes {
            let mut what = change.summary();
            for carried in &change.carries {
                let _ = write!(what, "; {carried}");
            }
            let carriers: Vec<String> = change.carriers.iter().map(Carrier::to_string).collect();
            let meaning = match change.verdict {
                Verdict::Forbidden(law) => law.sentence(),
                Verdict::Major => "the promises of the old major version do not hold for it",
                Verdict::Allowed(growth) => growth.cost(),
                Verdict::Unseen => "nothing: no message and no canonical document changes",
            };
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} |",
                change.verdict.heading(),
                cell(&what),
                cell(&listed("", &carriers).join("; ")),
                cell(meaning)
            );
        }
        let _ = writeln!(
            text,
            "\nContract `{}`, before `{}`.",
            sides.new.hash, sides.old.hash
        );
        text
    }
}

fn cell(text: &str) -> String {
    visible_lines(text).replace('|', "\\|").replace('\n', " ")
}

impl fmt::Display for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sender {
            Some(sender) => write!(
                f,
                "{}, {} to {}",
                self.place,
                sender.as_str(),
                sender.other().as_str()
            ),
            None => f.write_str(&self.place),
        }
    }
}

/// The first few lines after some words, and how many more there are.
fn listed(words: &str, lines: &[String]) -> Vec<String> {
    let shown = lines.iter().take(MAX_LISTED);
    let mut shown: Vec<String> = shown.map(|line| format!("{words}{line}")).collect();
    if lines.len() > MAX_LISTED {
        shown.push(format!("and {} more", lines.len() - MAX_LISTED));
    }
    shown
}

/// What the stability contract says of a change, and what to do.
fn judgement(change: &Change) -> Vec<String> {
    match change.verdict {
        Verdict::Forbidden(law) => vec![
            format!("breaks {}: {}", law.as_str(), law.sentence()),
            format!("instead: {}", law.advice()),
        ],
        Verdict::Major => Vec::new(),
        Verdict::Allowed(growth) => vec![
            format!("permitted as a {}", growth.noun()),
            format!("cost: {}", growth.cost()),
        ],
        Verdict::Unseen => vec!["no message and no canonical document changes".to_owned()],
    }
}

fn change_text(text: &mut String, change: &Change, sides: &Sides) {
    let _ = writeln!(text, "  {}", change.summary());
    let mut line = |label: &str, line: &str| {
        let _ = writeln!(text, "    {label}{line}");
    };
    if let Some(at) = sides.location(&change.subject) {
        line("at ", &format!("{}:{}:{}", at.file, at.line, at.column));
    }
    let places: Vec<String> = change
        .places
        .iter()
        .map(|place| format!("{} {}", place.document.as_str(), place.pointer))
        .collect();
    for place in listed("in ", &places) {
        line("", &place);
    }
    for judged in judgement(change) {
        line("", &judged);
    }
    for carried in &change.carries {
        line("", carried);
    }
    for note in &change.notes {
        line("note: ", note);
    }
    let carriers: Vec<String> = change.carriers.iter().map(Carrier::to_string).collect();
    for carrier in listed("sent in ", &carriers) {
        line("", &carrier);
    }
    for witness in &change.witnesses {
        line("witness: ", &witness.to_string());
        line(
            "  ",
            &format!("{}: {}", witness.carrier.place, witness.message),
        );
        if let Some(without) = &witness.without {
            line("  both accept: ", without);
        }
    }
    if let Some(reason) = &change.no_witness {
        line("no witness: ", reason);
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonReport<'a> {
    version: u32,
    permitted: bool,
    old: &'a Side,
    new: &'a Side,
    not_compared: &'a [String],
    changes: Vec<JsonChange<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonChange<'a> {
    kind: &'static str,
    subject: String,
    summary: String,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    growth: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    law: Option<&'static str>,
    judgement: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new: Option<&'a str>,
    places: Vec<JsonPlace<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<&'a Location>,
    carries: &'a [String],
    notes: &'a [String],
    carriers: Vec<JsonCarrier<'a>>,
    witnesses: Vec<JsonWitness<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    no_witness: Option<&'a str>,
}

#[derive(Serialize)]
struct JsonPlace<'a> {
    document: &'static str,
    pointer: &'a str,
}

#[derive(Serialize)]
struct JsonCarrier<'a> {
    place: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    sender: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonWitness<'a> {
    message: &'a str,
    carrier: JsonCarrier<'a>,
    accepted_by: &'static str,
    refused_by: &'static str,
    pointer: &'a str,
    fault: &'static str,
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    without: Option<&'a str>,
}

impl<'a> JsonCarrier<'a> {
    fn of(carrier: &'a Carrier) -> Self {
        Self {
            place: &carrier.place,
            sender: carrier.sender.map(super::Party::as_str),
        }
    }
}

impl<'a> JsonWitness<'a> {
    fn of(witness: &'a Witness) -> Self {
        Self {
            message: &witness.message,
            carrier: JsonCarrier::of(&witness.carrier),
            accepted_by: witness.accepted_by.as_str(),
            refused_by: witness.accepted_by.other().as_str(),
            pointer: &witness.refusal.pointer,
            fault: witness.refusal.kind.as_str(),
            reason: &witness.refusal.message,
            without: witness.without.as_deref(),
        }
    }
}

impl<'a> JsonChange<'a> {
    fn of(change: &'a Change, sides: &'a Sides) -> Self {
        let (growth, law) = match change.verdict {
            Verdict::Allowed(growth) => (Some(growth.as_str()), None),
            Verdict::Forbidden(law) => (None, Some(law.as_str())),
            Verdict::Major | Verdict::Unseen => (None, None),
        };
        Self {
            kind: change.kind.as_str(),
            subject: change.subject.to_string(),
            summary: change.summary(),
            verdict: change.verdict.as_str(),
            growth,
            law,
            judgement: judgement(change),
            old: change.old.as_deref(),
            new: change.new.as_deref(),
            places: change
                .places
                .iter()
                .map(|place| JsonPlace {
                    document: place.document.as_str(),
                    pointer: &place.pointer,
                })
                .collect(),
            location: sides.location(&change.subject),
            carries: &change.carries,
            notes: &change.notes,
            carriers: change.carriers.iter().map(JsonCarrier::of).collect(),
            witnesses: change.witnesses.iter().map(JsonWitness::of).collect(),
            no_witness: change.no_witness.as_deref(),
        }
    }
}
