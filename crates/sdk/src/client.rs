//! What an extension may ask of its host. Knows no handler.

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use reasonix_extension_protocol::{
    DecodeError, Externalizable, RawJson, limits,
    methods::{ContentRead, UiPublish, UiRequest},
    payloads::UiRequestPayload,
    types::{
        ContentReadParams, ContentReadResult, ExternalizedField, SessionContext, Sha256, SurfaceId,
        UiPublishParams, UiPublishParamsDocument, UiPublishParamsRequired, UiRequestKind,
        UiRequestParams, UiRequestParamsRequired, UiRequestResult, UiSurfaceKind,
    },
};
use reasonix_extension_wire::{CallError, Peer};
use sha2::Digest as _;

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

/// Why content cannot be had.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContentError {
    /// The host refused to give a page, or did not answer.
    #[error("read `{reference}`: {source}")]
    Read {
        /// What was read.
        reference: String,
        /// Why it failed.
        source: CallError,
    },
    /// The pages are not what the reference promised.
    #[error("`{reference}` is not what was promised: {why}")]
    Broken {
        /// What was read.
        reference: String,
        /// What is wrong.
        why: String,
    },
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
        let broken = |why: String| ContentError::Broken {
            reference: field.content_ref.as_str().to_owned(),
            why,
        };
        if field.total_bytes > limits::CONTENT_REF_OBJECT_BYTES {
            return Err(broken(format!("it has {} bytes", field.total_bytes)));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(field.total_bytes).unwrap_or_default());
        loop {
            let offset = bytes.len() as u64;
            let params = ContentReadParams::new(field.content_ref.clone(), offset);
            let page = self.peer.call::<ContentRead>(&params, PROMPT).await;
            let page = page.map_err(|source| ContentError::Read {
                reference: field.content_ref.as_str().to_owned(),
                source,
            })?;
            let next = append(&mut bytes, &page, field).map_err(broken)?;
            if next.is_none() {
                break;
            }
        }
        if bytes.len() as u64 != field.total_bytes {
            return Err(broken(format!(
                "it has {} bytes of {}",
                bytes.len(),
                field.total_bytes
            )));
        }
        if digest(&bytes) != field.sha256.as_str() {
            return Err(broken("its hash is another".to_owned()));
        }
        // Only the whole is text: a page may end within a character.
        let text = std::str::from_utf8(&bytes).map_err(|_| broken("it is not UTF-8".to_owned()))?;
        RawJson::parse(text).map_err(|error| broken(error.to_string()))
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

/// Appends a page; gives where the next one begins, if there is one.
fn append(
    bytes: &mut Vec<u8>,
    page: &ContentReadResult,
    field: &ExternalizedField,
) -> Result<Option<u64>, String> {
    let offset = bytes.len() as u64;
    if page.content_ref != field.content_ref || page.offset != offset {
        return Err("a page of something else came".to_owned());
    }
    if page.total_bytes != field.total_bytes || page.sha256 != field.sha256 {
        return Err("a page says another size or another hash".to_owned());
    }
    let room = usize::try_from(field.total_bytes - offset).unwrap_or(usize::MAX);
    let data = BASE64_STANDARD
        .decode(&page.data_base64)
        .map_err(|error| format!("a page is not Base64: {error}"))?;
    if data.len() > room {
        return Err("it has more bytes than it says".to_owned());
    }
    bytes.extend_from_slice(&data);
    match page.next_offset {
        Some(next) if data.is_empty() || next != bytes.len() as u64 => {
            Err(format!("the page behind byte {next} does not follow"))
        }
        next => Ok(next),
    }
}

/// The SHA-256 of bytes as the protocol spells it.
fn digest(bytes: &[u8]) -> String {
    use std::fmt::Write as _;

    let mut text = String::with_capacity(64);
    for byte in sha2::Sha256::digest(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    debug_assert!(
        Sha256::new(text.clone()).is_ok(),
        "the spelling of the contract"
    );
    text
}
