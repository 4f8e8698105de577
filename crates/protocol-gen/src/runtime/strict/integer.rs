//! Integers within bounds.

use std::fmt;

use serde::{
    Deserializer, Serializer,
    de::{self, Unexpected, Visitor},
    ser::Error as _,
};

use super::Codec;

/// An integer from `min` to `max`, written as a plain literal.
#[derive(Clone, Copy)]
pub(crate) struct Integer<T> {
    pub(crate) min: T,
    pub(crate) max: T,
}

/// The integer types of the protocol.
pub(crate) trait Whole: Copy + PartialOrd + fmt::Display {
    fn from_signed(value: i64) -> Option<Self>;
    fn from_unsigned(value: u64) -> Option<Self>;
    fn decode<'de, D: Deserializer<'de>, V: Visitor<'de>>(
        deserializer: D,
        visitor: V,
    ) -> Result<V::Value, D::Error>;
    fn encode<S: Serializer>(self, serializer: S) -> Result<S::Ok, S::Error>;
}

impl Whole for u64 {
    fn from_signed(value: i64) -> Option<Self> {
        value.try_into().ok()
    }

    fn from_unsigned(value: u64) -> Option<Self> {
        Some(value)
    }

    fn decode<'de, D: Deserializer<'de>, V: Visitor<'de>>(
        deserializer: D,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        deserializer.deserialize_u64(visitor)
    }

    fn encode<S: Serializer>(self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self)
    }
}

impl Whole for i64 {
    fn from_signed(value: i64) -> Option<Self> {
        Some(value)
    }

    fn from_unsigned(value: u64) -> Option<Self> {
        value.try_into().ok()
    }

    fn decode<'de, D: Deserializer<'de>, V: Visitor<'de>>(
        deserializer: D,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        deserializer.deserialize_i64(visitor)
    }

    fn encode<S: Serializer>(self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(self)
    }
}

impl<T: Whole> Codec<T> for Integer<T> {
    fn decode<'de, D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        T::decode(deserializer, self)
    }

    fn encode<S: Serializer>(self, value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        if (self.min..=self.max).contains(value) {
            value.encode(serializer)
        } else {
            Err(S::Error::custom(format_args!(
                "{value} is not an integer from {} to {}",
                self.min, self.max
            )))
        }
    }
}

impl<T: Whole> Integer<T> {
    fn within<E: de::Error>(self, value: Option<T>, found: Unexpected<'_>) -> Result<T, E> {
        value
            .filter(|value| (self.min..=self.max).contains(value))
            .ok_or_else(|| E::invalid_value(found, &self))
    }
}

impl<T: Whole> Visitor<'_> for Integer<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an integer from {} to {}", self.min, self.max)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<T, E> {
        self.within(T::from_unsigned(value), Unexpected::Unsigned(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<T, E> {
        self.within(T::from_signed(value), Unexpected::Signed(value))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<T, E> {
        let found = Unexpected::Float(value);
        // Digits beyond 64 bits come as a double; below that it is a fraction, an exponent or `-0`.
        if value.abs() >= 9_223_372_036_854_775_808.0 {
            Err(E::invalid_value(found, &self))
        } else {
            Err(E::invalid_type(found, &self))
        }
    }
}
