//! A member that may be absent or empty.

use serde::{de::Error, ser::SerializeMap};

use super::{Codec, codec::write as write_member};

#[expect(
    clippy::option_option,
    clippy::unnecessary_wraps,
    reason = "it may be absent, and it may be there and empty"
)]
pub(crate) fn take<T, E: Error>(slot: Option<Option<T>>, _: &'static str) -> Result<Option<T>, E> {
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
        write_member(map, name, value, codec)
    } else {
        Ok(())
    }
}
