//! JSON text as a value, with each member once. Knows no schema.

use std::{collections::BTreeSet, fmt};

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Reads one JSON document. A member that stands twice in an object is a fault: parsers disagree on
/// which of the two counts.
pub(super) fn parse(text: &str) -> Result<Value, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Once.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// A member that stands twice in one object of any JSON, as a JSON pointer, or a nesting that is too
/// deep. The text is valid JSON.
pub(super) enum RawFault {
    Twice(String),
    Deep,
}

/// Looks for what any JSON may not have. It keeps no value and does not recurse.
pub(super) fn scan(text: &str, max_depth: usize) -> Result<(), RawFault> {
    enum Open {
        List(usize),
        Object(BTreeSet<String>, String),
    }
    let mut open: Vec<Open> = Vec::new();
    let mut at = 0;
    let bytes = text.as_bytes();
    let mut name_next = false;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'{' | b'[' => {
                if open.len() == max_depth {
                    return Err(RawFault::Deep);
                }
                name_next = *byte == b'{';
                open.push(if name_next {
                    Open::Object(BTreeSet::new(), String::new())
                } else {
                    Open::List(0)
                });
            }
            b'}' | b']' => {
                open.pop();
            }
            b',' => match open.last_mut() {
                Some(Open::List(index)) => *index += 1,
                Some(Open::Object(..)) => name_next = true,
                None => {}
            },
            b'"' => {
                let length = string_length(bytes.get(at..).unwrap_or_default());
                if name_next && let Some(Open::Object(names, current)) = open.last_mut() {
                    let written = text.get(at..at + length).unwrap_or_default();
                    // A name with half a surrogate pair has no decoded form; it stands for itself.
                    let name = serde_json::from_str(written).unwrap_or_else(|_| written.to_owned());
                    name_next = false;
                    current.clone_from(&name);
                    if !names.insert(name) {
                        let mut pointer = String::new();
                        for step in &open {
                            match step {
                                Open::List(index) => push_segment(&mut pointer, &index.to_string()),
                                Open::Object(_, name) => push_segment(&mut pointer, name),
                            }
                        }
                        return Err(RawFault::Twice(pointer));
                    }
                }
                at += length;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    Ok(())
}

/// Appends a segment to a JSON pointer.
pub(crate) fn push_segment(pointer: &mut String, segment: &str) {
    pointer.push('/');
    pointer.push_str(&segment.replace('~', "~0").replace('/', "~1"));
}

/// Bytes of the string at the start of JSON text, its quotes counted.
fn string_length(bytes: &[u8]) -> usize {
    let mut escaped = false;
    for (at, byte) in bytes.iter().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    bytes.len()
}

struct Once;

impl<'de> DeserializeSeed<'de> for Once {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Once {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element_seed(Self)? {
            items.push(item);
        }
        Ok(items.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(name) = object.next_key::<String>()? {
            if members.contains_key(&name) {
                return Err(de::Error::custom(format_args!(
                    "the member {name:?} stands twice in one object"
                )));
            }
            let value = object.next_value_seed(Self)?;
            members.insert(name, value);
        }
        Ok(members.into())
    }
}
