//! How the value of a member is read and written.

use std::marker::PhantomData;

use serde::{
    Deserializer, Serialize, Serializer,
    de::{DeserializeSeed, Error as _, MapAccess},
    ser::{self, SerializeMap},
};

/// How a value is read and written.
pub(crate) trait Codec<T>: Copy {
    fn decode<'de, D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error>;
    fn encode<S: Serializer>(self, value: &T, serializer: S) -> Result<S::Ok, S::Error>;
}

/// A codec on the way in.
pub(crate) struct Seed<C, T>(C, PhantomData<T>);

impl<C, T> Seed<C, T> {
    pub(crate) fn new(codec: C) -> Self {
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
pub(super) struct Encoded<'a, C, T>(pub(super) C, pub(super) &'a T);

impl<T, C: Codec<T>> Serialize for Encoded<'_, C, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.encode(self.1, serializer)
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

/// Writes a member.
pub(crate) fn write<T, C: Codec<T>, M: SerializeMap>(
    map: &mut M,
    name: &'static str,
    value: &T,
    codec: C,
) -> Result<(), M::Error> {
    map.serialize_entry(name, &Named(name, Encoded(codec, value)))
}

/// A value that says its name where it is refused.
struct Named<T>(&'static str, T);

impl<T: Serialize> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.1.serialize(serializer).map_err(|error| {
            // `serde_json` writes to memory here, so every error is a refusal.
            ser::Error::custom(format_args!("`{}`: {error}", self.0))
        })
    }
}
