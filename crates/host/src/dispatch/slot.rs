//! Replacement slots by name: the ones that the contract lists, and those with a parameter.

use std::{fmt, str::FromStr};

use reasonix_extension_protocol::hooks::Slot;

/// A replacement slot: a strategy of the host that one plugin may own, such as `system_prompt`,
/// `tool:bash`, or `provider:plugin/demo/echo/small`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotName {
    slot: Slot,
    parameter: Option<String>,
}

/// Why a text names no slot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is no replacement slot: {why}")]
pub struct InvalidSlot {
    name: String,
    why: String,
}

impl SlotName {
    /// A slot without a parameter.
    pub fn named(slot: Slot) -> Self {
        Self {
            slot,
            parameter: None,
        }
    }

    /// The strategy of one tool.
    pub fn tool(name: impl Into<String>) -> Self {
        Self {
            slot: Slot::Tool,
            parameter: Some(name.into()),
        }
    }

    /// The strategy of one model.
    pub fn provider(reference: impl Into<String>) -> Self {
        Self {
            slot: Slot::Provider,
            parameter: Some(reference.into()),
        }
    }

    /// The slot, or the family of it.
    pub fn slot(&self) -> Slot {
        self.slot
    }
}

impl fmt::Display for SlotName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.slot.as_str())?;
        match &self.parameter {
            Some(parameter) => write!(f, ":{parameter}"),
            None => Ok(()),
        }
    }
}

impl FromStr for SlotName {
    type Err = InvalidSlot;

    /// Reads a slot as it stands in a manifest: in its case, without white space around it.
    fn from_str(name: &str) -> Result<Self, InvalidSlot> {
        let invalid = |why: String| InvalidSlot {
            name: name.to_owned(),
            why,
        };
        let (family, parameter) = match name.split_once(':') {
            Some((family, parameter)) => (family, Some(parameter)),
            None => (name, None),
        };
        let known = Slot::ALL
            .iter()
            .copied()
            .find(|slot| slot.as_str() == family);
        let Some(slot) = known else {
            let known: Vec<String> = Slot::ALL.iter().map(|slot| shape(*slot)).collect();
            return Err(invalid(format!("expected one of {}", known.join(", "))));
        };
        match (slot.parameter(), parameter) {
            (None, None) => Ok(Self::named(slot)),
            (Some(_), Some(parameter)) if is_parameter(slot, parameter) => Ok(Self {
                slot,
                parameter: Some(parameter.to_owned()),
            }),
            (Some(_), _) if slot == Slot::Provider => Err(invalid(format!(
                "expected `{}`, where ref is `<name>/<model>` or `plugin/<plugin>/<name>/<model>`",
                shape(slot)
            ))),
            _ => Err(invalid(format!("expected `{}`", shape(slot)))),
        }
    }
}

/// How a slot is spelled.
fn shape(slot: Slot) -> String {
    match slot.parameter() {
        Some(parameter) => format!("{}:<{parameter}>", slot.as_str()),
        None => slot.as_str().to_owned(),
    }
}

fn is_parameter(slot: Slot, parameter: &str) -> bool {
    let word = |text: &str| !text.is_empty() && !text.contains([' ', '\t', '\n']);
    if slot != Slot::Provider {
        return word(parameter);
    }
    let parts: Vec<&str> = parameter.split('/').collect();
    match parts.as_slice() {
        [name, model] => !name.is_empty() && !model.is_empty(),
        ["plugin", plugin, name, model] => word(plugin) && !name.is_empty() && !model.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_read_as_the_manifest_spells_them() {
        for name in [
            "system_prompt",
            "context",
            "frontend_events",
            "tool:bash",
            "provider:openai/gpt",
            "provider:plugin/x",
            "provider:plugin/demo/echo/small",
        ] {
            assert_eq!(name.parse::<SlotName>().unwrap().to_string(), name);
        }
        for name in [
            "",
            "system_prompt ",
            "System_prompt",
            "system_prompt:x",
            "tool",
            "tool:",
            "tool:a b",
            "provider:x",
            "provider:x/",
            "provider:a/b/c",
            "provider:plugin/a b/c/d",
            "provider:plugin/a/b/c/d",
        ] {
            let error = name.parse::<SlotName>().unwrap_err();
            assert!(error.to_string().contains("expected"), "{error}");
        }
    }
}
