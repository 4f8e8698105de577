//! Values behind a box, for types that refer to themselves.

use serde::{Deserializer, Serializer};

use super::Codec;

/// A value behind a box.
#[derive(Clone, Copy)]
pub(crate) struct Boxed<C>(pub(crate) C);

impl<T, C: Codec<T>> Codec<Box<T>> for Boxed<C> {
    fn decode<'de, D: Deserializer<'de>>(self, deserializer: D) -> Result<Box<T>, D::Error> {
        self.0.decode(deserializer).map(Box::new)
    }

    fn encode<S: Serializer>(self, value: &Box<T>, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.encode(value, serializer)
    }
}
