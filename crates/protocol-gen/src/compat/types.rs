//! Changes of types: members, values, rules.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use super::{
    change::{Change, DocumentProbe, Growth, Kind, Law, Place, Probe, Subject, Uses, Verdict},
    diff::{Diff, grow_or_break, pointer},
    sections::{error_group, hook_group},
};
use crate::{
    contract::{Contract, DocumentKind, Member, MemberDocuments, Object, Shape, Text, expected},
    model::{Condition, Demand, Integer, Width},
};

/// A member that is on both sides.
struct Pair<'c> {
    ty: &'c str,
    name: &'c str,
    old: &'c Member,
    new: &'c Member,
    /// The documents that the type stands in.
    documents: Vec<DocumentKind>,
}

impl Pair<'_> {
    /// Places of the member, or of something below it.
    fn places(&self, below: &str) -> Vec<Place> {
        let pointer = pointer(&["$defs", self.ty, "properties", self.name]) + below;
        self.documents
            .iter()
            .map(|document| Place {
                document: *document,
                pointer: pointer.clone(),
            })
            .collect()
    }

    fn supplement(&self) -> Place {
        Place {
            document: DocumentKind::Supplement,
            pointer: pointer(&["members", &format!("{}.{}", self.ty, self.name)]),
        }
    }

    fn subject(&self) -> Subject {
        Subject::Member(self.ty.to_owned(), self.name.to_owned())
    }

    /// The name of the scalar or enum that it shares with others, on both sides.
    fn shared(&self) -> Option<&str> {
        match (&self.old.shared, &self.new.shared) {
            (Some(old), Some(new)) if old == new => Some(old),
            _ => None,
        }
    }

    fn probe(&self) -> Probe {
        member_probe(self.ty, self.name)
    }
}

fn member_probe(ty: &str, member: &str) -> Probe {
    Probe::Members([(ty.to_owned(), member.to_owned())].into())
}

fn documents_of(object: &Object) -> Vec<DocumentKind> {
    let mut documents = Vec::new();
    if object.in_contract {
        documents.push(DocumentKind::Schema);
    }
    if object.in_payloads {
        documents.push(DocumentKind::Payloads);
    }
    documents
}

fn member_group(ty: &str, member: &str) -> String {
    format!("member {ty}.{member}")
}

impl Diff<'_> {
    pub(super) fn types(&mut self) {
        let (old, new) = (self.old, self.new);
        for (name, object) in &old.types {
            if let Some(other) = new.types.get(name) {
                self.members(name, object, other);
                self.rules(name, object, other);
            }
        }
    }

    fn members(&mut self, ty: &str, old: &Object, new: &Object) {
        for (name, member) in &old.members {
            match new.members.get(name) {
                None => self.whole_member(ty, name, old, member, false),
                Some(other) => self.member(&Pair {
                    ty,
                    name,
                    old: member,
                    new: other,
                    documents: documents_of(new),
                }),
            }
        }
        for (name, member) in &new.members {
            if !old.members.contains_key(name) {
                self.whole_member(ty, name, new, member, true);
            }
        }
    }

    fn whole_member(
        &mut self,
        ty: &str,
        name: &str,
        object: &Object,
        member: &Member,
        added: bool,
    ) {
        let used = member.shape.used_type().map(str::to_owned);
        let used = used.into_iter().chain(
            member
                .documents
                .iter()
                .flat_map(|of| of.types.values().cloned()),
        );
        let optional = if member.required {
            "required"
        } else {
            "optional"
        };
        let words = format!("{optional}, {}", words(&member.shape));
        let (kind, what, verdict) = if added {
            let verdict = if member.required {
                Verdict::Forbidden(Law::Members)
            } else {
                Verdict::Allowed(Growth::OptionalMember)
            };
            (Kind::MemberAdded, "was added", verdict)
        } else {
            (
                Kind::MemberRemoved,
                "is gone",
                Verdict::Forbidden(Law::Members),
            )
        };
        let subject = Subject::Member(ty.to_owned(), name.to_owned());
        let mut change = Change::new(kind, subject, verdict, what)
            .places(documents_of(object).into_iter().map(|document| Place {
                document,
                pointer: pointer(&["$defs", ty, "properties", name]),
            }))
            .probe(member_probe(ty, name));
        if added {
            change.new = Some(words);
            change.uses = Uses::of([], used);
        } else {
            change.old = Some(words);
            change.uses = Uses::of(used, []);
        }
        self.push_grouped(member_group(ty, name), change);
    }

    fn member(&mut self, pair: &Pair<'_>) {
        let (old, new) = (pair.old, pair.new);
        if old.required != new.required {
            let what = if new.required {
                "must be there now"
            } else {
                "may be absent now"
            };
            let change = Change::new(
                Kind::Required,
                pair.subject(),
                Verdict::Forbidden(Law::Requiredness),
                what,
            )
            .places(pair.documents.iter().map(|document| Place {
                document: *document,
                pointer: pointer(&["$defs", pair.ty, "required"]),
            }))
            .probe(pair.probe());
            self.push(change);
        }
        if old.externalizable != new.externalizable {
            let what = if new.externalizable {
                "may travel by reference now, with `null` in its place"
            } else {
                "may no longer travel by reference"
            };
            let change = Change::new(
                Kind::Externalizable,
                pair.subject(),
                Verdict::Forbidden(Law::Externalizable),
                what,
            )
            .places(pair.places("/x-externalizable"))
            .probe(pair.probe())
            .note(if new.externalizable {
                "a new sender may put the value outside of the message, where an old peer does not look"
            } else {
                "an old sender may put the value outside of the message, where a new peer does not look"
            });
            self.push(change);
        }
        if old.absent_is_zero != new.absent_is_zero {
            let words = |zero: bool| {
                if zero {
                    "the zero of its type"
                } else {
                    "absent"
                }
            };
            let change = Change::new(
                Kind::Absence,
                pair.subject(),
                Verdict::Forbidden(Law::Values),
                "means something else where it is absent",
            )
            .was(words(old.absent_is_zero), words(new.absent_is_zero))
            .places([pair.supplement()])
            .probe(pair.probe());
            self.push(change);
        }
        let same = self.shape(pair, &old.shape, &new.shape, "");
        if old.shared != new.shared && same {
            let words = |name: &Option<String>| {
                name.as_ref()
                    .map_or("none".to_owned(), |name| format!("`{name}`"))
            };
            let (was, is) = (words(&old.shared), words(&new.shared));
            let named = new.shared.clone().or_else(|| old.shared.clone());
            let subject = named.map_or_else(|| pair.subject(), Subject::Shared);
            let change = Change::new(
                Kind::SharedName,
                subject,
                Verdict::Unseen,
                "is the name of another scalar or enum for the same values",
            )
            .was(&was, &is)
            .places([pair.supplement()])
            .note("messages and canonical documents are the same; a type of the generated Rust is not");
            self.push_grouped(format!("shared {was} {is}"), change);
        }
        self.documents(pair);
    }

    /// Compares two shapes and tells whether they are of one kind.
    fn shape(&mut self, pair: &Pair<'_>, old: &Shape, new: &Shape, below: &str) -> bool {
        if self.renames.same_shape(old, new) {
            return true;
        }
        match (old, new) {
            (Shape::List(old), Shape::List(new)) => {
                self.shape(pair, old, new, &format!("{below}/items"))
            }
            (Shape::Map(old), Shape::Map(new)) => {
                self.shape(pair, old, new, &format!("{below}/additionalProperties"))
            }
            (Shape::Enum(old), Shape::Enum(new)) => {
                for (added, values) in [(false, old - new), (true, new - old)] {
                    for value in values {
                        self.value(pair, old, new, &value, added, below);
                    }
                }
                true
            }
            (Shape::Integer(old), Shape::Integer(new)) => {
                self.integer(pair, *old, *new, below);
                true
            }
            (
                Shape::Number { min, max },
                Shape::Number {
                    min: new_min,
                    max: new_max,
                },
            ) => {
                let wide = |bound: Option<i64>| bound.map(i128::from);
                self.bound(pair, "minimum", wide(*min), wide(*new_min), below);
                self.bound(pair, "maximum", wide(*max), wide(*new_max), below);
                true
            }
            (Shape::Text(old), Shape::Text(new)) => {
                self.text(pair, *old, *new, below);
                true
            }
            _ => {
                let mut change = Self::value_change(
                    pair,
                    Kind::ValueType,
                    "has another type",
                    pair.places(below),
                )
                .was(words(old), words(new));
                let of = |shape: &Shape| shape.used_type().map(str::to_owned);
                change.uses = Uses::of(of(old), of(new));
                if let (Shape::Integer(_), Shape::Number { .. })
                | (Shape::Number { .. }, Shape::Integer(_)) = (old, new)
                {
                    change = change.note(
                        "to a JSON Schema validator `1.0` is an integer; to the decoders of this \
                         protocol it is none",
                    );
                }
                let group = format!("type {:?} {old:?} {new:?}", pair.shared());
                self.push_value(pair, group, change);
                false
            }
        }
    }

    fn value_change(pair: &Pair<'_>, kind: Kind, what: &str, places: Vec<Place>) -> Change {
        let subject = pair
            .shared()
            .map_or_else(|| pair.subject(), |name| Subject::Shared(name.to_owned()));
        Change::new(kind, subject, Verdict::Forbidden(Law::Values), what)
            .places(places)
            .probe(pair.probe())
    }

    /// One change for all members that share what changed.
    fn push_value(&mut self, pair: &Pair<'_>, group: String, change: Change) {
        if pair.shared().is_some() {
            self.push_grouped(group, change);
        } else {
            self.push(change);
        }
    }

    fn integer(&mut self, pair: &Pair<'_>, old: Integer, new: Integer, below: &str) {
        self.bound(pair, "minimum", old.min, new.min, below);
        self.bound(pair, "maximum", old.max, new.max, below);
        // Where a bound alone widens the integer, the bound is the change.
        let follows = old.width == old.narrowest() && new.width == new.narrowest();
        if old.width != new.width && !follows {
            let words = |width| match width {
                Width::I64 => "64 bits with a sign",
                Width::U64 => "64 bits without a sign",
            };
            let change = Self::value_change(
                pair,
                Kind::Width,
                "has another width",
                vec![pair.supplement()],
            )
            .was(words(old.width), words(new.width));
            self.push_value(pair, format!("width {:?}", pair.shared()), change);
        }
    }

    fn bound(
        &mut self,
        pair: &Pair<'_>,
        keyword: &str,
        old: Option<i128>,
        new: Option<i128>,
        below: &str,
    ) {
        if old == new {
            return;
        }
        let words =
            |bound: Option<i128>| bound.map_or("none".to_owned(), |bound| bound.to_string());
        let places = pair.places(&format!("{below}/{keyword}"));
        let change =
            Self::value_change(pair, Kind::Bound, &format!("has another {keyword}"), places)
                .was(words(old), words(new));
        self.push_value(pair, format!("bound {keyword} {:?}", pair.shared()), change);
    }

    fn text(&mut self, pair: &Pair<'_>, old: Text, new: Text, below: &str) {
        if old.non_blank != new.non_blank {
            let what = if new.non_blank {
                "must not be blank now"
            } else {
                "may be blank now"
            };
            let places = pair.places(&format!("{below}/minLength"));
            let change = Self::value_change(pair, Kind::Blank, what, places);
            self.push_value(pair, format!("blank {:?}", pair.shared()), change);
        }
        if old.lower_hex != new.lower_hex {
            let words = |digits: Option<u32>| {
                digits.map_or("free".to_owned(), |digits| {
                    format!("{digits} lower-case hexadecimal digits")
                })
            };
            let change = Self::value_change(
                pair,
                Kind::Spelling,
                "is spelled otherwise",
                vec![pair.supplement()],
            )
            .was(words(old.lower_hex), words(new.lower_hex));
            self.push_value(pair, format!("spelling {:?}", pair.shared()), change);
        }
    }

    /// What makes all places of an enum value one change, and what the change is about.
    fn value_group(
        &self,
        pair: &Pair<'_>,
        old: &BTreeSet<String>,
        new: &BTreeSet<String>,
        value: &str,
        added: bool,
    ) -> String {
        let reasons =
            |contract: &Contract| contract.errors.keys().cloned().collect::<BTreeSet<_>>();
        if *old == self.old.events && *new == self.new.events {
            hook_group(added, value)
        } else if *old == reasons(self.old) && *new == reasons(self.new) {
            error_group(added, value)
        } else if let Some(name) = pair.shared() {
            format!("value {added} {name} {value}")
        } else {
            // Nothing says that members share an enum; equal sets that change alike do.
            format!("value {added} {value} {old:?} {new:?}")
        }
    }

    fn value(
        &mut self,
        pair: &Pair<'_>,
        old: &BTreeSet<String>,
        new: &BTreeSet<String>,
        value: &str,
        added: bool,
        below: &str,
    ) {
        let group = self.value_group(pair, old, new, value, added);
        let subject = match pair.shared() {
            Some(name) => Subject::SharedValue(name.to_owned(), value.to_owned()),
            None => Subject::Value(pair.ty.to_owned(), pair.name.to_owned(), value.to_owned()),
        };
        let (kind, what) = if added {
            (Kind::ValueAdded, "was added")
        } else {
            (Kind::ValueRemoved, "is gone")
        };
        let verdict = grow_or_break(added, Growth::EnumValue, Law::EnumValues);
        let change = Change::new(kind, subject, verdict, what)
            .places(pair.places(&format!("{below}/enum")))
            .probe(pair.probe());
        self.push_grouped(group, change);
    }

    /// Which document stands in a member of any JSON.
    fn documents(&mut self, pair: &Pair<'_>) {
        let none = BTreeMap::new();
        let types = |documents: &Option<MemberDocuments>| match documents {
            Some(documents) => documents.types.clone(),
            None => none.clone(),
        };
        let (old, new) = (&pair.old.documents, &pair.new.documents);
        if old == new {
            return;
        }
        let place = format!("{}.{}", pair.ty, pair.name);
        let at = |below: &[&str]| {
            let mut path = vec!["documents", place.as_str()];
            path.extend(below);
            pointer(&path)
        };
        let law = Verdict::Forbidden(Law::Values);
        if old.as_ref().map(|of| &of.by) != new.as_ref().map(|of| &of.by) {
            let words = |of: &Option<MemberDocuments>| {
                of.as_ref()
                    .map_or("nothing".to_owned(), |of| format!("`{}`", of.by))
            };
            let mut change = Change::new(
                Kind::Documents,
                pair.subject(),
                law,
                "has its document chosen by something else",
            )
            .was(words(old), words(new))
            .at(DocumentKind::Payloads, at(&[]));
            change.uses = Uses::of(types(old).into_values(), types(new).into_values());
            self.push(change);
            return;
        }
        let by = new.as_ref().map_or("", |of| of.by.as_str());
        let (old, new) = (types(old), types(new));
        for (added, from, to) in [(false, &new, &old), (true, &old, &new)] {
            for (value, ty) in to.iter().filter(|(value, _)| !from.contains_key(*value)) {
                let place = at(&["types", value]);
                let uses = if added {
                    Uses::of([], [ty.clone()])
                } else {
                    Uses::of([ty.clone()], [])
                };
                let carrier = self.value_carrier(pair.ty, by, value, added);
                if let Some(carrier) = carrier.and_then(|group| self.grouped(&group)) {
                    carrier.places.insert(Place {
                        document: DocumentKind::Payloads,
                        pointer: place,
                    });
                    carrier.uses.old.extend(uses.old);
                    carrier.uses.new.extend(uses.new);
                    continue;
                }
                let what = if added {
                    format!("has a document where `{by}` is {value:?}")
                } else {
                    format!("has no document where `{by}` is {value:?}")
                };
                let mut change = Change::new(Kind::Documents, pair.subject(), law, what)
                    .at(DocumentKind::Payloads, place);
                change.uses = uses;
                self.push(change);
            }
        }
        for (value, ty) in &old {
            if let Some(other) = new.get(value)
                && self.renames.new_name(ty) != other
            {
                let what = format!("has another document where `{by}` is {value:?}");
                let mut change = Change::new(Kind::Documents, pair.subject(), law, what)
                    .was(format!("`{ty}`"), format!("`{other}`"))
                    .at(DocumentKind::Payloads, at(&["types", value]));
                change.uses = Uses::of([ty.clone()], [other.clone()]);
                change.probe = Probe::Document(DocumentProbe {
                    parent: pair.ty.to_owned(),
                    member: pair.name.to_owned(),
                    by: by.to_owned(),
                    value: value.clone(),
                    old: ty.clone(),
                    new: other.clone(),
                });
                self.push(change);
            }
        }
    }

    /// The group of the change that adds or removes a value of an enum member of a type, if there is
    /// one.
    fn value_carrier(&self, ty: &str, member: &str, value: &str, added: bool) -> Option<String> {
        let of = |contract: &'_ Contract| {
            contract
                .types
                .get(ty)
                .and_then(|object| object.members.get(member))
                .cloned()
        };
        let (old, new) = (of(self.old), of(self.new));
        let (Some(old), Some(new)) = (&old, &new) else {
            return Some(member_group(ty, member));
        };
        let (Shape::Enum(values), Shape::Enum(others)) = (&old.shape, &new.shape) else {
            return None;
        };
        let moved = if added {
            !values.contains(value)
        } else {
            !others.contains(value)
        };
        let pair = Pair {
            ty,
            name: member,
            old,
            new,
            documents: Vec::new(),
        };
        moved.then(|| self.value_group(&pair, values, others, value, added))
    }

    /// Rules, member by member: a rule that only names what came with it is carried by that.
    fn rules(&mut self, ty: &str, old: &Object, new: &Object) {
        let (before, after) = (atoms(old), atoms(new));
        for (added, from, to) in [(false, &after, &before), (true, &before, &after)] {
            let without = if added { old } else { new };
            let mut left: BTreeMap<(Option<Condition>, Asks), Vec<String>> = BTreeMap::new();
            for atom in to.difference(from) {
                let line = format!(
                    "{} the rule: {}",
                    if added { "with" } else { "without" },
                    atom.words(std::slice::from_ref(&atom.member))
                );
                let member_is_new = !without.members.contains_key(&atom.member);
                let by_member = (member_is_new && (atom.asks != Asks::Requires || !added))
                    .then(|| member_group(ty, &atom.member));
                let by_value = atom
                    .condition
                    .as_ref()
                    .filter(|on| on.equal)
                    .and_then(|on| self.value_carrier(ty, &on.field, &on.value, added));
                let carrier = by_member.or(by_value);
                if let Some(carrier) = carrier.and_then(|group| self.grouped(&group)) {
                    if !carrier.carries.contains(&line) {
                        carrier.carries.push(line);
                    }
                } else {
                    left.entry((atom.condition.clone(), atom.asks))
                        .or_default()
                        .push(atom.member.clone());
                }
            }
            for ((condition, asks), members) in left {
                let (kind, what) = if added {
                    (Kind::RuleAdded, "has a new rule")
                } else {
                    (Kind::RuleRemoved, "lost a rule")
                };
                let probe = members
                    .iter()
                    .map(|member| (ty.to_owned(), member.clone()))
                    .collect();
                let atom = Atom {
                    condition,
                    asks,
                    member: String::new(),
                };
                let words = atom.words(&members);
                let change = Change::new(
                    kind,
                    Subject::Type(ty.to_owned()),
                    Verdict::Forbidden(Law::Rules),
                    format!("{what}: {words}"),
                )
                .at(DocumentKind::Supplement, pointer(&["rules", ty]))
                .probe(Probe::Members(probe));
                self.push(change);
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Asks {
    Requires,
    Forbids,
    Object,
}

/// What a rule says of one member.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Atom {
    condition: Option<Condition>,
    asks: Asks,
    member: String,
}

impl Atom {
    fn words(&self, members: &[String]) -> String {
        let members = members.to_vec();
        let demand = match self.asks {
            Asks::Requires => Demand::Requires(members),
            Asks::Forbids => Demand::Forbids(members),
            Asks::Object => Demand::Object(members),
        };
        crate::contract::Rule {
            condition: self.condition.clone(),
            demand,
        }
        .to_string()
    }
}

fn atoms(object: &Object) -> BTreeSet<Atom> {
    object
        .rules
        .iter()
        .flat_map(|rule| {
            let (asks, members) = match &rule.demand {
                Demand::Requires(members) => (Asks::Requires, members),
                Demand::Forbids(members) => (Asks::Forbids, members),
                Demand::Object(members) => (Asks::Object, members),
            };
            members.iter().map(move |member| Atom {
                condition: rule.condition.clone(),
                asks,
                member: member.clone(),
            })
        })
        .collect()
}

/// A shape in words, what lists and maps hold included.
fn words(shape: &Shape) -> String {
    let mut words = String::new();
    let mut inner = shape;
    loop {
        match inner {
            Shape::List(of) => {
                let _ = write!(words, "a list of: ");
                inner = of;
            }
            Shape::Map(of) => {
                let _ = write!(words, "an object with any names and values of: ");
                inner = of;
            }
            Shape::Type(name) => {
                let _ = write!(words, "`{name}`");
                return words;
            }
            Shape::Any
            | Shape::Bool
            | Shape::Text(_)
            | Shape::Integer(_)
            | Shape::Number { .. }
            | Shape::Enum(_) => {
                words.push_str(&expected(inner));
                return words;
            }
        }
    }
}
