//! Values of an enum of which the empty string reads as none.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{IntoDeserializer, Visitor},
};

use super::Codec;

/// A string value of which the empty one reads as none.
#[derive(Clone, Copy)]
pub(crate) struct OrEmpty;

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
