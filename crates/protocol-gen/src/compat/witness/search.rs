//! Runs both decoders over messages until one of them refuses what the other accepts.

use std::collections::BTreeSet;

use super::{
    Both, Carrier, Party, Version, Witness,
    candidates::{self, Want},
    ways::{self, Judge, Way, Ways},
};
use crate::{
    compat::change::{Change, DocumentProbe, Kind, Subject, Verdict},
    contract::{
        Fault, FaultKind, push_segment,
        sample::{self, Tree},
    },
};

/// How many messages are tried for one member and one change.
const MAX_TRIED: usize = 4096;

impl Want {
    fn of(change: &Change) -> Self {
        match (&change.subject, change.kind) {
            (Subject::Value(_, _, value) | Subject::SharedValue(_, value), _)
            | (Subject::Hook(value), Kind::HookAdded | Kind::HookRemoved)
            | (Subject::Error(value), Kind::ErrorAdded | Kind::ErrorRemoved) => {
                Self::Text(value.clone())
            }
            (_, Kind::Required) => Self::Presence,
            (_, Kind::Externalizable) => Self::Null,
            (_, Kind::ValueType | Kind::Bound | Kind::Blank | Kind::Width | Kind::Spelling) => {
                Self::Present {
                    highest_first: change
                        .places
                        .iter()
                        .any(|place| place.pointer.ends_with("/maximum")),
                }
            }
            _ => Self::All,
        }
    }
}

/// A value of a type, with what both sides say of it.
struct Tried {
    tree: Tree,
    /// The side that would write it.
    by: Version,
    old: Result<(), Fault>,
    new: Result<(), Fault>,
}

impl Tried {
    fn verdict(&self, version: Version) -> &Result<(), Fault> {
        match version {
            Version::Old => &self.old,
            Version::New => &self.new,
        }
    }
}

/// Looks at members of types; returns how many messages were tried.
pub(super) fn members<'c>(
    both: Both<'c>,
    ways: &Ways<'c>,
    change: &mut Change,
    members: &BTreeSet<(String, String)>,
) -> usize {
    let want = Want::of(change);
    let mut tried = 0;
    let mut places = Vec::new();
    for (ty, member) in members {
        let Some((ty, _)) = both.old.types.get_key_value(ty) else {
            continue;
        };
        let ways = ways.to(ty);
        change
            .carriers
            .extend(ways.iter().map(|way| way.carrier.clone()));
        let judged = judge(both, ty, member, &want);
        tried += judged.len();
        places.push((ty.as_str(), member.as_str(), judged, ways));
    }
    for accepts in [Version::Old, Version::New] {
        let grows = matches!(change.verdict, Verdict::Allowed(_));
        // A fault that another change makes is taken only where there is no better one, and never to
        // say that growth breaks what an older peer sends.
        let strictness: &[bool] = match accepts {
            Version::Old if grows => &[true],
            Version::Old | Version::New => &[true, false],
        };
        let found = strictness.iter().find_map(|&strict| {
            places.iter().find_map(|(ty, member, judged, ways)| {
                let place = Place {
                    both,
                    ty,
                    member,
                    rules_only: matches!(change.kind, Kind::RuleAdded | Kind::RuleRemoved),
                    accepts,
                    strict,
                    grows,
                };
                place.witness(judged, ways)
            })
        });
        change.witnesses.extend(found);
    }
    tried
}

fn judge(both: Both<'_>, ty: &str, member: &str, want: &Want) -> Vec<Tried> {
    let mut seen = BTreeSet::new();
    let mut judged = Vec::new();
    for version in [Version::Old, Version::New] {
        let contract = both.side(version);
        for tree in candidates::of_member(contract, both.name(version, ty), member, want) {
            if judged.len() == MAX_TRIED {
                break;
            }
            let text = tree.to_string();
            let decode = |version| both.side(version).decode(both.name(version, ty), &text);
            let (old, new) = (decode(Version::Old), decode(Version::New));
            if seen.insert(text) {
                judged.push(Tried {
                    tree,
                    by: version,
                    old,
                    new,
                });
            }
        }
    }
    judged
}

struct Place<'p, 'c> {
    both: Both<'c>,
    ty: &'p str,
    member: &'p str,
    rules_only: bool,
    accepts: Version,
    strict: bool,
    grows: bool,
}

impl<'c> Place<'_, 'c> {
    fn witness(&self, judged: &[Tried], ways: &[Way<'c>]) -> Option<Witness> {
        let own = judged.iter().filter(|tried| tried.by == self.accepts);
        let others = judged.iter().filter(|tried| tried.by != self.accepts);
        let mut differ = own.chain(others).filter(|tried| {
            tried.verdict(self.accepts).is_ok()
                && tried
                    .verdict(self.accepts.other())
                    .as_ref()
                    .is_err_and(|fault| self.is_ours(fault, ""))
        });
        let first = differ.clone().next()?;
        let sent = differ.find_map(|tried| ways.iter().find_map(|way| self.embed(tried, way)));
        sent.or_else(|| {
            let refusal = first.verdict(self.accepts.other()).clone().err()?;
            let carrier = Carrier {
                place: format!("a value of the type `{}`", self.ty),
                sender: ways.first().and_then(|way| way.carrier.sender),
            };
            Some(Witness {
                message: first.tree.to_string(),
                carrier,
                accepted_by: self.accepts,
                refusal,
                without: None,
            })
        })
    }

    fn embed(&self, tried: &Tried, way: &Way<'c>) -> Option<Witness> {
        let (accepts, refuses) = (self.accepts, self.accepts.other());
        let message = way
            .embed(self.both, accepts, tried.tree.clone())?
            .to_string();
        way.judge(self.both, accepts, &message).ok()?;
        let refusal = way.judge(self.both, refuses, &message).err()?;
        if !self.is_ours(&refusal, &way.pointer(self.both)) {
            return None;
        }
        Some(Witness {
            message,
            carrier: way.carrier.clone(),
            accepted_by: accepts,
            refusal,
            without: if self.grows { self.without(way) } else { None },
        })
    }

    /// A message of the old contract at the same place that both accept.
    fn without(&self, way: &Way<'c>) -> Option<String> {
        let (both, old) = (self.both, Version::Old);
        candidates::bases(both.old, self.ty)
            .into_iter()
            .find_map(|mut tree| {
                sample::complete(both.old, self.ty, &mut tree, &[]);
                let message = way.embed(both, old, tree)?.to_string();
                way.judge(both, old, &message).ok()?;
                way.judge(both, Version::New, &message).ok()?;
                Some(message)
            })
    }

    /// Whether a fault is met at the member, or at a rule of its type.
    fn is_ours(&self, fault: &Fault, prefix: &str) -> bool {
        if !self.strict {
            return true;
        }
        let rule = fault.kind == FaultKind::Rule && fault.pointer == prefix;
        if self.rules_only {
            return rule;
        }
        let mut member = prefix.to_owned();
        push_segment(&mut member, self.member);
        let inside = fault
            .pointer
            .strip_prefix(&member)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        // Growth brings no rule: the change that does is listed beside it.
        let growth_breaks = self.grows && self.accepts == Version::Old;
        inside || (rule && !growth_breaks)
    }
}

/// Looks at all members of a type.
pub(super) fn whole_type<'c>(
    both: Both<'c>,
    ways: &Ways<'c>,
    change: &mut Change,
    ty: &str,
) -> usize {
    let names = |version| {
        both.side(version)
            .types
            .get(both.name(version, ty))
            .into_iter()
            .flat_map(|object| object.members.keys())
    };
    let all: BTreeSet<(String, String)> = names(Version::Old)
        .chain(names(Version::New))
        .map(|member| (ty.to_owned(), member.clone()))
        .collect();
    members(both, ways, change, &all)
}

/// Looks at the documents that stood and stand in a member, each as the other.
pub(super) fn document(
    both: Both<'_>,
    ways: &Ways<'_>,
    change: &mut Change,
    probe: &DocumentProbe,
) -> usize {
    let parent = both.old.types.get_key_value(&probe.parent);
    let senders: BTreeSet<Option<Party>> = parent
        .map(|(name, _)| ways.to(name))
        .unwrap_or_default()
        .into_iter()
        .map(|way| way.carrier.sender)
        .collect();
    let place = ways::document_place(&probe.parent, &probe.member, &probe.by, &probe.value);
    change
        .carriers
        .extend(senders.iter().map(|&sender| Carrier {
            place: place.clone(),
            sender,
        }));
    let decoded = |version: Version, message: &str| match version {
        Version::Old => both.old.decode(&probe.old, message),
        Version::New => both.new.decode(&probe.new, message),
    };
    let mut tried = 0;
    for accepts in [Version::Old, Version::New] {
        let contract = both.side(accepts);
        let ty = match accepts {
            Version::Old => &probe.old,
            Version::New => &probe.new,
        };
        let members = contract.types.get(ty).into_iter();
        let mut trees = candidates::bases(contract, ty);
        for tree in &mut trees {
            sample::complete(contract, ty, tree, &[]);
        }
        for member in members.flat_map(|object| object.members.keys()) {
            trees.extend(candidates::of_member(contract, ty, member, &Want::All));
        }
        trees.truncate(MAX_TRIED);
        tried += trees.len();
        let found = trees.into_iter().find_map(|tree| {
            let message = tree.to_string();
            decoded(accepts, &message).ok()?;
            let refusal = decoded(accepts.other(), &message).err()?;
            Some(Witness {
                message,
                carrier: Carrier {
                    place: place.clone(),
                    sender: senders.first().copied().flatten(),
                },
                accepted_by: accepts,
                refusal,
                without: None,
            })
        });
        change.witnesses.extend(found);
    }
    tried
}

/// Looks at what both sides say of payloads and replacements of a hook.
pub(super) fn hook(both: Both<'_>, change: &mut Change, point: &str) -> usize {
    let mut tried = 0;
    for (what, sender, judge) in [
        ("payload", Party::Host, Judge::Payload(point.to_owned())),
        (
            "replacement",
            Party::Extension,
            Judge::Replacement(point.to_owned()),
        ),
    ] {
        let place = format!("{what} of the hook `{point}`");
        let way = Way::at_hook("", judge, place, sender);
        change.carriers.insert(way.carrier.clone());
        let messages = hook_messages(both, point);
        tried += messages.len();
        for accepts in [Version::Old, Version::New] {
            if change
                .witnesses
                .iter()
                .any(|known| known.accepted_by == accepts)
            {
                continue;
            }
            let found = messages.iter().find_map(|message| {
                way.judge(both, accepts, message).ok()?;
                let refusal = way.judge(both, accepts.other(), message).err()?;
                Some(Witness {
                    message: message.clone(),
                    carrier: way.carrier.clone(),
                    accepted_by: accepts,
                    refusal,
                    without: None,
                })
            });
            change.witnesses.extend(found);
        }
    }
    tried
}

/// What suits the hook point, with each member taken away or changed.
fn hook_messages(both: Both<'_>, point: &str) -> Vec<String> {
    let mut messages: Vec<String> = Vec::new();
    let mut push = |tree: &Tree| {
        let message = tree.to_string();
        if messages.len() < MAX_TRIED && !messages.contains(&message) {
            messages.push(message);
        }
    };
    for version in [Version::Old, Version::New] {
        let contract = both.side(version);
        let Some(hook) = contract
            .payloads
            .as_ref()
            .and_then(|payloads| payloads.hooks.get(point))
        else {
            continue;
        };
        let mut suited = Tree::Object(Vec::new());
        sample::complete(contract, &hook.payload, &mut suited, &[]);
        ways::suit(contract, hook, &mut suited, None);
        push(&suited);
        let Some(object) = contract.types.get(&hook.payload) else {
            continue;
        };
        for (name, member) in &object.members {
            let mut tree = suited.clone();
            tree.remove(name);
            push(&tree);
            let mut values = sample::edges(contract, &member.shape);
            values.extend(["{}", "[]", "x{"].map(Tree::text));
            for value in values {
                let mut tree = suited.clone();
                tree.set(name, value);
                push(&tree);
            }
        }
    }
    messages
}
