//! The envelope of JSON-RPC 2.0, read strictly. Params and results stay raw; knows no method.
//!
//! What is done with a frame that is unsound is decided here and nowhere else:
//!
//! | frame | is answered | counts as unsound |
//! | --- | --- | --- |
//! | not JSON, invalid UTF-8, a byte order mark, nested too deep without a sound envelope | -32700, `id` null | yes |
//! | JSON that is no object, a batch | -32600, `id` null | yes |
//! | `id` that is no integer of 64 bits (`null`, `"7"`, `1.0`, `-0`), with a `method` | -32600, `id` null | yes |
//! | no `jsonrpc`, or another than `"2.0"`; no `method` and neither `result` nor `error`; `method` empty or no string; `method` beside `result` or `error`; params that are neither object nor array nor `null`; a member twice or in another case; nested too deep | -32600, `id` as it came | yes |
//! | a response (`result` or `error` and no `method`) that is unsound | never; the call of that `id` fails | yes |
//! | an error with `id` null | never | no |
//! | a response that answers no call, or whose `id` is a string | never | no |
//! | params that are an array, or not what the method takes | -32602 | no |
//! | an unknown method | -32601, a notification never | no |

use std::{borrow::Cow, collections::BTreeSet, fmt};

use bytes::Bytes;
use reasonix_extension_protocol::{ErrorReason, MAX_DEPTH, RawJson, methods::MethodName};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::error::{PARSE_ERROR, PeerText, RpcError};

/// Number of a request. This side counts from 1; a peer may use any integer of 64 bits.
pub type RequestId = i64;

/// A frame that was read.
#[derive(Debug)]
pub(crate) enum Message {
    Request {
        id: RequestId,
        call: Incoming,
    },
    Notification(Incoming),
    /// An answer to a call of this side.
    Response {
        id: RequestId,
        outcome: Result<Bytes, RpcError>,
    },
    /// An answer to nothing that this side asked: an error whose sender could not tell what it answers, or
    /// an answer under a string.
    Unaddressed,
    Unsound(Unsound),
}

/// A request or a notification of the peer.
#[derive(Clone, Debug)]
pub struct Incoming {
    /// Borrowed where the contract has it.
    method: Cow<'static, str>,
    name: Option<MethodName>,
    params: Option<Bytes>,
}

impl Incoming {
    /// Name of the method, as it came.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The method, if the contract has it.
    pub fn name(&self) -> Option<MethodName> {
        self.name
    }

    /// The params as JSON text, if there are any.
    pub fn params(&self) -> Option<&[u8]> {
        self.params.as_deref()
    }
}

/// A frame that breaks the envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unsound {
    /// What is wrong, in words of ours.
    pub why: String,
    /// The beginning of the frame.
    pub line: PeerText,
    /// What it is answered, with the id that it is answered under.
    pub(crate) answer: Option<(Option<RequestId>, RpcError)>,
    /// The call of this side that it was to answer.
    pub(crate) call: Option<RequestId>,
}

/// Characters of a stranger's line that are shown.
const EXCERPT: usize = 200;

/// The beginning of a text, with what does not print escaped.
pub(crate) fn excerpt(text: &str) -> String {
    let mut shown: String = text
        .chars()
        .take(EXCERPT)
        .flat_map(char::escape_debug)
        .collect();
    if text.chars().nth(EXCERPT).is_some() {
        shown.push('…');
    }
    shown
}

/// Reads a frame.
pub(crate) fn read(frame: &Bytes) -> Message {
    let unparsable = |why: &str| {
        Message::Unsound(Unsound {
            why: why.to_owned(),
            line: beginning(frame),
            answer: Some((None, RpcError::plain(PARSE_ERROR, "parse error"))),
            call: None,
        })
    };
    let Ok(text) = std::str::from_utf8(frame) else {
        return unparsable("it is not UTF-8");
    };
    let too_deep = is_too_deep(text.as_bytes());
    let members: Members<'_> = match serde_json::from_str(text) {
        Ok(members) => members,
        Err(_) if too_deep => return unparsable("it nests too deep"),
        // An array, a number: JSON, but nothing that the envelope could be.
        Err(_) if serde_json::from_str::<&RawValue>(text).is_ok() => {
            return unsound(frame, None, "it is no JSON object");
        }
        Err(_) => return unparsable("it is not JSON"),
    };
    members.read(frame, too_deep)
}

fn beginning(frame: &[u8]) -> PeerText {
    // Four bytes are the longest character.
    let start = frame.get(..EXCERPT * 4).unwrap_or(frame);
    String::from_utf8_lossy(start).into_owned().into()
}

/// A frame that is JSON and no sound envelope.
fn unsound(frame: &[u8], id: Option<RequestId>, why: impl Into<String>) -> Message {
    let why = why.into();
    let error = RpcError::because(ErrorReason::ProtocolError, why.clone());
    Message::Unsound(Unsound {
        why,
        line: beginning(frame),
        answer: Some((id, error)),
        call: None,
    })
}

/// Whether arrays and objects nest deeper than the contract allows, counted from the frame.
fn is_too_deep(json: &[u8]) -> bool {
    // Few frames hold so many brackets at all, and counting them is far quicker than following them.
    let opening = memchr::memchr2_iter(b'{', b'[', json);
    if opening.take(MAX_DEPTH + 1).count() <= MAX_DEPTH {
        return false;
    }
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(byte) = json.get(at) {
        match byte {
            b'{' | b'[' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return true;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => at = end_of_string(json, at + 1),
            _ => {}
        }
        at += 1;
    }
    false
}

/// Where the string ends that begins before `at`: at its closing quote, or at the end of the text.
fn end_of_string(json: &[u8], mut at: usize) -> usize {
    while let Some(rest) = json.get(at..) {
        match memchr::memchr2(b'"', b'\\', rest) {
            Some(found) if rest.get(found) == Some(&b'"') => return at + found,
            Some(found) => at += found + 2,
            None => return json.len(),
        }
    }
    json.len()
}

/// The members of an envelope, unread.
#[derive(Default)]
struct Members<'a> {
    jsonrpc: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    /// What is wrong with names or with members that are passed over.
    fault: Option<String>,
    /// Whether the id stands more than once.
    ids: usize,
}

impl<'a> Members<'a> {
    fn slot(&mut self, name: &str) -> Option<&mut Option<&'a RawValue>> {
        match name {
            "jsonrpc" => Some(&mut self.jsonrpc),
            "id" => Some(&mut self.id),
            "method" => Some(&mut self.method),
            "params" => Some(&mut self.params),
            "result" => Some(&mut self.result),
            "error" => Some(&mut self.error),
            _ => None,
        }
    }

    fn read(self, frame: &Bytes, too_deep: bool) -> Message {
        let is_response = self.method.is_none() && (self.result.is_some() || self.error.is_some());
        let id = self.id.filter(|_| self.ids == 1).and_then(integer);
        let fault = self.fault().or(too_deep
            .then(|| format!("it nests more than {MAX_DEPTH} levels of arrays and objects")));
        if is_response {
            let id_is_null = self.id.is_some_and(|id| id.get() == "null");
            // It may be well meant: this side never asked under such an id.
            let id_is_text = self.ids == 1 && self.id.is_some_and(|id| id.get().starts_with('"'));
            let outcome = match fault {
                Some(fault) => Err(fault),
                None => self.outcome(frame),
            };
            return match (id, outcome) {
                (Some(id), Ok(outcome)) => Message::Response { id, outcome },
                (None, Ok(Err(_))) if id_is_null => Message::Unaddressed,
                (None, Ok(_)) if id_is_text => Message::Unaddressed,
                (None, Ok(_)) => {
                    unsound_response(frame, None, "the `id` of a response is no integer")
                }
                (id, Err(why)) => unsound_response(frame, id, &why),
            };
        }
        if self.id.is_some() && id.is_none() {
            return unsound(frame, None, "the `id` is no integer of 64 bits");
        }
        if let Some(fault) = fault {
            return unsound(frame, id, fault);
        }
        let Some(method) = self.method else {
            return unsound(frame, id, "it has no `method`, no `result` and no `error`");
        };
        if self.result.is_some() || self.error.is_some() {
            return unsound(
                frame,
                id,
                "it has a `method` beside a `result` or an `error`",
            );
        }
        let method = match serde_json::from_str::<Cow<'_, str>>(method.get()) {
            Ok(method) if !method.is_empty() => method,
            Ok(_) => return unsound(frame, id, "the `method` is empty"),
            Err(_) => return unsound(frame, id, "the `method` is no string"),
        };
        let params = match self.params {
            Some(params) if params.get().starts_with(['{', '[']) || params.get() == "null" => {
                Some(frame.slice_ref(params.get().as_bytes()))
            }
            Some(_) => return unsound(frame, id, "the `params` are no object"),
            None => None,
        };
        let name = MethodName::from_wire(&method);
        let method = match name {
            Some(name) => Cow::Borrowed(name.as_str()),
            None => Cow::Owned(method.into_owned()),
        };
        let call = Incoming {
            method,
            name,
            params,
        };
        match id {
            Some(id) => Message::Request { id, call },
            None => Message::Notification(call),
        }
    }

    /// What is wrong with the members that every envelope has.
    fn fault(&self) -> Option<String> {
        if let Some(fault) = &self.fault {
            return Some(fault.clone());
        }
        match self.jsonrpc {
            None => Some("it has no `jsonrpc`".to_owned()),
            Some(version) if version.get() == "\"2.0\"" => None,
            Some(_) => Some("its `jsonrpc` is not \"2.0\"".to_owned()),
        }
    }

    fn outcome(&self, frame: &Bytes) -> Result<Result<Bytes, RpcError>, String> {
        if self.params.is_some() {
            return Err("a response has no `params`".to_owned());
        }
        match (self.result, self.error) {
            (Some(result), None) => Ok(Ok(frame.slice_ref(result.get().as_bytes()))),
            (None, Some(error)) => serde_json::from_str::<ErrorMembers>(error.get())
                .map(|error| {
                    Err(RpcError {
                        code: error.code,
                        message: error.message.into(),
                        data: error.data,
                    })
                })
                .map_err(|_| {
                    "the `error` has no integer `code` and no string `message`, or unsound `data`"
                        .to_owned()
                }),
            _ => Err("a response has one of `result` and `error`".to_owned()),
        }
    }
}

/// A response that breaks the envelope. It is never answered.
fn unsound_response(frame: &[u8], id: Option<RequestId>, why: &str) -> Message {
    Message::Unsound(Unsound {
        why: why.to_owned(),
        line: beginning(frame),
        answer: None,
        call: id,
    })
}

/// A number as JSON writes an integer, within 64 bits.
fn integer(raw: &RawValue) -> Option<RequestId> {
    let text = raw.get();
    (text != "-0").then(|| text.parse().ok())?
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Members::default();
                let mut others = BTreeSet::new();
                while let Some(Name(name)) = map.next_key()? {
                    let value: &'de RawValue = map.next_value()?;
                    members.ids += usize::from(name == "id");
                    let fault = if let Some(slot) = members.slot(&name) {
                        let twice = slot.replace(value).is_some();
                        twice.then(|| format!("it has `{}` twice", excerpt(&name)))
                    } else if members.slot(&folded(&name)).is_some() {
                        Some(format!("it has `{}` in another case", excerpt(&name)))
                    } else if value.get() != "null" && RawJson::parse(value.get()).is_err() {
                        Some(format!("its member `{}` is unsound", excerpt(&name)))
                    } else {
                        let shown = excerpt(&name);
                        let twice = !others.insert(name.into_owned());
                        twice.then(|| format!("it has `{shown}` twice"))
                    };
                    members.fault = members.fault.take().or(fault);
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(MembersVisitor)
    }
}

/// A name of a member, borrowed where it has no escapes.
struct Name<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;

        impl<'de> Visitor<'de> for NameVisitor {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(name)))
            }

            fn visit_str<E>(self, name: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(name.to_owned())))
            }
        }

        deserializer.deserialize_str(NameVisitor)
    }
}

/// A name as a decoder that ignores case compares it: Go's takes the long s for an s, too.
fn folded(name: &str) -> String {
    name.chars()
        .flat_map(char::to_lowercase)
        .map(|c| if c == 'ſ' { 's' } else { c })
        .collect()
}

/// The error object. Unknown members are passed over, as everywhere in the envelope.
#[derive(Deserialize)]
struct ErrorMembers {
    code: i64,
    message: String,
    #[serde(default, deserialize_with = "data")]
    data: Option<RawJson>,
}

/// `null` is no data.
fn data<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RawJson>, D::Error> {
    Option::deserialize(deserializer)
}

#[cfg(test)]
mod tests;
