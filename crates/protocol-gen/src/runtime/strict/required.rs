//! A member that is always there.

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
struct Named<T>(&'static str, T);

impl<T: Serialize> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.1.serialize(serializer).map_err(|error| {
            // `serde_json` writes to memory here, so every error is a refusal.
            ser::Error::custom(format_args!("`{}`: {error}", self.0))
        })
    }
}
