//! What the codecs of the types are made of: an object is a table of members, each with how it is
//! there and how its value is read and written.
//!
//! Derived implementations are not strict enough: they also read an object from an array, an enum
//! from an object, and `null` as an absent member.

// One file a part: a crate has those that its types need.
mod boxed;
mod codec;
mod count;
mod integer;
mod list;
mod lower_hex;
mod map;
mod non_blank;
mod number;
pub(crate) mod optional;
pub(crate) mod optional_or_empty;
mod or_empty;
mod plain;
pub(crate) mod required;
mod rules;
mod text;
mod values;
pub(crate) mod zero_if_absent;

use std::fmt;

use serde::{
    Deserializer,
    de::{DeserializeSeed, Visitor},
};

pub(crate) use self::boxed::Boxed;
pub(crate) use self::codec::{Codec, read};
pub(crate) use self::count::count;
pub(crate) use self::integer::Integer;
pub(crate) use self::list::List;
pub(crate) use self::lower_hex::is_lower_hex;
pub(crate) use self::map::Map;
pub(crate) use self::non_blank::NonBlank;
pub(crate) use self::number::Number;
pub(crate) use self::or_empty::OrEmpty;
pub(crate) use self::plain::Plain;
pub(crate) use self::rules::{holds, rule};
pub(crate) use self::text::text;
pub(crate) use self::values::values;

/// Whether a string has nothing but white space, as Unicode defines it (`White_Space`).
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(char::is_whitespace)
}

/// The name of a member, on the way in: its index among the names of the type.
#[derive(Clone, Copy)]
pub(crate) struct Member(pub(crate) &'static [&'static str]);

impl<'de> DeserializeSeed<'de> for Member {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Member {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<usize, E> {
        self.0
            .iter()
            .position(|known| *known == name)
            .ok_or_else(|| E::unknown_field(name, self.0))
    }
}

/// An object type: its members in declared order, and what holds between them.
macro_rules! object {
    (
        $name:ident, $wire_name:literal {
            $($index:literal: $wire:literal => $field:ident: $presence:ident($codec:expr),)*
        }
        $(params $absent:literal)?
        $(check $check:expr)?
    ) => {
        impl $crate::runtime::WireType for $name {
            const WIRE_NAME: &'static str = $wire_name;
        }

        $(impl $crate::runtime::Params for $name {
            const MAY_BE_ABSENT: bool = $absent;
        })?

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct ObjectVisitor_;

                impl<'de> serde::de::Visitor<'de> for ObjectVisitor_ {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("an object (", $wire_name, ")"))
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        mut members: A,
                    ) -> Result<$name, A::Error> {
                        const MEMBERS: &[&str] = &[$($wire),*];
                        $(let mut $field = None;)*
                        while let Some(member) =
                            members.next_key_seed($crate::runtime::strict::Member(MEMBERS))?
                        {
                            match member {
                                $($index => $crate::runtime::strict::read(
                                    &mut members, &mut $field, $wire, $codec,
                                )?,)*
                                _ => {}
                            }
                        }
                        let object = $name {
                            $($field: $crate::runtime::strict::$presence::take($field, $wire)?,)*
                        };
                        $($crate::runtime::strict::holds(&object, $check)
                            .map_err(serde::de::Error::custom)?;)?
                        Ok(object)
                    }
                }

                deserializer.deserialize_map(ObjectVisitor_)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $($crate::runtime::strict::holds(self, $check)
                    .map_err(serde::ser::Error::custom)?;)?
                $crate::runtime::strict::object!(
                    @write self, serializer, $($wire => $field: $presence($codec),)*
                )
            }
        }
    };
    (@write $self:ident, $serializer:ident,) => {
        serde::ser::SerializeMap::end($serializer.serialize_map(Some(0))?)
    };
    (
        @write $self:ident, $serializer:ident,
        $($wire:literal => $field:ident: $presence:ident($codec:expr),)+
    ) => {{
        let mut members = $serializer.serialize_map(None)?;
        $($crate::runtime::strict::$presence::write(
            &mut members, $wire, &$self.$field, $codec,
        )?;)+
        serde::ser::SerializeMap::end(members)
    }};
}

pub(crate) use object;

/// A value that its type does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidValue {
    name: &'static str,
    expected: &'static str,
}

impl InvalidValue {
    /// Says that a value of the type `name` must be `expected`.
    #[must_use]
    pub const fn new(name: &'static str, expected: &'static str) -> Self {
        Self { name, expected }
    }

    /// The name of the type in the definitions.
    #[must_use]
    pub const fn type_name(&self) -> &'static str {
        self.name
    }
}

impl fmt::Display for InvalidValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` must be {}", self.name, self.expected)
    }
}

impl std::error::Error for InvalidValue {}
