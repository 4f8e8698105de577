//! Whole frames, for what no payload shows: methods and errors.

use std::collections::BTreeSet;

use super::{Both, Carrier, Party, Version, Witness, candidates};
use crate::{
    compat::change::Change,
    contract::{
        Contract, Fault, FaultKind, Shape,
        sample::{self, Tree},
    },
};

/// What a peer of one contract says of a frame with a method.
fn route(contract: &Contract, name: &str, sender: Party, frame: &Frame) -> Result<(), Fault> {
    let fault = |pointer: &str, kind, message: String| {
        Err(Fault {
            pointer: pointer.to_owned(),
            kind,
            message,
        })
    };
    let Some(method) = contract.methods.get(name) else {
        let text = format!("the contract has no method {name:?}");
        return fault("/method", FaultKind::UnknownValue, text);
    };
    let expected = Party::sender(method.direction.from_host());
    if expected != sender {
        let text = format!("{name:?} is sent by the {}", expected.as_str());
        return fault("/method", FaultKind::UnknownValue, text);
    }
    match (method.direction.is_notification(), frame.request) {
        (true, true) => {
            let text = "a notification has no id, and nobody answers it".to_owned();
            return fault("/id", FaultKind::UnknownMember, text);
        }
        (false, false) => {
            let text = "a request has an id".to_owned();
            return fault("/id", FaultKind::MissingMember, text);
        }
        (true, false) | (false, true) => {}
    }
    below("/params", contract.decode(&method.params, &frame.params))
}

fn below(prefix: &str, verdict: Result<(), Fault>) -> Result<(), Fault> {
    verdict.map_err(|mut fault| {
        fault.pointer.insert_str(0, prefix);
        fault
    })
}

struct Frame {
    request: bool,
    params: String,
}

impl Frame {
    fn text(&self, name: &str) -> String {
        let id = if self.request { r#""id":1,"# } else { "" };
        let method = Tree::text(name);
        format!(
            r#"{{"jsonrpc":"2.0",{id}"method":{method},"params":{}}}"#,
            self.params
        )
    }
}

/// Looks at a method that came, went or is another.
pub(super) fn method(both: Both<'_>, change: &mut Change, name: &str) -> usize {
    let mut tried = 0;
    for accepts in [Version::Old, Version::New] {
        let refuses = accepts.other();
        let Some(method) = both.side(accepts).methods.get(name) else {
            continue;
        };
        let sender = Party::sender(method.direction.from_host());
        let place = |what: &str| Carrier {
            place: format!("{what} of `{name}` ({})", method.direction.as_str()),
            sender: Some(sender),
        };
        change.carriers.insert(place("the frame"));
        let mut found = None;
        for params in messages(both, [&method.params], accepts) {
            tried += 1;
            let frame = Frame {
                request: !method.direction.is_notification(),
                params,
            };
            if route(both.side(accepts), name, sender, &frame).is_ok()
                && let Err(refusal) = route(both.side(refuses), name, sender, &frame)
            {
                found = Some(Witness {
                    message: frame.text(name),
                    carrier: place("the frame"),
                    accepted_by: accepts,
                    refusal,
                    without: None,
                });
                break;
            }
        }
        if found.is_none()
            && let Some(result) = &method.result
            && let Some(other) = both.side(refuses).methods.get(name)
            && let Some(other) = &other.result
        {
            for message in messages(both, [result], accepts) {
                tried += 1;
                if both.side(accepts).decode(result, &message).is_ok()
                    && let Err(refusal) =
                        below("/result", both.side(refuses).decode(other, &message))
                {
                    let carrier = Carrier {
                        sender: Some(sender.other()),
                        ..place("the answer")
                    };
                    found = Some(Witness {
                        message: format!(r#"{{"jsonrpc":"2.0","id":1,"result":{message}}}"#),
                        carrier,
                        accepted_by: accepts,
                        refusal,
                        without: None,
                    });
                    break;
                }
            }
        }
        change.witnesses.extend(found);
    }
    tried
}

/// Messages of types that one side knows: the least, and each member at its edges.
fn messages<'t>(
    both: Both<'_>,
    types: impl IntoIterator<Item = &'t String>,
    version: Version,
) -> Vec<String> {
    let contract = both.side(version);
    let mut seen = BTreeSet::new();
    let mut messages = Vec::new();
    for ty in types {
        let Some(object) = contract.types.get(ty) else {
            continue;
        };
        let bases = candidates::bases(contract, ty).into_iter().map(|mut tree| {
            sample::complete(contract, ty, &mut tree, &[]);
            tree
        });
        let members = object
            .members
            .keys()
            .flat_map(|member| candidates::of_member(contract, ty, member, &candidates::Want::All));
        for tree in bases.chain(members) {
            let text = tree.to_string();
            if seen.insert(text.clone()) {
                messages.push(text);
            }
        }
    }
    messages
}

/// Shows what each side says for a reason, where the other side says something else.
pub(super) fn error(both: Both<'_>, change: &mut Change, reason: &str) -> usize {
    let mut tried = 0;
    for accepts in [Version::Old, Version::New] {
        let contract = both.side(accepts);
        let Some(error) = contract.errors.get(reason) else {
            continue;
        };
        let data = data(contract, reason);
        let data = data.map_or_else(String::new, |data| format!(r#","data":{data}"#));
        let text = Tree::text(&error.message);
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":{},"message":{text}{data}}}}}"#,
            error.code
        );
        tried += 1;
        let Some(refusal) = error_fault(both.side(accepts.other()), contract, reason) else {
            continue;
        };
        // Both ends answer with errors; the host's are as good an example as the extension's.
        let carriers = [Party::Host, Party::Extension].map(|sender| Carrier {
            place: "an error".to_owned(),
            sender: Some(sender),
        });
        let [_, carrier] = carriers.clone();
        change.carriers.extend(carriers);
        change.witnesses.push(Witness {
            message,
            carrier,
            accepted_by: accepts,
            refusal,
            without: None,
        });
    }
    tried
}

/// What a peer holds against the error that a peer of another contract sends for a reason.
fn error_fault(contract: &Contract, sender: &Contract, reason: &str) -> Option<Fault> {
    let sent = sender.errors.get(reason)?;
    let fault = |pointer: &str, message: String| Fault {
        pointer: pointer.to_owned(),
        kind: FaultKind::UnknownValue,
        message,
    };
    let Some(known) = contract.errors.get(reason) else {
        return Some(fault(
            "/error",
            format!("the contract has no error with the reason {reason:?}"),
        ));
    };
    if known.code != sent.code {
        let text = format!("expected {} for {reason:?}", known.code);
        return Some(fault("/error/code", text));
    }
    if known.message != sent.message {
        let text = format!("expected {:?} for {reason:?}", known.message);
        return Some(fault("/error/message", text));
    }
    (known.retryable != sent.retryable).then(|| {
        let text = format!("expected {} for {reason:?}", known.retryable);
        fault(&format!("/error/data/{RETRYABLE}"), text)
    })
}

/// The flag of an error, in the documents and in the data of errors.
const RETRYABLE: &str = "retryable";

/// The data of an error, where the contract says what it is.
fn data(contract: &Contract, reason: &str) -> Option<Tree> {
    let ty = contract.payloads.as_ref()?.error_data.as_ref()?;
    let mut tree = Tree::Object(Vec::new());
    for (name, member) in &contract.types.get(ty)?.members {
        match &member.shape {
            Shape::Enum(values) if values.contains(reason) => tree.set(name, Tree::text(reason)),
            Shape::Bool if name == RETRYABLE => {
                let retryable = contract.errors.get(reason)?.retryable;
                tree.set(name, Tree::Raw(retryable.to_string()));
            }
            Shape::Any
            | Shape::Bool
            | Shape::Text(_)
            | Shape::Integer(_)
            | Shape::Number { .. }
            | Shape::Enum(_)
            | Shape::Type(_)
            | Shape::List(_)
            | Shape::Map(_) => {}
        }
    }
    sample::complete(contract, ty, &mut tree, &[]);
    Some(tree)
}
