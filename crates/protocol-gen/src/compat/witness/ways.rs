//! The ways from what peers send down to a type, by old names. Knows no changes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Both, Carrier, Party, Version, candidates};
use crate::contract::{
    Contract, Fault, Hook, Shape, push_segment,
    sample::{self, KEY, Tree, wrap},
};

/// How what stands at the top of a way is judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Judge {
    Type,
    Payload(String),
    Replacement(String),
}

#[derive(Clone, Debug)]
struct Top {
    carrier: Carrier,
    judge: Judge,
}

/// One way down to a type.
#[derive(Clone, Debug)]
pub(super) struct Way<'c> {
    pub(super) carrier: Carrier,
    judge: Judge,
    top: &'c str,
    /// Members to follow, each with the type that has it, from the top down.
    steps: Vec<(&'c str, &'c str)>,
}

/// A place where a sibling chooses the document of a member.
struct Chosen<'c> {
    parent: &'c str,
    member: &'c str,
    by: &'c str,
    value: &'c str,
}

/// Every way, as far as both contracts have it.
pub(super) struct Ways<'c> {
    tops: BTreeMap<&'c str, Vec<Top>>,
    parents: BTreeMap<&'c str, Vec<(&'c str, &'c str)>>,
    chosen: BTreeMap<&'c str, Vec<Chosen<'c>>>,
}

impl<'c> Ways<'c> {
    pub(super) fn of(both: Both<'c>) -> Self {
        let mut ways = Self {
            tops: BTreeMap::new(),
            parents: BTreeMap::new(),
            chosen: BTreeMap::new(),
        };
        let same = |old: &str, new: &str| both.renames.new_name(old) == new;
        for (name, method) in &both.old.methods {
            let Some(other) = both.new.methods.get(name) else {
                continue;
            };
            if method.direction != other.direction {
                continue;
            }
            let sender = Party::sender(method.direction.from_host());
            let direction = method.direction.as_str();
            if same(&method.params, &other.params) {
                let place = format!("params of `{name}` ({direction})");
                ways.top(&method.params, place, Some(sender), Judge::Type);
            }
            if let (Some(result), Some(other)) = (&method.result, &other.result)
                && same(result, other)
            {
                let place = format!("result of `{name}` ({direction})");
                ways.top(result, place, Some(sender.other()), Judge::Type);
            }
        }
        if let (Some(old), Some(new)) = (&both.old.payloads, &both.new.payloads) {
            for (point, hook) in &old.hooks {
                if new
                    .hooks
                    .get(point)
                    .is_some_and(|other| same(&hook.payload, &other.payload))
                {
                    for (what, sender, judge) in [
                        ("payload", Party::Host, Judge::Payload(point.clone())),
                        (
                            "replacement",
                            Party::Extension,
                            Judge::Replacement(point.clone()),
                        ),
                    ] {
                        let place = format!("{what} of the hook `{point}`");
                        ways.top(&hook.payload, place, Some(sender), judge);
                    }
                }
            }
            if let (Some(data), Some(other)) = (&old.error_data, &new.error_data)
                && same(data, other)
            {
                for sender in [Party::Host, Party::Extension] {
                    ways.top(
                        data,
                        "data of an error".to_owned(),
                        Some(sender),
                        Judge::Type,
                    );
                }
            }
        }
        for (parent, object) in &both.old.types {
            let Some(other) = both.new.types.get(both.renames.new_name(parent)) else {
                continue;
            };
            for (name, member) in &object.members {
                let Some(new) = other.members.get(name) else {
                    continue;
                };
                if let (Shape::Type(ty), Shape::Type(other)) =
                    (member.shape.innermost(), new.shape.innermost())
                    && same(ty, other)
                {
                    ways.parents.entry(ty).or_default().push((parent, name));
                }
                if let (Some(old), Some(new)) = (&member.documents, &new.documents)
                    && old.by == new.by
                {
                    for (value, ty) in &old.types {
                        if new.types.get(value).is_some_and(|other| same(ty, other)) {
                            ways.chosen.entry(ty).or_default().push(Chosen {
                                parent,
                                member: name,
                                by: &old.by,
                                value,
                            });
                        }
                    }
                }
            }
        }
        ways
    }

    fn top(&mut self, ty: &'c str, place: String, sender: Option<Party>, judge: Judge) {
        self.tops.entry(ty).or_default().push(Top {
            carrier: Carrier { place, sender },
            judge,
        });
    }

    /// The ways to a type, short ones first.
    pub(super) fn to(&self, ty: &'c str) -> Vec<Way<'c>> {
        self.within(ty, &mut BTreeSet::new())
    }

    fn within(&self, ty: &'c str, above: &mut BTreeSet<&'c str>) -> Vec<Way<'c>> {
        let mut ways = Vec::new();
        let mut seen = BTreeSet::from([ty]);
        let mut open: VecDeque<(&'c str, Vec<(&'c str, &'c str)>)> =
            VecDeque::from([(ty, Vec::new())]);
        while let Some((top, steps)) = open.pop_front() {
            let mut way = |carrier: Carrier, judge: Judge| {
                ways.push(Way {
                    carrier,
                    judge,
                    top,
                    steps: steps.iter().rev().copied().collect(),
                });
            };
            for top in self.tops.get(top).into_iter().flatten() {
                way(top.carrier.clone(), top.judge.clone());
            }
            for chosen in self.chosen.get(top).into_iter().flatten() {
                // A document is judged on its own: the decoder of the message leaves it unread.
                if !above.insert(chosen.parent) {
                    continue;
                }
                let senders: BTreeSet<Option<Party>> = self
                    .within(chosen.parent, above)
                    .into_iter()
                    .map(|way| way.carrier.sender)
                    .collect();
                above.remove(chosen.parent);
                for sender in senders {
                    let place =
                        document_place(chosen.parent, chosen.member, chosen.by, chosen.value);
                    way(Carrier { place, sender }, Judge::Type);
                }
            }
            for (parent, member) in self.parents.get(top).into_iter().flatten() {
                if seen.insert(parent) {
                    let mut steps = steps.clone();
                    steps.push((parent, member));
                    open.push_back((parent, steps));
                }
            }
        }
        ways
    }
}

impl<'c> Way<'c> {
    /// What a hook says at the top, without steps.
    pub(super) fn at_hook(ty: &'c str, judge: Judge, place: String, sender: Party) -> Self {
        Self {
            carrier: Carrier {
                place,
                sender: Some(sender),
            },
            judge,
            top: ty,
            steps: Vec::new(),
        }
    }

    /// The place of the type in the message, as a JSON pointer.
    pub(super) fn pointer(&self, both: Both<'_>) -> String {
        let mut pointer = String::new();
        for (parent, member) in &self.steps {
            push_segment(&mut pointer, member);
            let shape = both
                .old
                .types
                .get(*parent)
                .and_then(|object| object.members.get(*member))
                .map(|member| &member.shape);
            let mut inner = shape;
            while let Some(Shape::List(of) | Shape::Map(of)) = inner {
                let list = matches!(inner, Some(Shape::List(_)));
                push_segment(&mut pointer, if list { "0" } else { KEY });
                inner = Some(of);
            }
        }
        pointer
    }

    /// The message that has a value at the end of the way, as one side would build it. `None` where
    /// none was found that this side accepts.
    pub(super) fn embed(&self, both: Both<'_>, version: Version, value: Tree) -> Option<Tree> {
        let contract = both.side(version);
        let mut value = value;
        for (parent, member) in self.steps.iter().rev() {
            let parent = both.name(version, parent);
            let shape = &contract.types.get(parent)?.members.get(*member)?.shape;
            let value_here = wrap(shape, value);
            value = candidates::bases(contract, parent)
                .into_iter()
                .map(|mut tree| {
                    tree.set(member, value_here.clone());
                    sample::complete(contract, parent, &mut tree, &[member]);
                    tree
                })
                .find(|tree| contract.decode(parent, &tree.to_string()).is_ok())?;
        }
        if let Judge::Replacement(point) | Judge::Payload(point) = &self.judge {
            let hook = contract.payloads.as_ref()?.hooks.get(point)?;
            let keep = self.steps.first().map(|(_, member)| *member);
            suit(contract, hook, &mut value, keep);
        }
        Some(value)
    }

    /// What one side says of a message.
    pub(super) fn judge(
        &self,
        both: Both<'_>,
        version: Version,
        message: &str,
    ) -> Result<(), Fault> {
        let contract = both.side(version);
        match &self.judge {
            Judge::Type => contract.decode(both.name(version, self.top), message),
            Judge::Payload(point) => contract.decode_payload(point, message),
            Judge::Replacement(point) => contract.decode_replacement(point, message),
        }
    }
}

/// Gives a payload what its hook point asks for, where it has nothing of its own there.
pub(super) fn suit(contract: &Contract, hook: &Hook, tree: &mut Tree, keep: Option<&str>) {
    let Some(object) = contract.types.get(&hook.payload) else {
        return;
    };
    let least = |name: &str| {
        object
            .members
            .get(name)
            .map(|member| sample::minimal(contract, &member.shape))
    };
    let empty = Tree::text("");
    let free = |name: &str| keep != Some(name);
    for (name, value) in hook.fixed.iter().filter(|(name, _)| free(name)) {
        tree.set(name, Tree::text(value));
    }
    let asks = &hook.replacement;
    for name in asks.required.iter().filter(|name| free(name)) {
        if tree.get(name).is_none()
            && let Some(value) = least(name)
        {
            tree.set(name, value);
        }
    }
    for name in asks.non_empty.iter().filter(|name| free(name)) {
        if tree.get(name).is_none_or(|value| *value == empty) {
            tree.set(name, Tree::text("x"));
        }
    }
    if !asks.any_of.iter().any(|name| tree.get(name).is_some())
        && let Some(name) = asks.any_of.first()
        && let Some(value) = least(name)
    {
        tree.set(name, value);
    }
}

/// How people speak of the place of a document in a member of any JSON.
pub(super) fn document_place(parent: &str, member: &str, by: &str, value: &str) -> String {
    format!("`{parent}.{member}` where `{by}` is {value:?}")
}
