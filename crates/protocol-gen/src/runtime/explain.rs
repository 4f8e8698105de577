//! Reads a refused message again, to say where and why.
//!
//! The same strict implementations run over a deserializer that keeps the way to where it is, and
//! whose error type keeps what kind of fault a visitor found. Nothing here decides what is refused.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    fmt,
};

use serde::{
    Deserializer,
    de::{
        self, DeserializeOwned, DeserializeSeed, Expected, MapAccess, SeqAccess, Unexpected,
        Visitor,
    },
};
use serde_json::value::RawValue;

use super::{
    decode::{DecodeError, FaultKind},
    raw::{self, RawFault},
};

/// Characters of the input that an error shows: enough to recognize it, too few to flood a log.
const EXCERPT: usize = 48;

/// How deep `serde_json` follows arrays and objects before it gives up.
const PARSER_DEPTH: usize = 127;

/// Says why `json` is no `T`, given what the first reading said.
#[cold]
pub(super) fn explain<T: DeserializeOwned>(json: &[u8], error: &serde_json::Error) -> DecodeError {
    let way = Way::default();
    let mut reader = serde_json::Deserializer::from_slice(json);
    let again = T::deserialize(Followed {
        inner: &mut reader,
        way: &way,
    });
    let Err(fault) = again else {
        // The value is sound: what the first reading refused comes after it.
        return syntax(String::new(), error);
    };
    let mut pointer = String::new();
    for step in way.steps.borrow().iter() {
        match step {
            Step::Member(name) => raw::push_segment(&mut pointer, name),
            Step::Index(index) => raw::push_segment(&mut pointer, &index.to_string()),
        }
    }
    match fault {
        // A step for each array and object that is open: the parser stopped at its own limit.
        Fault::Parser if way.steps.borrow().len() >= PARSER_DEPTH && !error.is_eof() => {
            DecodeError::new(
                String::new(),
                FaultKind::Depth,
                format!("arrays and objects nest more than {PARSER_DEPTH} deep"),
            )
        }
        Fault::Parser => match value_at(json, &way.steps.borrow()) {
            // The parser stops at a sound number only where a double cannot hold it.
            Some(number) if number.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => {
                let digits: String = number.chars().take(EXCERPT).collect();
                let message = format!("found `{digits}`, expected a number that a double can hold");
                DecodeError::new(pointer, FaultKind::OutOfRange, message)
            }
            _ => syntax(pointer, error),
        },
        // Only the text itself still has the place, at any depth.
        Fault::Unsound => {
            let text = value_at(json, &way.steps.borrow()).unwrap_or_default();
            let inside = raw::scan(&text, usize::MAX)
                .err()
                .unwrap_or(RawFault::Depth);
            pointer.push_str(inside.pointer());
            DecodeError::new(pointer, inside.kind(), inside.message())
        }
        Fault::Found {
            kind,
            member,
            message,
        } => {
            if let Some(member) = member {
                raw::push_segment(&mut pointer, &member);
            }
            DecodeError::new(pointer, kind, message)
        }
    }
}

fn syntax(pointer: String, error: &serde_json::Error) -> DecodeError {
    DecodeError::new(pointer, FaultKind::Syntax, format!("not JSON: {error}"))
}

/// The text of the value at the end of the way.
fn value_at(json: &[u8], steps: &[Step]) -> Option<String> {
    let mut text = std::str::from_utf8(json).ok()?.to_owned();
    for step in steps {
        text = match step {
            Step::Member(name) => {
                let members: BTreeMap<String, &RawValue> = serde_json::from_str(&text).ok()?;
                members.get(name)?.get().to_owned()
            }
            Step::Index(index) => {
                let items: Vec<&RawValue> = serde_json::from_str(&text).ok()?;
                items.get(*index)?.get().to_owned()
            }
        };
    }
    Some(text)
}

/// The way from the root to the value that is being read. What went well is taken back, so after a
/// failure it ends where that happened.
#[derive(Default)]
struct Way {
    steps: RefCell<Vec<Step>>,
    fault: Cell<Option<Fault>>,
}

enum Step {
    Member(String),
    Index(usize),
}

/// What a visitor found, or that the parser itself stopped.
#[derive(Debug)]
enum Fault {
    Parser,
    /// An object has a member twice, or raw JSON is too deep, somewhere in the value at the end of the
    /// way.
    Unsound,
    Found {
        kind: FaultKind,
        /// A member of the object at the end of the way.
        member: Option<String>,
        message: String,
    },
}

impl Fault {
    fn found(kind: FaultKind, member: Option<&str>, message: String) -> Self {
        Self::Found {
            kind,
            member: member.map(str::to_owned),
            message,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parser => f.write_str("not JSON"),
            Self::Unsound => f.write_str(raw::UNSOUND),
            Self::Found { message, .. } => f.write_str(message),
        }
    }
}

impl std::error::Error for Fault {}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "what serde finds is its own and may grow; all else is a value of another type"
)]
impl de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::found(FaultKind::Rule, None, message.to_string())
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let kind = match unexpected {
            Unexpected::Unit | Unexpected::Option => FaultKind::Null,
            _ => FaultKind::WrongType,
        };
        Self::found(kind, None, found_expected(unexpected, expected))
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let kind = match unexpected {
            Unexpected::Other(raw::UNSOUND) => return Self::Unsound,
            Unexpected::Str(text) if super::strict::is_blank(text) => FaultKind::Blank,
            Unexpected::Str(_) => FaultKind::Format,
            Unexpected::Unsigned(_) | Unexpected::Signed(_) | Unexpected::Float(_) => {
                FaultKind::OutOfRange
            }
            _ => FaultKind::WrongType,
        };
        Self::found(kind, None, found_expected(unexpected, expected))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let message = format!("found {}, expected {}", quoted(variant), one_of(expected));
        Self::found(FaultKind::UnknownValue, None, message)
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let near = expected
            .iter()
            .find(|name| name.eq_ignore_ascii_case(field));
        let message = match near {
            Some(name) => format!("unknown member; names are exact, this one is `{name}`"),
            None if expected.is_empty() => "unknown member; the object has none".to_owned(),
            None => format!("unknown member; expected {}", one_of(expected)),
        };
        Self::found(FaultKind::UnknownMember, Some(field), message)
    }

    fn missing_field(field: &'static str) -> Self {
        let message = "the member is missing".to_owned();
        Self::found(FaultKind::MissingMember, Some(field), message)
    }

    fn duplicate_field(field: &'static str) -> Self {
        let message = "the member stands twice in one object".to_owned();
        Self::found(FaultKind::DuplicateMember, Some(field), message)
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "what serde finds is its own and may grow; it says the rest itself"
)]
fn found_expected(unexpected: Unexpected<'_>, expected: &dyn Expected) -> String {
    let found = match unexpected {
        Unexpected::Str(text) => quoted(text),
        Unexpected::Unit | Unexpected::Option => "`null`".to_owned(),
        Unexpected::Map => "an object".to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Bool(value) => format!("`{value}`"),
        Unexpected::Unsigned(value) => format!("`{value}`"),
        Unexpected::Signed(value) => format!("`{value}`"),
        Unexpected::Float(value) => format!("the number `{value:?}`"),
        other => other.to_string(),
    };
    format!("found {found}, expected {expected}")
}

/// A bounded excerpt of a string, control characters escaped.
fn quoted(text: &str) -> String {
    let excerpt: String = text.chars().take(EXCERPT).collect();
    let more = if excerpt.len() < text.len() {
        "…"
    } else {
        ""
    };
    format!("{excerpt:?}{more}")
}

fn one_of(names: &[&str]) -> String {
    match names {
        [one] => format!("`{one}`"),
        _ => format!("one of `{}`", names.join("`, `")),
    }
}

/// A deserializer whose way is followed.
struct Followed<'w, D> {
    inner: D,
    way: &'w Way,
}

/// Anything else whose way is followed: a visitor, a seed, an access.
struct Follow<'w, T> {
    inner: T,
    way: &'w Way,
}

impl Way {
    /// Brings an error of a visitor through the parser, which has an error type of its own.
    fn down<E: de::Error>(&self, fault: Fault) -> E {
        let text = fault.to_string();
        self.fault.set(Some(fault));
        E::custom(text)
    }

    /// Takes it out again.
    fn up<E>(&self, _: E) -> Fault {
        self.fault.take().unwrap_or(Fault::Parser)
    }
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Followed<'_, D> {
    type Error = Fault;

    // Whatever is asked for, the parser hands on what it finds, so that the visitor itself says what
    // is wrong with it.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let way = self.way;
        self.inner
            .deserialize_any(Follow {
                inner: visitor,
                way,
            })
            .map_err(|error| way.up(error))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let way = self.way;
        self.inner
            .deserialize_option(Follow {
                inner: visitor,
                way,
            })
            .map_err(|error| way.up(error))
    }

    // Raw JSON is asked for under a name that only serde_json knows.
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let way = self.way;
        self.inner
            .deserialize_newtype_struct(
                name,
                Follow {
                    inner: visitor,
                    way,
                },
            )
            .map_err(|error| way.up(error))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

macro_rules! forward_visit {
    ($($method:ident($type:ty);)*) => {
        $(fn $method<E: de::Error>(self, value: $type) -> Result<V::Value, E> {
            let way = self.way;
            self.inner.$method(value).map_err(|fault| way.down(fault))
        })*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Follow<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    forward_visit! {
        visit_bool(bool);
        visit_i64(i64);
        visit_u64(u64);
        visit_f64(f64);
        visit_str(&str);
        visit_borrowed_str(&'de str);
        visit_string(String);
        visit_bytes(&[u8]);
        visit_borrowed_bytes(&'de [u8]);
        visit_byte_buf(Vec<u8>);
    }

    fn visit_none<E: de::Error>(self) -> Result<V::Value, E> {
        let way = self.way;
        self.inner.visit_none().map_err(|fault| way.down(fault))
    }

    fn visit_unit<E: de::Error>(self) -> Result<V::Value, E> {
        let way = self.way;
        self.inner.visit_unit().map_err(|fault| way.down(fault))
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        let way = self.way;
        self.inner
            .visit_some(Followed { inner, way })
            .map_err(|fault| way.down(fault))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        let way = self.way;
        self.inner
            .visit_newtype_struct(Followed { inner, way })
            .map_err(|fault| way.down(fault))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        let way = self.way;
        let items = Items {
            inner,
            way,
            next: 0,
        };
        self.inner.visit_seq(items).map_err(|fault| way.down(fault))
    }

    fn visit_map<A: MapAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        let way = self.way;
        let members = Members {
            inner,
            way,
            name: None,
        };
        self.inner
            .visit_map(members)
            .map_err(|fault| way.down(fault))
    }
}

impl<'de, T: DeserializeSeed<'de>> DeserializeSeed<'de> for Follow<'_, T> {
    type Value = T::Value;

    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<T::Value, D::Error> {
        let way = self.way;
        self.inner
            .deserialize(Followed { inner, way })
            .map_err(|fault| way.down(fault))
    }
}

/// The items of a list.
struct Items<'w, A> {
    inner: A,
    way: &'w Way,
    next: usize,
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Items<'_, A> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Fault> {
        let way = self.way;
        way.steps.borrow_mut().push(Step::Index(self.next));
        let item = self
            .inner
            .next_element_seed(Follow { inner: seed, way })
            .map_err(|error| way.up(error))?;
        way.steps.borrow_mut().pop();
        self.next += 1;
        Ok(item)
    }
}

/// The members of an object.
struct Members<'w, A> {
    inner: A,
    way: &'w Way,
    name: Option<String>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Members<'_, A> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Fault> {
        let way = self.way;
        let name = RefCell::new(None);
        let key = self
            .inner
            .next_key_seed(Name {
                inner: seed,
                way,
                kept: &name,
            })
            .map_err(|error| way.up(error))?;
        self.name = name.into_inner();
        Ok(key)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Fault> {
        let way = self.way;
        let name = self.name.take().unwrap_or_default();
        way.steps.borrow_mut().push(Step::Member(name));
        let value = self
            .inner
            .next_value_seed(Follow { inner: seed, way })
            .map_err(|error| way.up(error))?;
        way.steps.borrow_mut().pop();
        Ok(value)
    }
}

/// A member name, kept while it is read.
struct Name<'w, T> {
    inner: T,
    way: &'w Way,
    kept: &'w RefCell<Option<String>>,
}

impl<'de, T: DeserializeSeed<'de>> DeserializeSeed<'de> for Name<'_, T> {
    type Value = T::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T::Value, D::Error> {
        let way = self.way;
        // Names are strings, so reading one as a string and handing that on loses nothing. The name
        // of raw JSON is a token of serde_json's own and is handed on as it comes.
        let text = deserializer.deserialize_identifier(Text)?;
        *self.kept.borrow_mut() = Some(text.clone());
        let name = de::value::StringDeserializer::<Fault>::new(text);
        self.inner
            .deserialize(name)
            .map_err(|fault| way.down(fault))
    }
}

struct Text;

impl Visitor<'_> for Text {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }
}
