//! What the codecs of the types are made of: an object is a table of members, each with how it is
//! there and how its value is read and written.
//!
//! Derived implementations are not strict enough: they also read an object from an array, an enum
//! from an object, and `null` as an absent member.

use std::{collections::BTreeMap, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{
        DeserializeSeed, Error as _, IntoDeserializer, MapAccess, SeqAccess, Unexpected, Visitor,
    },
    ser::{Error as _, SerializeMap, SerializeSeq},
};

/// How a value is read and written.
pub(crate) trait Codec<T>: Copy {
    fn decode<'de, D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error>;
    fn encode<S: Serializer>(self, value: &T, serializer: S) -> Result<S::Ok, S::Error>;
}

/// As the type itself does.
#[derive(Clone, Copy)]
pub(crate) struct Plain;

/// An unsigned integer from `min` to `max`.
#[derive(Clone, Copy)]
pub(crate) struct Unsigned {
    pub(crate) min: u64,
    pub(crate) max: u64,
}

/// A signed integer from `min` to `max`.
#[derive(Clone, Copy)]
pub(crate) struct Signed {
    pub(crate) min: i64,
    pub(crate) max: i64,
}

/// A finite double within bounds; minus zero reads as zero.
#[derive(Clone, Copy)]
pub(crate) struct Number {
    pub(crate) min: Option<i64>,
    pub(crate) max: Option<i64>,
}

/// A string with more than white space.
#[derive(Clone, Copy)]
pub(crate) struct NonBlank;

/// A list.
#[derive(Clone, Copy)]
pub(crate) struct List<C>(pub(crate) C);

/// A map from strings; no name stands twice.
#[derive(Clone, Copy)]
pub(crate) struct Map<C>(pub(crate) C);

/// A value behind a box.
#[derive(Clone, Copy)]
pub(crate) struct Boxed<C>(pub(crate) C);

/// A string value of which the empty one reads as none.
#[derive(Clone, Copy)]
pub(crate) struct OrEmpty;

impl<T: Serialize + for<'de> Deserialize<'de>> Codec<T> for Plain {
    fn decode<'de, D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        T::deserialize(deserializer)
    }

    fn encode<S: Serializer>(self, value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        value.serialize(serializer)
    }
}

/// An integer type and how its bounds are held.
macro_rules! integer {
    ($codec:ident, $type:ident, $deserialize:ident, $serialize:ident, $unexpected:ident) => {
        impl Codec<$type> for $codec {
            fn decode<'de, D: Deserializer<'de>>(self, deserializer: D) -> Result<$type, D::Error> {
                deserializer.$deserialize(self)
            }

            fn encode<S: Serializer>(
                self,
                value: &$type,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                if (self.min..=self.max).contains(value) {
                    serializer.$serialize(*value)
                } else {
                    Err(S::Error::custom(format_args!(
                        "{value} is not an integer from {} to {}",
                        self.min, self.max
                    )))
                }
            }
        }

        impl Visitor<'_> for $codec {
            type Value = $type;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "an integer from {} to {}", self.min, self.max)
            }

            fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<$type, E> {
                match $type::try_from(value) {
                    Ok(integer) if (self.min..=self.max).contains(&integer) => Ok(integer),
                    _ => Err(E::invalid_value(Unexpected::Unsigned(value), &self)),
                }
            }

            fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<$type, E> {
                match $type::try_from(value) {
                    Ok(integer) if (self.min..=self.max).contains(&integer) => Ok(integer),
                    _ => Err(E::invalid_value(Unexpected::Signed(value), &self)),
                }
            }
        }
    };
}

integer!(Unsigned, u64, deserialize_u64, serialize_u64, Unsigned);
integer!(Signed, i64, deserialize_i64, serialize_i64, Signed);

impl Number {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a bound beyond 2^53 is compared as the double next to it, as the value is"
    )]
    fn holds(self, value: f64) -> bool {
        value.is_finite()
            && self.min.is_none_or(|min| value >= min as f64)
            && self.max.is_none_or(|max| value <= max as f64)
    }
}

impl Codec<f64> for Number {
    fn decode<'de, D: Deserializer<'de>>(self, deserializer: D) -> Result<f64, D::Error> {
        let value = f64::deserialize(deserializer)?;
        if self.holds(value) {
            // Minus zero plus zero is zero; every other value stays.
            Ok(value + 0.0)
        } else {
            Err(D::Error::invalid_value(Unexpected::Float(value), &self))
        }
    }

    fn encode<S: Serializer>(self, value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        if self.holds(*value) {
            serializer.serialize_f64(*value + 0.0)
        } else {
            Err(S::Error::custom(format_args!(
                "{value} is not {}",
                Words(self)
            )))
        }
    }
}

impl serde::de::Expected for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Words(*self), f)
    }
}

/// What a number must be, in words.
struct Words(Number);

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a finite number")?;
        if let Some(min) = self.0.min {
            write!(f, " of at least {min}")?;
        }
        if let Some(max) = self.0.max {
            write!(f, " of at most {max}")?;
        }
        Ok(())
    }
}

/// What a non-blank string is, in words.
pub(crate) const NON_BLANK: &str = "a string that is not blank";

/// Whether a string has nothing but white space, as Unicode defines it (`White_Space`).
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(char::is_whitespace)
}

/// Whether a string is exactly `digits` lower-case hexadecimal digits.
pub(crate) fn is_lower_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

impl Codec<String> for NonBlank {
    fn decode<'de, D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        let text = String::deserialize(deserializer)?;
        if is_blank(&text) {
            return Err(D::Error::invalid_value(Unexpected::Str(&text), &NON_BLANK));
        }
        Ok(text)
    }

    fn encode<S: Serializer>(self, value: &String, serializer: S) -> Result<S::Ok, S::Error> {
        if is_blank(value) {
            return Err(S::Error::custom(format_args!(
                "{value:?} is not {NON_BLANK}"
            )));
        }
        serializer.serialize_str(value)
    }
}

impl<T, C: Codec<T>> Codec<Box<T>> for Boxed<C> {
    fn decode<'de, D: Deserializer<'de>>(self, deserializer: D) -> Result<Box<T>, D::Error> {
        self.0.decode(deserializer).map(Box::new)
    }

    fn encode<S: Serializer>(self, value: &Box<T>, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.encode(value, serializer)
    }
}

impl<T, C: Codec<T>> Codec<Vec<T>> for List<C> {
    fn decode<'de, D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<T>, D::Error> {
        struct Items<T, C>(C, PhantomData<T>);

        impl<'de, T, C: Codec<T>> Visitor<'de> for Items<T, C> {
            type Value = Vec<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element_seed(Seed::new(self.0))? {
                    list.push(item);
                }
                Ok(list)
            }
        }

        deserializer.deserialize_seq(Items(self.0, PhantomData))
    }

    fn encode<S: Serializer>(self, value: &Vec<T>, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(value.len()))?;
        for item in value {
            list.serialize_element(&Encoded(self.0, item))?;
        }
        list.end()
    }
}

impl<T, C: Codec<T>> Codec<BTreeMap<String, T>> for Map<C> {
    fn decode<'de, D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<BTreeMap<String, T>, D::Error> {
        struct Members<T, C>(C, PhantomData<T>);

        impl<'de, T, C: Codec<T>> Visitor<'de> for Members<T, C> {
            type Value = BTreeMap<String, T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
                let mut map = BTreeMap::new();
                while let Some(name) = members.next_key::<String>()? {
                    let value = members.next_value_seed(Seed::new(self.0))?;
                    if map.contains_key(&name) {
                        return Err(A::Error::custom("the member stands twice in one object"));
                    }
                    map.insert(name, value);
                }
                Ok(map)
            }
        }

        deserializer.deserialize_map(Members(self.0, PhantomData))
    }

    fn encode<S: Serializer>(
        self,
        value: &BTreeMap<String, T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(value.len()))?;
        for (name, item) in value {
            map.serialize_entry(name, &Encoded(self.0, item))?;
        }
        map.end()
    }
}

impl<T: Serialize + for<'de> Deserialize<'de>> Codec<Option<T>> for OrEmpty {
    fn decode<'de, D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<T>, D::Error> {
        struct Text<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Text<T> {
            type Value = Option<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Option<T>, E> {
                if text.is_empty() {
                    return Ok(None);
                }
                T::deserialize(text.into_deserializer()).map(Some)
            }
        }

        deserializer.deserialize_str(Text(PhantomData))
    }

    fn encode<S: Serializer>(self, value: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
        value.serialize(serializer)
    }
}

/// A codec on the way in.
pub(crate) struct Seed<C, T>(C, PhantomData<T>);

impl<C, T> Seed<C, T> {
    fn new(codec: C) -> Self {
        Self(codec, PhantomData)
    }
}

impl<'de, T, C: Codec<T>> DeserializeSeed<'de> for Seed<C, T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        self.0.decode(deserializer)
    }
}

/// A codec on the way out.
struct Encoded<'a, C, T>(C, &'a T);

impl<T, C: Codec<T>> Serialize for Encoded<'_, C, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.encode(self.1, serializer)
    }
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

/// Reads the value of a member.
pub(crate) fn read<'de, T, C: Codec<T>, A: MapAccess<'de>>(
    members: &mut A,
    slot: &mut Option<T>,
    name: &'static str,
    codec: C,
) -> Result<(), A::Error> {
    if slot.is_some() {
        return Err(A::Error::duplicate_field(name));
    }
    *slot = Some(members.next_value_seed(Seed::new(codec))?);
    Ok(())
}

/// A member that is always there.
pub(crate) mod required {
    use serde::{
        Serialize, Serializer,
        de::Error,
        ser::{self, SerializeMap},
    };

    use super::{Codec, Encoded};

    pub(crate) fn take<T, E: Error>(slot: Option<T>, name: &'static str) -> Result<T, E> {
        slot.ok_or_else(|| E::missing_field(name))
    }

    pub(crate) fn write<T, C: Codec<T>, M: SerializeMap>(
        map: &mut M,
        name: &'static str,
        value: &T,
        codec: C,
    ) -> Result<(), M::Error> {
        map.serialize_entry(name, &Named(name, Encoded(codec, value)))
    }

    /// A value that says its name where it is refused.
    pub(super) struct Named<T>(pub(super) &'static str, pub(super) T);

    impl<T: Serialize> Serialize for Named<T> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            self.1.serialize(serializer).map_err(|error| {
                // `serde_json` writes to memory here, so every error is a refusal.
                ser::Error::custom(format_args!("`{}`: {error}", self.0))
            })
        }
    }
}

/// A member that may be absent.
pub(crate) mod optional {
    use serde::{de::Error, ser::SerializeMap};

    use super::{Codec, required};

    #[expect(
        clippy::unnecessary_wraps,
        reason = "all ways of being there have one form"
    )]
    pub(crate) fn take<T, E: Error>(slot: Option<T>, _: &'static str) -> Result<Option<T>, E> {
        Ok(slot)
    }

    #[expect(
        clippy::ref_option,
        reason = "codecs pass a member as it stands in the type"
    )]
    pub(crate) fn write<T, C: Codec<T>, M: SerializeMap>(
        map: &mut M,
        name: &'static str,
        value: &Option<T>,
        codec: C,
    ) -> Result<(), M::Error> {
        match value {
            Some(value) => required::write(map, name, value, codec),
            None => Ok(()),
        }
    }
}

/// A member that may be absent or empty.
pub(crate) mod optional_or_empty {
    use serde::{de::Error, ser::SerializeMap};

    use super::{Codec, required};

    #[expect(
        clippy::option_option,
        clippy::unnecessary_wraps,
        reason = "it may be absent, and it may be there and empty"
    )]
    pub(crate) fn take<T, E: Error>(
        slot: Option<Option<T>>,
        _: &'static str,
    ) -> Result<Option<T>, E> {
        Ok(slot.flatten())
    }

    #[expect(
        clippy::ref_option,
        reason = "codecs pass a member as it stands in the type"
    )]
    pub(crate) fn write<T, C: Codec<Option<T>>, M: SerializeMap>(
        map: &mut M,
        name: &'static str,
        value: &Option<T>,
        codec: C,
    ) -> Result<(), M::Error> {
        if value.is_some() {
            required::write(map, name, value, codec)
        } else {
            Ok(())
        }
    }
}

/// A member that is the zero of its type where it is absent, and is always written.
pub(crate) mod zero_if_absent {
    use serde::de::Error;

    pub(crate) use super::required::write;

    #[expect(
        clippy::unnecessary_wraps,
        reason = "all ways of being there have one form"
    )]
    pub(crate) fn take<T: Default, E: Error>(slot: Option<T>, _: &'static str) -> Result<T, E> {
        Ok(slot.unwrap_or_default())
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
                struct Object;

                impl<'de> serde::de::Visitor<'de> for Object {
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

                deserializer.deserialize_map(Object)
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

/// Whether the rules of a type hold.
pub(crate) fn holds<T>(
    value: &T,
    check: impl FnOnce(&T) -> Result<(), &'static str>,
) -> Result<(), &'static str> {
    check(value)
}

/// One rule: what must hold, and what to say where it does not.
pub(crate) fn rule(holds: bool, text: &'static str) -> Result<(), &'static str> {
    if holds { Ok(()) } else { Err(text) }
}

/// An enum of strings.
macro_rules! values {
    ($name:ident { $($wire:literal),* $(,)? }) => {
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                const VALUES: &[&str] = &[$($wire),*];
                struct Value;

                impl serde::de::Visitor<'_> for Value {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("a string (", stringify!($name), ")"))
                    }

                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        $name::from_wire(text).ok_or_else(|| E::unknown_variant(text, VALUES))
                    }
                }

                deserializer.deserialize_str(Value)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    };
}

/// A string with a meaning of its own: the traits of its newtype.
macro_rules! text {
    ($name:ident: $expected:literal) => {
        $crate::runtime::strict::text! { @any $name }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(deserializer)?;
                if $name::is_valid(&text) {
                    Ok($name(text))
                } else {
                    Err(serde::de::Error::invalid_value(
                        serde::de::Unexpected::Str(&text),
                        &$expected,
                    ))
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::runtime::InvalidValue;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::new(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = $crate::runtime::InvalidValue;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                Self::new(text)
            }
        }

        impl TryFrom<&str> for $name {
            type Error = $crate::runtime::InvalidValue;

            fn try_from(text: &str) -> Result<Self, Self::Error> {
                Self::new(text)
            }
        }
    };
    ($name:ident) => {
        $crate::runtime::strict::text! { @any $name }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <String as serde::Deserialize>::deserialize(deserializer).map(Self)
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }
    };
    (@any $name:ident) => {
        impl $name {
            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The text.
            #[must_use]
            pub fn into_string(self) -> String {
                self.0
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.0 == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.0 == *other
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.0
            }
        }
    };
}

/// A number with a meaning of its own: the traits of its newtype.
macro_rules! number {
    ($name:ident: $type:ident, $codec:expr) => {
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::runtime::strict::Codec::decode($codec, deserializer).map(Self)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::runtime::strict::Codec::encode($codec, &self.0, serializer)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&self.0, f)
            }
        }

        impl From<$name> for $type {
            fn from(value: $name) -> Self {
                value.0
            }
        }
    };
}

pub(crate) use {number, object, text, values};

/// A value that its type does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidValue {
    name: &'static str,
    expected: &'static str,
}

impl InvalidValue {
    pub(crate) const fn new(name: &'static str, expected: &'static str) -> Self {
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
        write!(f, "`{}` is {}", self.name, self.expected)
    }
}

impl std::error::Error for InvalidValue {}
