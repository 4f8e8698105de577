//! Any JSON, kept as the text that it came as, and values that may travel by reference.

use std::{
    borrow::Cow,
    collections::HashSet,
    fmt,
    hash::{Hash, Hasher},
};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{DeserializeOwned, Error as _, Unexpected, Visitor},
};
use serde_json::value::RawValue;

use super::decode::{self, DecodeError, EncodeError, FaultKind};

/// How deep arrays and objects may nest in a [`RawJson`]: far more than documents that people
/// design, far less than what overflows the stack of a reader that recurses.
pub const MAX_DEPTH: usize = 128;

/// Characters of a [`RawJson`] that `Debug` shows: enough to recognize it, too few to flood a log.
const DEBUG_EXCERPT: usize = 256;

/// Any JSON value but `null`, kept as text.
///
/// The text is on one line and without white space outside strings, nests at most [`MAX_DEPTH`]
/// deep, and no object in it has a member twice. Strings in it are as they came: escapes are not
/// resolved, so that what is only passed on is not altered.
#[derive(Clone)]
pub struct RawJson(Box<RawValue>);

impl RawJson {
    /// Takes JSON text. White space outside strings is dropped.
    ///
    /// # Errors
    ///
    /// When the text is not JSON, is `null`, has a member twice in one object, or nests too deep.
    pub fn parse(json: &str) -> Result<Self, DecodeError> {
        decode::decode_str(json)
    }

    /// Encodes a value.
    ///
    /// # Errors
    ///
    /// When the value cannot be written, or is written as something that [`RawJson::parse`] refuses.
    pub fn encode<T: Serialize>(value: &T) -> Result<Self, EncodeError> {
        let json = decode::encode(value)?;
        serde_json::from_slice(&json).map_err(EncodeError::from)
    }

    /// Decodes it as a type of the protocol, as [`decode`](crate::decode) does.
    ///
    /// # Errors
    ///
    /// As [`decode`](crate::decode).
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, DecodeError> {
        decode::decode_str(self.as_str())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Whether it is an object.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.as_str().starts_with('{')
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.as_str();
        let shown: String = text.chars().take(DEBUG_EXCERPT).collect();
        let more = if shown.len() < text.len() { "…" } else { "" };
        write!(f, "RawJson({shown}{more})")
    }
}

impl fmt::Display for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for RawJson {}

impl Hash for RawJson {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        if raw.get() == "null" {
            return Err(D::Error::invalid_type(
                Unexpected::Unit,
                &"any JSON but null",
            ));
        }
        match scan(raw.get(), MAX_DEPTH) {
            Ok(Spacing::Compact) => Ok(Self(raw)),
            Ok(Spacing::Spaced) => RawValue::from_string(compact(raw.get()))
                .map(Self)
                .map_err(D::Error::custom),
            Err(fault) => Err(fault.refuse()),
        }
    }
}

/// A value that may travel by reference: then `null` stands in its place, and a descriptor elsewhere
/// in the message says where the value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a value is here or it is not")]
pub enum Externalizable<T> {
    /// The value is here.
    Inline(T),
    /// `null`: the value is elsewhere, or is itself `null`.
    Null,
}

impl<T> Externalizable<T> {
    /// The value, if it is here.
    pub const fn inline(&self) -> Option<&T> {
        match self {
            Self::Inline(value) => Some(value),
            Self::Null => None,
        }
    }

    /// The value, if it is here.
    pub fn into_inline(self) -> Option<T> {
        match self {
            Self::Inline(value) => Some(value),
            Self::Null => None,
        }
    }
}

impl<T> From<T> for Externalizable<T> {
    fn from(value: T) -> Self {
        Self::Inline(value)
    }
}

impl From<&str> for Externalizable<String> {
    fn from(value: &str) -> Self {
        Self::Inline(value.to_owned())
    }
}

impl<T: Serialize> Serialize for Externalizable<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Inline(value) => value.serialize(serializer),
            Self::Null => serializer.serialize_unit(),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Externalizable<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ValueOrNull<T>(std::marker::PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for ValueOrNull<T> {
            type Value = Externalizable<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value or null")
            }

            fn visit_none<E>(self) -> Result<Self::Value, E> {
                Ok(Externalizable::Null)
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Externalizable::Null)
            }

            fn visit_some<D: Deserializer<'de>>(
                self,
                deserializer: D,
            ) -> Result<Self::Value, D::Error> {
                T::deserialize(deserializer).map(Externalizable::Inline)
            }
        }

        deserializer.deserialize_option(ValueOrNull(std::marker::PhantomData))
    }
}

/// Whether there is white space outside strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spacing {
    Compact,
    Spaced,
}

/// What is wrong with JSON text that is otherwise sound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RawFault {
    /// A member stands twice; the pointer to it.
    Duplicate { pointer: String },
    /// Too deep.
    Depth,
}

/// How a visitor says that an object has a member twice whose name only it knows, or that raw JSON is
/// too deep: the kind of fault and the place are then looked for in the text itself.
pub(super) const UNSOUND: &str = "JSON that is not sound";

impl RawFault {
    /// The fault as an error of any format.
    pub(super) fn refuse<E: serde::de::Error>(&self) -> E {
        E::invalid_value(Unexpected::Other(UNSOUND), &self.expected())
    }

    fn expected(&self) -> &'static str {
        match self {
            Self::Duplicate { .. } => "each member once in an object",
            Self::Depth => "arrays and objects that nest less deep",
        }
    }

    pub(super) fn kind(&self) -> FaultKind {
        match self {
            Self::Duplicate { .. } => FaultKind::DuplicateMember,
            Self::Depth => FaultKind::Depth,
        }
    }

    pub(super) fn pointer(&self) -> &str {
        match self {
            Self::Duplicate { pointer } => pointer,
            Self::Depth => "",
        }
    }

    pub(super) fn message(&self) -> String {
        match self {
            Self::Duplicate { .. } => "the member stands twice in one object".to_owned(),
            Self::Depth => format!("arrays and objects nest more than {MAX_DEPTH} deep"),
        }
    }
}

/// One array or object that is open.
struct Open<'a> {
    /// Where its member names begin in the list of all open ones.
    names: usize,
    /// What is being read in it.
    at: Position<'a>,
}

#[derive(Clone, Copy)]
enum Position<'a> {
    Index(usize),
    Member(&'a str),
}

/// Reads JSON text that is known to be sound, once, without recursion.
pub(super) fn scan(json: &str, max_depth: usize) -> Result<Spacing, RawFault> {
    let bytes = json.as_bytes();
    let mut spacing = Spacing::Compact;
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut names: Vec<Cow<'_, [u8]>> = Vec::new();
    // A string is a member name where an object has just begun or gone on to its next member.
    let mut name_next = false;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let end = string_end(bytes, at + 1);
                if name_next {
                    let raw = json.get(at + 1..end).unwrap_or_default();
                    names.push(resolve(raw));
                    if let Some(object) = open.last_mut() {
                        object.at = Position::Member(raw);
                    }
                    name_next = false;
                }
                at = end;
            }
            b'{' | b'[' => {
                if open.len() == max_depth {
                    return Err(RawFault::Depth);
                }
                name_next = byte == b'{';
                open.push(Open {
                    names: names.len(),
                    at: if name_next {
                        Position::Member("")
                    } else {
                        Position::Index(0)
                    },
                });
            }
            b'}' | b']' => {
                name_next = false;
                if let Some(closed) = open.pop() {
                    let own = names.get(closed.names..).unwrap_or_default();
                    if let Some(name) = twice(own) {
                        return Err(RawFault::Duplicate {
                            pointer: pointer(&open, name),
                        });
                    }
                    names.truncate(closed.names);
                }
            }
            b',' => match open.last_mut().map(|open| &mut open.at) {
                Some(Position::Index(index)) => *index += 1,
                Some(Position::Member(_)) => name_next = true,
                None => {}
            },
            b' ' | b'\t' | b'\n' | b'\r' => spacing = Spacing::Spaced,
            _ => {}
        }
        at += 1;
    }
    Ok(spacing)
}

/// Where the string ends that begins at `at`: the place of its closing quote.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(rest) = bytes.get(at..) {
        match memchr::memchr2(b'"', b'\\', rest) {
            Some(found) if rest.get(found) == Some(&b'"') => return at + found,
            Some(found) => at += found + 2,
            None => break,
        }
    }
    bytes.len()
}

/// Up to this many members, comparing all pairs is faster than a set.
const FEW: usize = 8;

/// A name that stands twice.
fn twice<'n>(names: &'n [Cow<'_, [u8]>]) -> Option<&'n [u8]> {
    if names.len() <= FEW {
        let mut rest = names;
        while let Some((name, others)) = rest.split_first() {
            if others.contains(name) {
                return Some(name);
            }
            rest = others;
        }
        return None;
    }
    // Maps are often written in order, and then neighbours tell.
    if names.is_sorted_by(|one, next| one < next) {
        return None;
    }
    let mut seen = HashSet::with_capacity(names.len());
    names
        .iter()
        .map(Cow::as_ref)
        .find(|name| !seen.insert(*name))
}

/// A member name with its escapes resolved. A lone surrogate has no UTF-8 and stands as the three
/// bytes that it would have: enough to compare by.
fn resolve(raw: &str) -> Cow<'_, [u8]> {
    if !raw.contains('\\') {
        return Cow::Borrowed(raw.as_bytes());
    }
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        out.extend_from_slice(rest.get(..at).unwrap_or_default().as_bytes());
        let mut escape = rest.get(at + 1..).unwrap_or_default().chars();
        let code = escape.next().unwrap_or('\\');
        rest = escape.as_str();
        let unit = match code {
            'b' => 0x08,
            'f' => 0x0c,
            'n' => 0x0a,
            'r' => 0x0d,
            't' => 0x09,
            'u' => {
                let mut unit = hex(rest);
                rest = rest.get(4..).unwrap_or_default();
                if let Some(low) = rest.strip_prefix("\\u").map(hex)
                    && (0xd800..0xdc00).contains(&unit)
                    && (0xdc00..0xe000).contains(&low)
                {
                    unit = 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                    rest = rest.get(6..).unwrap_or_default();
                }
                unit
            }
            other => u32::from(other),
        };
        match char::from_u32(unit) {
            Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            None => out.extend(
                [
                    0xe0 | (unit >> 12),
                    0x80 | ((unit >> 6) & 0x3f),
                    0x80 | (unit & 0x3f),
                ]
                .map(|byte| u8::try_from(byte).unwrap_or(u8::MAX)),
            ),
        }
    }
    out.extend_from_slice(rest.as_bytes());
    Cow::Owned(out)
}

fn hex(text: &str) -> u32 {
    text.get(..4)
        .and_then(|digits| u32::from_str_radix(digits, 16).ok())
        .unwrap_or_default()
}

fn pointer(open: &[Open<'_>], name: &[u8]) -> String {
    let mut out = String::new();
    for part in open {
        match part.at {
            Position::Index(index) => {
                out.push('/');
                out.push_str(&index.to_string());
            }
            Position::Member(raw) => {
                push_segment(&mut out, &String::from_utf8_lossy(&resolve(raw)));
            }
        }
    }
    push_segment(&mut out, &String::from_utf8_lossy(name));
    out
}

/// Adds a member name to a JSON pointer.
pub(super) fn push_segment(pointer: &mut String, name: &str) {
    pointer.push('/');
    for c in name.chars() {
        match c {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            c => pointer.push(c),
        }
    }
}

/// The text without white space outside strings.
fn compact(json: &str) -> String {
    let bytes = json.as_bytes();
    let mut out = String::with_capacity(json.len());
    let mut at = 0;
    let mut from = 0;
    while let Some(&byte) = bytes.get(at) {
        if byte == b'"' {
            at = string_end(bytes, at + 1);
        } else if byte.is_ascii_whitespace() {
            out.push_str(json.get(from..at).unwrap_or_default());
            from = at + 1;
        }
        at += 1;
    }
    out.push_str(json.get(from..).unwrap_or_default());
    out
}
