//! Errors of calls: what a peer answers, and why there is no answer. Knows no method.

use std::{fmt, time::Duration};

use reasonix_extension_protocol::{
    DecodeError, EncodeError, ErrorReason, RawJson, payloads::ErrorData,
};

use crate::{frame::MAX_FRAME, message::excerpt};

/// The JSON-RPC code of a frame that is not JSON.
pub(crate) const PARSE_ERROR: i64 = -32_700;
/// The JSON-RPC code of a request beyond the number that are handled at once.
pub const SERVER_BUSY: i64 = -32_099;

/// An error as it stands in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RpcError {
    /// JSON-RPC code.
    pub code: i64,
    /// What a person may read. From a peer it is a stranger's text.
    pub message: PeerText,
    /// Structured data.
    pub data: Option<RawJson>,
}

impl RpcError {
    /// A frozen error.
    pub fn new(reason: ErrorReason) -> Self {
        Self::with_data(reason, reason.message().to_owned(), None)
    }

    /// A frozen error with a text of its own: what exactly went wrong.
    pub fn because(reason: ErrorReason, text: impl Into<String>) -> Self {
        Self::with_data(reason, text.into(), None)
    }

    /// Says what a person can do about it.
    #[must_use]
    pub fn with_action(self, action: impl Into<String>) -> Self {
        match self.frozen() {
            Some(data) => Self::with_data(data.reason, self.message.0, Some(action.into())),
            None => self,
        }
    }

    fn with_data(reason: ErrorReason, message: String, action: Option<String>) -> Self {
        let mut data = ErrorData::new(reason, reason.is_retryable());
        data.action = action;
        Self {
            code: reason.code(),
            message: PeerText(message),
            // The data of a reason breaks no rule of its type.
            data: RawJson::encode(&data).ok(),
        }
    }

    /// An error that the contract does not freeze: one of JSON-RPC alone.
    pub(crate) fn plain(code: i64, message: &str) -> Self {
        Self {
            code,
            message: PeerText(message.to_owned()),
            data: None,
        }
    }

    /// The frozen data; `None` where the answer has none, or some that the contract does not know.
    pub fn frozen(&self) -> Option<ErrorData> {
        self.data.as_ref()?.decode().ok()
    }

    /// The frozen reason, if there is one.
    pub fn reason(&self) -> Option<ErrorReason> {
        self.frozen().map(|data| data.reason)
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason() {
            Some(reason) => write!(f, "`{reason}` ({})", self.code),
            None => write!(f, "error {}", self.code),
        }
    }
}

impl std::error::Error for RpcError {}

/// Text that a peer wrote. It may hold credentials, control characters, or instructions: whoever shows it
/// redacts it first, so it does not print by itself.
#[derive(Clone, PartialEq, Eq)]
pub struct PeerText(pub(crate) String);

impl PeerText {
    /// The text as it came.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for PeerText {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for PeerText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PeerText({} bytes)", self.0.len())
    }
}

/// Why a call has no result.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The peer answered an error.
    #[error("the peer answered {0}")]
    Refused(#[source] RpcError),
    /// No answer came in time. A late one is dropped.
    #[error("no answer within {} ms", .0.as_millis())]
    TimedOut(Duration),
    /// The connection has ended.
    #[error("{0}")]
    Closed(#[from] CloseReason),
    /// The peer's answer is not what the method returns, or no sound answer at all.
    #[error("the answer breaks the contract: {0}")]
    Malformed(PeerFault),
    /// The contract forbids what was to be sent. Nothing was.
    #[error("encode the message: {0}")]
    Encode(String),
    /// What was to be sent is longer than a frame may be. Nothing was.
    #[error("the message has {0} bytes, of which a frame holds {MAX_FRAME}")]
    TooLarge(usize),
}

impl CallError {
    /// The reason on the wire, for whoever passes the failure on.
    pub fn reason(&self) -> ErrorReason {
        match self {
            Self::Refused(error) => error.reason().unwrap_or(ErrorReason::Internal),
            Self::TimedOut(_) => ErrorReason::InterceptTimeout,
            Self::Closed(CloseReason::FrameTooLarge) | Self::TooLarge(_) => {
                ErrorReason::FrameTooLarge
            }
            Self::Closed(CloseReason::NotAFrame(_) | CloseReason::TooEarly(_))
            | Self::Malformed(_) => ErrorReason::ProtocolError,
            Self::Closed(_) => ErrorReason::ProviderInterrupted,
            Self::Encode(_) => ErrorReason::Internal,
        }
    }
}

impl From<EncodeError> for CallError {
    fn from(error: EncodeError) -> Self {
        Self::Encode(error.to_string())
    }
}

/// A fault in what a peer sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeerFault {
    /// A message is not what its type allows.
    Message(DecodeError),
    /// A frame is no sound envelope, for this reason.
    Envelope(String),
}

impl fmt::Display for PeerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(error) => error.fmt(f),
            Self::Envelope(why) => f.write_str(why),
        }
    }
}

/// Why a connection has ended. The first cause stays.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CloseReason {
    /// This side closed it.
    #[error("the connection was closed by this side")]
    Local,
    /// The peer closed its side.
    #[error("the peer closed the connection")]
    PeerClosed,
    /// The peer sent a frame that is too long.
    #[error("the peer sent a frame of more than {MAX_FRAME} bytes")]
    FrameTooLarge,
    /// The peer sent a line that is no frame before the connection was open: something else writes there.
    #[error("the peer sent a line that is no frame: {}", excerpt(.0.expose()))]
    NotAFrame(PeerText),
    /// The peer sent a request or a notification before the connection was open.
    #[error("the peer sent `{}` before it might", excerpt(.0.expose()))]
    TooEarly(PeerText),
    /// The peer sent too many frames that are unsound.
    #[error("the peer sent more than {} unsound frames, the last one because {}", crate::peer::MAX_UNSOUND, .0)]
    TooManyUnsound(String),
    /// The peer took no byte for too long.
    #[error("the peer read nothing for {} s", .0.as_secs_f64())]
    Stalled(Duration),
    /// The stream cannot be read or written.
    #[error("{0}")]
    Io(String),
}
