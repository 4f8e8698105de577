//! What the two sides say of themselves, and whether the sidecar may be what it says. Talks to nobody.

use reasonix_extension_protocol::{
    ErrorReason, PROTOCOL_ID, PROTOCOL_MAJOR, PROTOCOL_VERSION,
    types::{
        HostCapabilities, InitializeParams, InitializeParamsRequired, InitializeResult,
        ManifestExpectation, ProtocolId, ProtocolVersion,
    },
};

use crate::launch::{Launch, Session};

/// What a sidecar needs to declare providers.
const PROVIDERS: &str = "providers";
/// What it needs to declare actions.
const UI: &str = "ui";

/// Why a sidecar may not be what it says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) reason: ErrorReason,
    pub(crate) why: String,
}

impl Refused {
    fn new(reason: ErrorReason, why: impl Into<String>) -> Self {
        Self {
            reason,
            why: why.into(),
        }
    }
}

/// What the host says.
pub(crate) fn params(launch: &Launch, session: &Session) -> Result<InitializeParams, Refused> {
    let internal =
        |error: &dyn std::fmt::Display| Refused::new(ErrorReason::Internal, error.to_string());
    let version = ProtocolVersion::new(PROTOCOL_VERSION).map_err(|error| internal(&error))?;
    let mut manifest = ManifestExpectation::new();
    if !launch.intercepts.is_empty() {
        manifest.intercepts = Some(launch.intercepts.iter().map(ToString::to_string).collect());
    }
    if !launch.replaces.is_empty() {
        manifest.replaces = Some(launch.replaces.clone());
    }
    if !launch.capabilities.is_empty() {
        manifest.capabilities = Some(launch.capabilities.clone());
    }
    Ok(InitializeParams::from(InitializeParamsRequired {
        protocol_id: ProtocolId::new(PROTOCOL_ID).map_err(|error| internal(&error))?,
        protocol_version: version.clone(),
        manifest,
        session: session.context.clone(),
        capabilities: HostCapabilities::new(version, session.ui_host, true),
    }))
}

/// Whether what the sidecar says is within what its manifest allows.
pub(crate) fn check(launch: &Launch, result: &InitializeResult) -> Result<(), Refused> {
    let version = result.protocol_version.as_str();
    let major = version.parse::<u64>().map_err(|_| {
        let why = format!("its protocol version {version:?} is no major version");
        Refused::new(ErrorReason::ProtocolError, why)
    })?;
    if major != PROTOCOL_MAJOR {
        let why =
            format!("it speaks major version {major} of the protocol, the host {PROTOCOL_MAJOR}");
        return Err(Refused::new(ErrorReason::UnsupportedVersion, why));
    }
    let undeclared = |what: String| Refused::new(ErrorReason::CapabilityNotDeclared, what);
    for point in result.subscriptions.iter().flatten() {
        if !launch
            .intercepts
            .iter()
            .any(|known| known.as_str() == point)
        {
            return Err(undeclared(format!(
                "it subscribes to {point:?}, which its manifest does not intercept"
            )));
        }
    }
    for slot in result.replaces.iter().flatten() {
        if !launch.replaces.contains(slot) {
            return Err(undeclared(format!(
                "it owns the slot {slot:?}, which its manifest does not replace"
            )));
        }
    }
    let may = |capability: &str| launch.capabilities.iter().any(|known| known == capability);
    let prefix = format!("plugin/{}/", launch.name);
    for provider in result.providers.iter().flatten() {
        let reference = provider.ref_.as_str();
        if !may(PROVIDERS) {
            return Err(undeclared(format!(
                "it serves {reference:?}, and its manifest has no capability `{PROVIDERS}`"
            )));
        }
        if !reference.starts_with(&prefix) {
            return Err(undeclared(format!(
                "it serves {reference:?}, which is not below `{prefix}`"
            )));
        }
    }
    if let Some(action) = result.ui_actions.iter().flatten().next()
        && !may(UI)
    {
        return Err(undeclared(format!(
            "it has the action {:?}, and its manifest has no capability `{UI}`",
            action.action_id.as_str()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
