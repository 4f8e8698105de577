//! What an extension may ask of its host. Knows no handler.

use std::{sync::Arc, time::Duration};

use reasonix_extension_protocol::{
    DecodeError, Externalizable, RawJson,
    methods::{UiPublish, UiRequest},
    payloads::UiRequestPayload,
    types::{
        ExternalizedField, SessionContext, SurfaceId, UiPublishParams, UiPublishParamsDocument,
        UiPublishParamsRequired, UiRequestKind, UiRequestParams, UiRequestParamsRequired,
        UiRequestResult, UiSurfaceKind,
    },
};
use reasonix_extension_wire::{
    CallError, Peer,
    content::{ContentError, fetch},
};

/// How long the host may take for a page of content or to show a surface. It has both at hand.
const PROMPT: Duration = Duration::from_secs(30);
/// How long a user may take to answer: as long as somebody may be away from the keyboard.
const USER: Duration = Duration::from_hours(1);

/// The host, as an extension sees it. Copies are cheap.
#[derive(Clone, Debug)]
pub struct Host {
    peer: Peer,
    session: Arc<SessionContext>,
}

impl Host {
    pub(crate) fn new(peer: Peer, session: Arc<SessionContext>) -> Self {
        Self { peer, session }
    }

    /// The session that the extension was started for.
    pub fn session(&self) -> &SessionContext {
        &self.session
    }

    /// The connection, for calls that have no method here.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Shows a surface: a status, a card, a form or a notification. False if the host shows it to nobody,
    /// because the session or the generation is over.
    ///
    /// # Errors
    ///
    /// When the host refuses or does not answer within 30 s.
    pub async fn publish(
        &self,
        surface: SurfaceId,
        document: &UiPublishParamsDocument,
    ) -> Result<bool, CallError> {
        let (kind, payload) = match document {
            UiPublishParamsDocument::Status(payload) => {
                (UiSurfaceKind::Status, RawJson::encode(payload))
            }
            UiPublishParamsDocument::Card(payload) => {
                (UiSurfaceKind::Card, RawJson::encode(payload))
            }
            UiPublishParamsDocument::Form(payload) => {
                (UiSurfaceKind::Form, RawJson::encode(payload))
            }
            UiPublishParamsDocument::Notification(payload) => {
                (UiSurfaceKind::Notification, RawJson::encode(payload))
            }
            // The document is of a later release than this match.
            _ => {
                return Err(CallError::Encode(
                    "this kind of surface is not known here".to_owned(),
                ));
            }
        };
        let params = UiPublishParams::from(UiPublishParamsRequired {
            surface_id: surface,
            session_id: self.session.session_id.clone(),
            generation: self.session.generation,
            kind,
            payload: payload?,
        });
        Ok(self.peer.call::<UiPublish>(&params, PROMPT).await?.accepted)
    }

    /// Asks the user. Waits for the answer, at most an hour.
    ///
    /// # Errors
    ///
    /// When the host refuses or does not answer in time.
    pub async fn ask(
        &self,
        surface: SurfaceId,
        kind: UiRequestKind,
        question: &UiRequestPayload,
    ) -> Result<UiRequestResult, CallError> {
        let params = UiRequestParams::from(UiRequestParamsRequired {
            surface_id: surface,
            session_id: self.session.session_id.clone(),
            generation: self.session.generation,
            kind,
            payload: RawJson::encode(question)?,
        });
        self.peer.call::<UiRequest>(&params, USER).await
    }

    /// Fetches a value that was too large for its frame: every page, counted and hashed.
    ///
    /// # Errors
    ///
    /// When the host no longer holds it, or when what came is not what the descriptor says.
    pub async fn resolve(&self, field: &ExternalizedField) -> Result<RawJson, ContentError> {
        fetch(&self.peer, field, PROMPT).await
    }

    /// A payload, fetched if it travels by reference.
    pub(crate) async fn payload(
        &self,
        payload: Externalizable<RawJson>,
        externalized: Option<Vec<ExternalizedField>>,
    ) -> Result<RawJson, PayloadError> {
        if let Some(payload) = payload.into_inline() {
            return Ok(payload);
        }
        let fields = externalized.unwrap_or_default();
        match fields.as_slice() {
            [field] if field.json_pointer.as_str() == "/payload" => Ok(self.resolve(field).await?),
            _ => Err(PayloadError::Descriptor),
        }
    }
}

/// Why a handler has no payload.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PayloadError {
    #[error("{0}")]
    Content(#[from] ContentError),
    #[error("the payload is `null` and no one descriptor of `/payload` stands beside it")]
    Descriptor,
    #[error("{0}")]
    Decode(DecodeError),
}
