//! Values that know themselves how they are read and written.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Codec;

/// As the type itself does.
#[derive(Clone, Copy)]
pub(crate) struct Plain;

impl<T: Serialize + for<'de> Deserialize<'de>> Codec<T> for Plain {
    fn decode<'de, D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        T::deserialize(deserializer)
    }

    fn encode<S: Serializer>(self, value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        value.serialize(serializer)
    }
}
