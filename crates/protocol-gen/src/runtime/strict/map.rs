//! Maps from strings.

use std::{collections::BTreeMap, fmt, marker::PhantomData};

use serde::{
    Deserializer, Serializer,
    de::{MapAccess, Visitor},
    ser::SerializeMap,
};

use super::{
    super::raw::RawFault,
    codec::{Codec, Encoded, Seed},
};

/// A map from strings; no name stands twice.
#[derive(Clone, Copy)]
pub(crate) struct Map<C>(pub(crate) C);

impl<T, C: Codec<T>> Codec<BTreeMap<String, T>> for Map<C> {
    fn decode<'de, D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<BTreeMap<String, T>, D::Error> {
        struct Members<T, C>(C, PhantomData<T>);

        impl<'de, T, C: Codec<T>> Visitor<'de> for Members<T, C> {
            type Value = BTreeMap<String, T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
                let mut map = BTreeMap::new();
                while let Some(name) = members.next_key::<String>()? {
                    let value = members.next_value_seed(Seed::new(self.0))?;
                    if map.contains_key(&name) {
                        let pointer = String::new();
                        return Err(RawFault::Duplicate { pointer }.refuse());
                    }
                    map.insert(name, value);
                }
                Ok(map)
            }
        }

        deserializer.deserialize_map(Members(self.0, PhantomData))
    }

    fn encode<S: Serializer>(
        self,
        value: &BTreeMap<String, T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(value.len()))?;
        for (name, item) in value {
            map.serialize_entry(name, &Encoded(self.0, item))?;
        }
        map.end()
    }
}
