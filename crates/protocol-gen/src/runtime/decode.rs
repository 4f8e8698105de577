//! The way in and the way out: one call decodes and checks, one call checks and encodes.

use std::fmt;

use serde::{Serialize, de::DeserializeOwned};

use super::{Params, explain};

/// Decodes a message and holds it to everything that the contract says of its type.
///
/// # Errors
///
/// When the bytes are not JSON, or not what the type allows. The error names the place, the kind of
/// fault and what was expected there.
pub fn decode<T: DeserializeOwned>(json: &[u8]) -> Result<T, DecodeError> {
    match std::str::from_utf8(json) {
        // Checked once, for it is much quicker than string by string.
        Ok(text) => decode_str(text),
        Err(_) => serde_json::from_slice(json).map_err(|error| explain::explain::<T>(json, &error)),
    }
}

/// Decodes a message, as [`decode`] does.
///
/// # Errors
///
/// As [`decode`].
pub fn decode_str<T: DeserializeOwned>(json: &str) -> Result<T, DecodeError> {
    // The first pass is plain serde_json over the strict implementations and costs nothing extra; only
    // a message that it refuses is read again, to say where and why.
    serde_json::from_str(json).map_err(|error| explain::explain::<T>(json.as_bytes(), &error))
}

/// Decodes the params of a method as they stand in a frame.
///
/// Absent params, and `null`, read as an object without members where the type requires none.
///
/// # Errors
///
/// As [`decode`]; also when params are absent and the type requires members.
pub fn decode_params<T: Params>(params: Option<&[u8]>) -> Result<T, DecodeError> {
    // An object is seen at its first byte; only what is none may be a `null` with space around it.
    let is_null =
        |json: &[u8]| json.first() != Some(&b'{') && serde_json::from_slice::<()>(json).is_ok();
    let absent = params.is_none_or(is_null);
    match params {
        Some(json) if !(absent && T::MAY_BE_ABSENT) => decode(json),
        Some(_) => decode(b"{}"),
        None if T::MAY_BE_ABSENT => decode(b"{}"),
        None => Err(DecodeError::new(
            String::new(),
            FaultKind::MissingMember,
            format!("params are missing; expected an object ({})", T::WIRE_NAME),
        )),
    }
}

/// Encodes a message as one line of JSON without a newline.
///
/// It is as strict as [`decode`]: what the contract forbids is not written.
///
/// # Errors
///
/// When the value breaks a bound or a rule of its type.
pub fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, EncodeError> {
    serde_json::to_vec(value).map_err(EncodeError::from)
}

/// Why a message was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    pointer: String,
    kind: FaultKind,
    message: String,
}

impl DecodeError {
    pub(crate) fn new(pointer: String, kind: FaultKind, message: String) -> Self {
        Self {
            pointer,
            kind,
            message,
        }
    }

    /// Where, as a JSON pointer (RFC 6901); empty for the whole message.
    ///
    /// An unknown, duplicate or missing member is named by the pointer itself. Names stand in it as
    /// they came, at any length; `Display` shows a bounded excerpt with what does not print escaped.
    #[must_use]
    pub fn pointer(&self) -> &str {
        &self.pointer
    }

    /// What kind of fault it is.
    #[must_use]
    pub const fn kind(&self) -> FaultKind {
        self.kind
    }

    /// What is wrong and what was expected, without the place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The same error, seen from a document in which the decoded one stands at `pointer`.
    #[must_use]
    pub fn within(mut self, pointer: &str) -> Self {
        self.pointer.insert_str(0, pointer);
        self
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pointer.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "`{}`: {}", shown(&self.pointer), self.message)
        }
    }
}

impl std::error::Error for DecodeError {}

/// Characters of a pointer that an error shows. The names in it may come from a stranger.
const POINTER_EXCERPT: usize = 160;

/// A pointer for people: its beginning and its end, with what does not print escaped.
fn shown(pointer: &str) -> String {
    let escaped = |c: char| {
        let as_is = matches!(c, '"' | '\'');
        let escape = (!as_is).then(|| c.escape_debug());
        escape.into_iter().flatten().chain(as_is.then_some(c))
    };
    let whole = pointer.chars().count();
    if whole <= POINTER_EXCERPT {
        return pointer.chars().flat_map(escaped).collect();
    }
    let half = POINTER_EXCERPT / 2;
    let start = pointer.chars().take(half).flat_map(escaped);
    let end = pointer.chars().skip(whole - half).flat_map(escaped);
    start.chain(['…']).chain(end).collect()
}

/// What kind of fault a message has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// The bytes are not JSON: broken syntax, invalid UTF-8, a lone surrogate in a string that is
    /// decoded, an early end, or something behind the end.
    Syntax,
    /// Arrays and objects nest too deep.
    Depth,
    /// A member that the type does not have. Names are exact to the case.
    UnknownMember,
    /// A member that must be there and is not.
    MissingMember,
    /// A member that stands twice in one object.
    DuplicateMember,
    /// `null` where the contract has none.
    Null,
    /// A value of another JSON type, or an integer that is not written as one.
    WrongType,
    /// A number below its minimum, above its maximum, or beyond what its type or a double can hold.
    OutOfRange,
    /// A blank string where text is required.
    Blank,
    /// A string that is not spelled as its type demands.
    Format,
    /// A string that is not among the values of its enum.
    UnknownValue,
    /// A rule between members is broken.
    Rule,
}

/// Why a message was not written.
#[derive(Debug)]
pub struct EncodeError {
    source: serde_json::Error,
}

impl From<serde_json::Error> for EncodeError {
    fn from(source: serde_json::Error) -> Self {
        Self { source }
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the contract forbids this message: {}", self.source)
    }
}

impl std::error::Error for EncodeError {}
