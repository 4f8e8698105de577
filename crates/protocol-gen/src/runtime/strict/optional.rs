//! A member that may be absent.

use serde::{de::Error, ser::SerializeMap};

use super::{Codec, codec::write as write_member};

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
        Some(value) => write_member(map, name, value, codec),
        None => Ok(()),
    }
}
