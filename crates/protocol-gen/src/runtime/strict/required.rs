//! A member that is always there.

use serde::de::Error;

pub(crate) use super::codec::write;

pub(crate) fn take<T, E: Error>(slot: Option<T>, name: &'static str) -> Result<T, E> {
    slot.ok_or_else(|| E::missing_field(name))
}
