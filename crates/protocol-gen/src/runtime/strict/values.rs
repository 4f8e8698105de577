//! Enums of strings.

/// An enum of strings.
macro_rules! values {
    ($name:ident { $($wire:literal),* $(,)? }) => {
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                const VALUES: &[&str] = &[$($wire),*];
                struct ValueVisitor_;

                impl serde::de::Visitor<'_> for ValueVisitor_ {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("a string (", stringify!($name), ")"))
                    }

                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        $name::from_wire(text).ok_or_else(|| E::unknown_variant(text, VALUES))
                    }
                }

                deserializer.deserialize_str(ValueVisitor_)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    };
}

pub(crate) use values;
