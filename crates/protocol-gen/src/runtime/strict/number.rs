//! Doubles within bounds.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serializer,
    de::{Error as _, Unexpected},
    ser::Error as _,
};

use super::Codec;

/// A finite double within bounds; minus zero reads as zero.
#[derive(Clone, Copy)]
pub(crate) struct Number {
    pub(crate) min: Option<i64>,
    pub(crate) max: Option<i64>,
}

impl Number {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a bound beyond 2^53 is compared as the double next to it, as the value is"
    )]
    fn holds(self, value: f64) -> bool {
        value.is_finite()
            && self.min.is_none_or(|min| value >= min as f64)
            && self.max.is_none_or(|max| value <= max as f64)
    }
}

impl Codec<f64> for Number {
    fn decode<'de, D: Deserializer<'de>>(self, deserializer: D) -> Result<f64, D::Error> {
        let value = f64::deserialize(deserializer)?;
        if self.holds(value) {
            // Minus zero plus zero is zero; every other value stays.
            Ok(value + 0.0)
        } else {
            Err(D::Error::invalid_value(Unexpected::Float(value), &self))
        }
    }

    fn encode<S: Serializer>(self, value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        if self.holds(*value) {
            serializer.serialize_f64(*value + 0.0)
        } else {
            Err(S::Error::custom(format_args!(
                "{value} is not {}",
                Words(self)
            )))
        }
    }
}

impl serde::de::Expected for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Words(*self), f)
    }
}

/// What a number must be, in words.
struct Words(Number);

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a finite number")?;
        if let Some(min) = self.0.min {
            write!(f, " of at least {min}")?;
        }
        if let Some(max) = self.0.max {
            write!(f, " of at most {max}")?;
        }
        Ok(())
    }
}
