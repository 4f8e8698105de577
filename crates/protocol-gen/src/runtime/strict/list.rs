//! Lists.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserializer, Serializer,
    de::{SeqAccess, Visitor},
    ser::SerializeSeq,
};

use super::codec::{Codec, Encoded, Seed};

/// A list.
#[derive(Clone, Copy)]
pub(crate) struct List<C>(pub(crate) C);

impl<T, C: Codec<T>> Codec<Vec<T>> for List<C> {
    fn decode<'de, D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<T>, D::Error> {
        struct Items<T, C>(C, PhantomData<T>);

        impl<'de, T, C: Codec<T>> Visitor<'de> for Items<T, C> {
            type Value = Vec<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element_seed(Seed::new(self.0))? {
                    list.push(item);
                }
                Ok(list)
            }
        }

        deserializer.deserialize_seq(Items(self.0, PhantomData))
    }

    fn encode<S: Serializer>(self, value: &Vec<T>, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(value.len()))?;
        for item in value {
            list.serialize_element(&Encoded(self.0, item))?;
        }
        list.end()
    }
}
