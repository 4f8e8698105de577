//! What must hold of a payload at a hook point beyond its type.

use std::{borrow::Cow, collections::BTreeMap};

use serde_json::value::RawValue;

use super::{
    decode::{DecodeError, FaultKind},
    raw::{self, RawJson},
};

/// What must hold of a payload, and of a replacement of it, at one hook point. The names are those of
/// members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplacementRules {
    /// Members that have one value at this point, with that value; of a payload too.
    pub fixed: &'static [(&'static str, &'static str)],
    /// Members that a replacement must write out.
    pub required: &'static [&'static str],
    /// String members that are not empty in a replacement.
    pub non_empty: &'static [&'static str],
    /// Members of which a replacement must write out at least one, if any are listed.
    pub any_of: &'static [&'static str],
    /// String members that in a replacement are empty or the text of one JSON object.
    pub object_text: &'static [&'static str],
}

type Members<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

impl ReplacementRules {
    /// Checks what must hold of any payload of the point.
    ///
    /// # Errors
    ///
    /// When a member has another value than the one that it has at this point.
    pub fn check_payload(&self, payload: &RawJson) -> Result<(), DecodeError> {
        if self.fixed.is_empty() || !payload.is_object() {
            return Ok(());
        }
        let members = members(payload)?;
        for (name, value) in self.fixed {
            if let Some(raw) = members.get(*name)
                && string(raw).is_none_or(|text| text != *value)
            {
                return Err(broken(name, format!("expected `{value}` at this point")));
            }
        }
        Ok(())
    }

    /// Checks what must hold of a replacement, of which the type has been checked.
    ///
    /// # Errors
    ///
    /// When it leaves out what it must write, or writes what may not replace.
    pub fn check_replacement(&self, replacement: &RawJson) -> Result<(), DecodeError> {
        let members = members(replacement)?;
        for name in self.required {
            if !members.contains_key(*name) {
                return Err(DecodeError::new(
                    pointer(name),
                    FaultKind::MissingMember,
                    "the member is missing; a replacement must write it out".to_owned(),
                ));
            }
        }
        if !self.any_of.is_empty() && !self.any_of.iter().any(|name| members.contains_key(*name)) {
            return Err(DecodeError::new(
                String::new(),
                FaultKind::Rule,
                format!(
                    "a replacement must write out at least one of `{}`",
                    self.any_of.join("`, `")
                ),
            ));
        }
        let text = |name: &str| members.get(name).and_then(|raw| string(raw));
        for name in self.non_empty {
            if text(name).is_none_or(|text| text.is_empty()) {
                return Err(broken(
                    name,
                    "expected text that is not empty in a replacement".to_owned(),
                ));
            }
        }
        for name in self.object_text {
            if text(name).is_some_and(|text| !text.is_empty() && !is_object(&text)) {
                return Err(broken(
                    name,
                    "expected nothing or the text of one JSON object".to_owned(),
                ));
            }
        }
        Ok(())
    }
}

fn members(json: &RawJson) -> Result<Members<'_>, DecodeError> {
    serde_json::from_str(json.as_str()).map_err(|_| {
        DecodeError::new(
            String::new(),
            FaultKind::WrongType,
            "expected an object".to_owned(),
        )
    })
}

fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    serde_json::from_str::<String>(raw.get())
        .ok()
        .map(Cow::Owned)
}

/// Whether the text is one JSON object in which no member stands twice.
fn is_object(text: &str) -> bool {
    RawJson::parse(text).is_ok_and(|json| json.is_object())
}

fn broken(name: &str, message: String) -> DecodeError {
    DecodeError::new(pointer(name), FaultKind::Rule, message)
}

fn pointer(name: &str) -> String {
    let mut pointer = String::new();
    raw::push_segment(&mut pointer, name);
    pointer
}
