//! Decides whether a JSON text is what a type accepts: examples in definitions are held to it.

use std::fmt;

use serde_json::Value;

use crate::model::{Condition, Demand, Integer, Model, Presence, ScalarKind, Type, TypeRef};

/// Why a text is refused, and where.
#[derive(Debug)]
pub(crate) struct Refusal {
    pointer: String,
    message: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pointer.is_empty() {
            write!(f, "{}", self.message)
        } else {
            write!(f, "`{}`: {}", self.pointer, self.message)
        }
    }
}

/// Checks a text against a type.
pub(crate) fn check(text: &str, ty: &TypeRef, model: &Model) -> Result<(), Refusal> {
    let value: Value = serde_json::from_str(text).map_err(|error| Refusal {
        pointer: String::new(),
        message: format!("it is not JSON: {error}"),
    })?;
    let mut checker = Checker {
        model,
        pointer: String::new(),
    };
    checker.value(&value, ty)
}

struct Checker<'a> {
    model: &'a Model,
    pointer: String,
}

impl Checker<'_> {
    fn refuse<T>(&self, message: impl Into<String>) -> Result<T, Refusal> {
        Err(Refusal {
            pointer: self.pointer.clone(),
            message: message.into(),
        })
    }

    fn within(
        &mut self,
        segment: &str,
        check: impl FnOnce(&mut Self) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let length = self.pointer.len();
        self.pointer.push('/');
        self.pointer
            .push_str(&segment.replace('~', "~0").replace('/', "~1"));
        check(self)?;
        self.pointer.truncate(length);
        Ok(())
    }

    fn value(&mut self, value: &Value, ty: &TypeRef) -> Result<(), Refusal> {
        match ty {
            TypeRef::String => self.expect(value.is_string(), "a string"),
            TypeRef::Bool => self.expect(value.is_boolean(), "a boolean"),
            TypeRef::Integer(integer) => self.integer(value, *integer),
            TypeRef::Number { min, max } => {
                let Some(number) = value.as_f64() else {
                    return self.refuse("expected a number");
                };
                #[expect(
                    clippy::cast_precision_loss,
                    reason = "an example near 2^53 is no use case; decoders compare the same way"
                )]
                let inside = min.is_none_or(|min| number >= min as f64)
                    && max.is_none_or(|max| number <= max as f64);
                self.expect(inside, "a number within its bounds")
            }
            TypeRef::Json => self.expect(!value.is_null(), "any JSON but null"),
            TypeRef::Scalar(name) => match self.model.scalars.get(name).map(|s| &s.kind) {
                Some(ScalarKind::Integer(integer)) => self.integer(value, *integer),
                Some(ScalarKind::String {
                    non_blank,
                    lower_hex,
                }) => {
                    let Some(text) = value.as_str() else {
                        return self.refuse("expected a string");
                    };
                    self.expect(
                        !(*non_blank && text.chars().all(char::is_whitespace)),
                        "a string that is not blank",
                    )?;
                    let hex = |digits: u32| {
                        text.len() == digits as usize
                            && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
                    };
                    self.expect(lower_hex.is_none_or(hex), "lower-case hexadecimal digits")
                }
                None => Ok(()),
            },
            TypeRef::Enum(name) => {
                let known = self.model.enums.get(name).is_some_and(|def| {
                    def.values
                        .iter()
                        .any(|known| value.as_str() == Some(&known.name.wire))
                });
                self.expect(known, &format!("a value of `{name}`"))
            }
            TypeRef::List(inner) => {
                let Some(items) = value.as_array() else {
                    return self.refuse("expected a list");
                };
                items.iter().enumerate().try_for_each(|(index, item)| {
                    self.within(&index.to_string(), |this| this.value(item, inner))
                })
            }
            TypeRef::Map(inner) => {
                let Some(members) = value.as_object() else {
                    return self.refuse("expected an object");
                };
                members
                    .iter()
                    .try_for_each(|(key, item)| self.within(key, |this| this.value(item, inner)))
            }
            TypeRef::Object(name) => match self.model.types.get(name) {
                Some(ty) => self.object(value, ty),
                None => Ok(()),
            },
        }
    }

    fn expect(&self, holds: bool, what: &str) -> Result<(), Refusal> {
        if holds {
            Ok(())
        } else {
            self.refuse(format!("expected {what}"))
        }
    }

    fn integer(&self, value: &Value, integer: Integer) -> Result<(), Refusal> {
        let number = value
            .as_i64()
            .map(i128::from)
            .or_else(|| value.as_u64().map(i128::from));
        let inside = number.is_some_and(|n| n >= integer.lowest() && n <= integer.highest());
        self.expect(
            inside,
            &format!(
                "an integer from {} to {}",
                integer.lowest(),
                integer.highest()
            ),
        )
    }

    fn object(&mut self, value: &Value, ty: &Type) -> Result<(), Refusal> {
        let Some(members) = value.as_object() else {
            return self.refuse("expected an object");
        };
        for (key, item) in members {
            let Some(field) = ty.field(key) else {
                return self.refuse(format!("`{}` has no member `{key}`", ty.name.wire));
            };
            self.within(key, |this| {
                if field.externalizable && item.is_null() {
                    return Ok(());
                }
                if field.empty_is_absent && item.as_str() == Some("") {
                    return Ok(());
                }
                if field.non_blank {
                    let blank = item
                        .as_str()
                        .is_some_and(|text| text.chars().all(char::is_whitespace));
                    this.expect(!blank, "a string that is not blank")?;
                }
                this.value(item, &field.ty)
            })?;
        }
        for field in &ty.fields {
            if field.presence == Presence::Required && !members.contains_key(&field.name.wire) {
                return self.refuse(format!("the member `{}` is missing", field.name.wire));
            }
        }
        for rule in &ty.rules {
            let applies = rule.condition.as_ref().is_none_or(
                |Condition {
                     field,
                     value,
                     equal,
                 }| {
                    (members.get(field).and_then(Value::as_str) == Some(value)) == *equal
                },
            );
            let holds = match &rule.demand {
                Demand::Requires(names) => names.iter().all(|name| members.contains_key(name)),
                Demand::Forbids(names) => !names.iter().any(|name| members.contains_key(name)),
                Demand::Object(names) => names
                    .iter()
                    .all(|name| members.get(name).is_none_or(Value::is_object)),
            };
            if applies && !holds {
                return self.refuse(rule.doc.0.clone());
            }
        }
        Ok(())
    }
}
