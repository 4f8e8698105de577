//! Decodes messages by a contract that is known only at run time. It shares no code with the generated
//! decoders, and must agree with them on every message: verdict, place and kind of fault.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    fmt::{self, Write as _},
};

use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{
    Contract, Member, Object, Rule, Shape, Text,
    json::{self, RawFault, push_segment},
};
use crate::model::{Demand, Integer};

/// Why a message is refused, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// The place, as a JSON pointer; a missing, unknown or duplicate member is named by it.
    pub pointer: String,
    /// What kind of fault it is.
    pub kind: FaultKind,
    /// What was expected.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pointer.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "`{}`: {}", self.pointer, self.message)
        }
    }
}

impl std::error::Error for Fault {}

macro_rules! fault_kinds {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// What kind of fault a message has: the kinds of the generated decoders.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum FaultKind {
            $($(#[$doc])* $name,)*
        }

        impl FaultKind {
            /// Every kind.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// As vectors spell it.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

fault_kinds! {
    /// The bytes are not JSON.
    Syntax = "syntax",
    /// Arrays and objects nest too deep.
    Depth = "depth",
    /// A member that the type does not have.
    UnknownMember = "unknown_member",
    /// A member that must be there and is not.
    MissingMember = "missing_member",
    /// A member that stands twice in one object.
    DuplicateMember = "duplicate_member",
    /// `null` where the contract has none.
    Null = "null",
    /// A value of another JSON type, or an integer that is not written as one.
    WrongType = "wrong_type",
    /// A number beyond its bounds, or beyond what its type can hold.
    OutOfRange = "out_of_range",
    /// A blank string where text is required.
    Blank = "blank",
    /// A string that is not spelled as its type demands.
    Format = "format",
    /// A string that is not among the values of its enum.
    UnknownValue = "unknown_value",
    /// A rule between members is broken.
    Rule = "rule",
}

/// How deep arrays and objects may nest in any JSON, counted from the value.
pub(super) const RAW_DEPTH: usize = 128;

/// How deep the parser follows arrays and objects.
const PARSER_DEPTH: usize = 127;

pub(super) fn decode(contract: &Contract, ty: &str, message: &str) -> Result<(), Fault> {
    let way = Way::default();
    let target = Shape::Type(ty.to_owned());
    let mut parser = serde_json::Deserializer::from_str(message);
    let read = Value {
        contract,
        shape: &target,
        null: false,
        way: &way,
    }
    .deserialize(&mut parser)
    .and_then(|_| parser.end());
    match (read, way.fault.take()) {
        (Ok(()), _) => Ok(()),
        (Err(_), Some(fault)) => Err(fault),
        (Err(error), None) => {
            let depth = way.steps.borrow().len();
            let (kind, message, pointer) = if depth >= PARSER_DEPTH && !error.is_eof() {
                let text = format!("arrays and objects nest more than {PARSER_DEPTH} deep");
                (FaultKind::Depth, text, String::new())
            } else if error.to_string().starts_with("number out of range") {
                let text = "expected a number that a double can hold".to_owned();
                (FaultKind::OutOfRange, text, way.pointer())
            } else {
                (
                    FaultKind::Syntax,
                    format!("not JSON: {error}"),
                    way.pointer(),
                )
            };
            Err(Fault {
                pointer,
                kind,
                message,
            })
        }
    }
}

/// The way to the value that is being read. What went well is taken back.
#[derive(Default)]
struct Way {
    steps: RefCell<Vec<String>>,
    fault: RefCell<Option<Fault>>,
}

impl Way {
    fn pointer(&self) -> String {
        let mut pointer = String::new();
        for step in self.steps.borrow().iter() {
            push_segment(&mut pointer, step);
        }
        pointer
    }

    /// Keeps a fault at the end of the way; the error only stops the parser.
    fn refuse<E: de::Error>(&self, kind: FaultKind, message: impl Into<String>) -> E {
        self.refuse_at(self.pointer(), kind, message.into())
    }

    fn refuse_member<E: de::Error>(
        &self,
        member: &str,
        kind: FaultKind,
        message: impl Into<String>,
    ) -> E {
        let mut pointer = self.pointer();
        push_segment(&mut pointer, member);
        self.refuse_at(pointer, kind, message.into())
    }

    fn refuse_at<E: de::Error>(&self, pointer: String, kind: FaultKind, message: String) -> E {
        *self.fault.borrow_mut() = Some(Fault {
            pointer,
            kind,
            message,
        });
        E::custom("refused")
    }

    fn push(&self, step: String) {
        self.steps.borrow_mut().push(step);
    }

    fn pop(&self) {
        self.steps.borrow_mut().pop();
    }
}

/// One value that is to be read.
#[derive(Clone, Copy)]
struct Value<'c> {
    contract: &'c Contract,
    shape: &'c Shape,
    /// Whether `null` may stand in its place.
    null: bool,
    way: &'c Way,
}

/// What rules ask of a value that was read.
enum Read {
    /// One of the values of an enum.
    Chosen(String),
    /// Any JSON that is an object.
    Object,
    /// Something else.
    Other,
}

impl<'de> DeserializeSeed<'de> for Value<'_> {
    type Value = Read;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Read, D::Error> {
        if *self.shape != Shape::Any {
            return deserializer.deserialize_any(self);
        }
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let text = raw.get();
        if text == "null" {
            return if self.null {
                Ok(Read::Other)
            } else {
                Err(self
                    .way
                    .refuse(FaultKind::Null, "expected any JSON but null"))
            };
        }
        match json::scan(text, RAW_DEPTH) {
            Ok(()) if text.starts_with('{') => Ok(Read::Object),
            Ok(()) => Ok(Read::Other),
            Err(RawFault::Twice(inside)) => Err(self.way.refuse_at(
                self.way.pointer() + &inside,
                FaultKind::DuplicateMember,
                "the member stands twice in one object".to_owned(),
            )),
            Err(RawFault::Deep) => Err(self.way.refuse(
                FaultKind::Depth,
                format!("arrays and objects nest more than {RAW_DEPTH} deep"),
            )),
        }
    }
}

impl Value<'_> {
    fn wrong<E: de::Error>(self, found: &str) -> E {
        let message = format!("found {found}, expected {}", expected(self.shape));
        self.way.refuse(FaultKind::WrongType, message)
    }

    fn integer<E: de::Error>(self, value: i128) -> Result<Read, E> {
        match self.shape {
            Shape::Integer(integer) => {
                if value >= integer.lowest() && value <= integer.highest() {
                    Ok(Read::Other)
                } else {
                    Err(self.out_of_range(value))
                }
            }
            #[expect(
                clippy::cast_precision_loss,
                reason = "a number is a double, and decoders compare doubles"
            )]
            Shape::Number { .. } => self.number(value as f64),
            Shape::Any
            | Shape::Bool
            | Shape::Text(_)
            | Shape::Enum(_)
            | Shape::Type(_)
            | Shape::List(_)
            | Shape::Map(_) => Err(self.wrong("a number")),
        }
    }

    fn number<E: de::Error>(self, value: f64) -> Result<Read, E> {
        let Shape::Number { min, max } = self.shape else {
            return Err(self.wrong("a number"));
        };
        #[expect(
            clippy::cast_precision_loss,
            reason = "a bound is compared as the double next to it, as decoders do"
        )]
        let inside = value.is_finite()
            && min.is_none_or(|min| value >= min as f64)
            && max.is_none_or(|max| value <= max as f64);
        if inside {
            Ok(Read::Other)
        } else {
            Err(self.out_of_range(value))
        }
    }

    fn out_of_range<E: de::Error>(self, value: impl fmt::Display) -> E {
        let message = format!("found {value}, expected {}", expected(self.shape));
        self.way.refuse(FaultKind::OutOfRange, message)
    }

    fn inner<'v>(self, shape: &'v Shape) -> Value<'v>
    where
        Self: 'v,
    {
        Value {
            contract: self.contract,
            shape,
            null: false,
            way: self.way,
        }
    }
}

impl<'de> Visitor<'de> for Value<'_> {
    type Value = Read;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&expected(self.shape))
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Read, E> {
        if *self.shape == Shape::Bool {
            Ok(Read::Other)
        } else {
            Err(self.wrong("a boolean"))
        }
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Read, E> {
        self.integer(value.into())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Read, E> {
        self.integer(value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Read, E> {
        // Digits beyond 64 bits come as a double; below that it is a fraction, an exponent or `-0`.
        if let Shape::Integer(_) = self.shape
            && value.abs() >= 9_223_372_036_854_775_808.0
        {
            return Err(self.out_of_range(value));
        }
        self.number(value)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Read, E> {
        match self.shape {
            Shape::Text(Text {
                non_blank,
                lower_hex,
            }) => {
                let spelled = lower_hex.is_none_or(|digits| {
                    text.len() == digits as usize
                        && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
                });
                let blank = text.chars().all(char::is_whitespace);
                if blank && (*non_blank || !spelled) {
                    Err(self.way.refuse(FaultKind::Blank, "found a blank string"))
                } else if spelled {
                    Ok(Read::Other)
                } else {
                    Err(self.way.refuse(FaultKind::Format, expected(self.shape)))
                }
            }
            Shape::Enum(values) if values.contains(text) => Ok(Read::Chosen(text.to_owned())),
            Shape::Enum(_) => Err(self.way.refuse(
                FaultKind::UnknownValue,
                format!("found {text:?}, expected {}", expected(self.shape)),
            )),
            Shape::Any
            | Shape::Bool
            | Shape::Integer(_)
            | Shape::Number { .. }
            | Shape::Type(_)
            | Shape::List(_)
            | Shape::Map(_) => Err(self.wrong("a string")),
        }
    }

    fn visit_unit<E: de::Error>(self) -> Result<Read, E> {
        if self.null {
            Ok(Read::Other)
        } else {
            let message = format!("found `null`, expected {}", expected(self.shape));
            Err(self.way.refuse(FaultKind::Null, message))
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Read, A::Error> {
        let Shape::List(inner) = self.shape else {
            return Err(self.wrong("a list"));
        };
        let mut index = 0_usize;
        loop {
            self.way.push(index.to_string());
            if list.next_element_seed(self.inner(inner))?.is_none() {
                break;
            }
            self.way.pop();
            index += 1;
        }
        self.way.pop();
        Ok(Read::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Read, A::Error> {
        match self.shape {
            Shape::Type(name) => match self.contract.types.get(name) {
                Some(object) => self.object(object, members),
                None => Err(A::Error::custom(format_args!("no type {name:?}"))),
            },
            Shape::Map(inner) => {
                let mut seen = BTreeSet::new();
                while let Some(name) = members.next_key::<String>()? {
                    if !seen.insert(name.clone()) {
                        return Err(self.twice(&name));
                    }
                    self.way.push(name);
                    members.next_value_seed(self.inner(inner))?;
                    self.way.pop();
                }
                Ok(Read::Other)
            }
            Shape::Any
            | Shape::Bool
            | Shape::Text(_)
            | Shape::Integer(_)
            | Shape::Number { .. }
            | Shape::Enum(_)
            | Shape::List(_) => Err(self.wrong("an object")),
        }
    }
}

impl Value<'_> {
    fn object<'de, A: MapAccess<'de>>(
        self,
        object: &Object,
        mut members: A,
    ) -> Result<Read, A::Error> {
        let mut seen: BTreeMap<&str, Read> = BTreeMap::new();
        while let Some(name) = members.next_key::<String>()? {
            let Some((name, member)) = object.members.get_key_value(&name) else {
                let message = "the type has no such member";
                return Err(self
                    .way
                    .refuse_member(&name, FaultKind::UnknownMember, message));
            };
            if seen.contains_key(name.as_str()) {
                return Err(self.twice(name));
            }
            self.way.push(name.clone());
            let Member {
                shape,
                externalizable,
                ..
            } = member;
            let value = Value {
                null: *externalizable,
                ..self.inner(shape)
            };
            seen.insert(name, members.next_value_seed(value)?);
            self.way.pop();
        }
        for (name, member) in &object.members {
            if member.required && !seen.contains_key(name.as_str()) {
                let message = "the member is missing";
                return Err(self
                    .way
                    .refuse_member(name, FaultKind::MissingMember, message));
            }
        }
        for rule in &object.rules {
            if !rule.holds(&seen) {
                return Err(self.way.refuse(FaultKind::Rule, rule.to_string()));
            }
        }
        Ok(Read::Other)
    }

    fn twice<E: de::Error>(self, name: &str) -> E {
        let message = "the member stands twice in one object";
        self.way
            .refuse_member(name, FaultKind::DuplicateMember, message)
    }
}

impl Rule {
    fn holds(&self, seen: &BTreeMap<&str, Read>) -> bool {
        let applies = self.condition.as_ref().is_none_or(|condition| {
            let chosen = match seen.get(condition.field.as_str()) {
                Some(Read::Chosen(value)) => value == &condition.value,
                Some(Read::Object | Read::Other) | None => false,
            };
            chosen == condition.equal
        });
        let there = |name: &String| seen.contains_key(name.as_str());
        !applies
            || match &self.demand {
                Demand::Requires(names) => names.iter().all(there),
                Demand::Forbids(names) => !names.iter().any(there),
                Demand::Object(names) => names
                    .iter()
                    .all(|name| matches!(seen.get(name.as_str()), None | Some(Read::Object))),
            }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(condition) = &self.condition {
            let is = if condition.equal { "is" } else { "is not" };
            write!(
                f,
                "where `{}` {is} {:?}, ",
                condition.field, condition.value
            )?;
        }
        let (names, must) = match &self.demand {
            Demand::Requires(names) => (names, "must be there"),
            Demand::Forbids(names) => (names, "must be absent"),
            Demand::Object(names) => (names, "must be a JSON object"),
        };
        write!(f, "`{}` {must}", names.join("` and `"))
    }
}

/// What a value must be, in words.
pub(crate) fn expected(shape: &Shape) -> String {
    match shape {
        Shape::Any => "any JSON but `null`".to_owned(),
        Shape::Bool => "a boolean".to_owned(),
        Shape::Text(Text {
            lower_hex: Some(digits),
            ..
        }) => format!("{digits} lower-case hexadecimal digits"),
        Shape::Text(Text {
            non_blank: true, ..
        }) => "a string that is not blank".to_owned(),
        Shape::Text(_) => "a string".to_owned(),
        Shape::Integer(integer) => within(*integer),
        Shape::Number { min, max } => {
            let mut words = "a finite number".to_owned();
            if let Some(min) = min {
                let _ = write!(words, " of at least {min}");
            }
            if let Some(max) = max {
                let _ = write!(words, " of at most {max}");
            }
            words
        }
        Shape::Enum(values) => {
            let values: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
            match values.as_slice() {
                [only] => only.clone(),
                _ => format!("one of {}", values.join(", ")),
            }
        }
        Shape::Type(name) => format!("an object ({name})"),
        Shape::List(_) => "a list".to_owned(),
        Shape::Map(_) => "an object".to_owned(),
    }
}

fn within(integer: Integer) -> String {
    format!(
        "an integer from {} to {}",
        integer.lowest(),
        integer.highest()
    )
}
