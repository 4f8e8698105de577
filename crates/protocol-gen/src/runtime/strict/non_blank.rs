//! Strings with more than white space.

use serde::{
    Deserialize, Deserializer, Serializer,
    de::{Error as _, Unexpected},
    ser::Error as _,
};

use super::{Codec, is_blank};

/// A string with more than white space.
#[derive(Clone, Copy)]
pub(crate) struct NonBlank;

/// What such a string is, in words.
const EXPECTED: &str = "a string that is not blank";

impl Codec<String> for NonBlank {
    fn decode<'de, D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        let text = String::deserialize(deserializer)?;
        if is_blank(&text) {
            return Err(D::Error::invalid_value(Unexpected::Str(&text), &EXPECTED));
        }
        Ok(text)
    }

    fn encode<S: Serializer>(self, value: &String, serializer: S) -> Result<S::Ok, S::Error> {
        if is_blank(value) {
            return Err(S::Error::custom(format_args!(
                "{value:?} is not {EXPECTED}"
            )));
        }
        serializer.serialize_str(value)
    }
}
