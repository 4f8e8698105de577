//! A member that is the zero of its type where it is absent, and is always written.

use serde::de::Error;

pub(crate) use super::codec::write;

#[expect(
    clippy::unnecessary_wraps,
    reason = "all ways of being there have one form"
)]
pub(crate) fn take<T: Default, E: Error>(slot: Option<T>, _: &'static str) -> Result<T, E> {
    Ok(slot.unwrap_or_default())
}
