//! A host in memory, to test an extension without a process.
//!
//! The extension is served as [`Extension::serve`] serves it, over two ends of a pipe in memory: messages
//! are encoded, framed, decoded strictly, and externalized where they are large. Only the process and the
//! take-over of standard output are not there.
//!
//! ```
//! use reasonix_extension_sdk::{
//!     Extension, Ruling, hooks::ToolBefore, payloads::ToolBeforePayload, testing::TestHost,
//!     types::Decision,
//! };
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), reasonix_extension_sdk::testing::TestError> {
//! let extension = Extension::new("guard", "1.0.0").on::<ToolBefore, _, _>(|call, _host| async move {
//!     if call.arguments.contains("rm -rf /") {
//!         return Ok(Ruling::block("this would delete everything"));
//!     }
//!     Ok(Ruling::proceed())
//! });
//! let host = TestHost::start(extension).await?;
//! let call = ToolBeforePayload::new().with_arguments(r#"{"command":"rm -rf /"}"#);
//! let ruling = host.intercept::<ToolBefore>(&call).await?;
//! assert_eq!(ruling.decision(), Decision::Block);
//! host.shutdown().await
//! # }
//! ```

use std::{
    collections::{BTreeMap, HashMap},
    future::ready,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use reasonix_extension_protocol::{
    ErrorReason, PROTOCOL_ID, PROTOCOL_VERSION, RawJson,
    hooks::Hook,
    methods::{
        ContentRead, Event, Initialize, Initialized, Intercept, ProviderCatalog, Request,
        ResourcesChanged, Shutdown, StreamCancel, StreamChunk, StreamEnd, StreamOpen, UiAction,
        UiPublish, UiRequest, UiSubmit,
    },
    types::{
        ActionId, EventParams, Generation, HostCapabilities, InitializeParams,
        InitializeParamsRequired, InitializeResult, InitializedParams, InterceptParams,
        ManifestExpectation, NonBlank, ProtocolId, ProtocolVersion, ProviderCatalogParams,
        ProviderChunk, ProviderDescriptor, ProviderRef, ProviderRequest, ResourcesChangedParams,
        SessionContext, SessionId, ShutdownParams, StreamCancelParams, StreamEndParams, StreamId,
        StreamOpenParams, SurfaceId, UiActionParams, UiActionResult, UiHost, UiPublishParams,
        UiPublishResult, UiRequestParams, UiRequestResult, UiSubmitParams, UiSubmitResult,
    },
};
use reasonix_extension_wire::{
    CallError, Connection, Options, Peer, Router, RpcError, content::ContentStore,
};
use tokio::{
    sync::mpsc,
    task::JoinHandle,
    time::{error::Elapsed, timeout},
};

use crate::{Extension, Ruling, ServeError};

/// How long a test waits for anything before it fails: far longer than anything takes that does not hang.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// What the pipe in memory holds: as on Linux.
const PIPE: usize = 64 * 1_024;
/// Chunks of a stream, and surfaces, that a test has not yet taken. Beyond it the extension waits with
/// chunks, as it does for a slow host, and surfaces are refused.
const UNTAKEN: usize = 256;
/// The time that the extension is given to clean up.
const CLEAN_UP: Duration = Duration::from_secs(5);

/// Answers the questions that an extension asks the user.
type Answers = dyn Fn(&UiRequestParams) -> UiRequestResult + Send + Sync;

/// What a stream brings: chunks, and then its end.
enum Streamed {
    Chunk(u64, Box<ProviderChunk>),
    End(StreamEndParams),
}

/// What the handlers of one connection share.
struct Shared {
    streams: Mutex<HashMap<String, mpsc::Sender<Streamed>>>,
    published: mpsc::Sender<UiPublishParams>,
}

impl Shared {
    fn streams(&self) -> MutexGuard<'_, HashMap<String, mpsc::Sender<Streamed>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes on what a stream brings, if anybody takes it.
    async fn pass_on(&self, stream: &StreamId, streamed: Streamed) {
        let taker = self.streams().get(stream.as_str()).cloned();
        if let Some(taker) = taker {
            // A test that dropped its stream takes nothing any more.
            let _ = taker.send(streamed).await;
        }
    }
}

/// A host in memory that runs one extension and grants it whatever it declares.
pub struct TestHost {
    connection: Connection,
    served: JoinHandle<Result<(), ServeError>>,
    declared: InitializeResult,
    session: SessionContext,
    store: ContentStore,
    shared: Arc<Shared>,
    published: tokio::sync::Mutex<mpsc::Receiver<UiPublishParams>>,
    /// Number of the last ruling that was asked for, and of the last stream.
    last: AtomicU64,
}

/// Why something that a test did with its extension failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TestError {
    /// The extension did not start.
    #[error("the extension was not started: {0}")]
    NotStarted(String),
    /// The extension answered an error.
    #[error("the extension answered `{reason}`: {message}")]
    Refused {
        /// The reason; `internal` where the answer has none.
        reason: ErrorReason,
        /// What it said.
        message: String,
    },
    /// The call did not come back with an answer.
    #[error("{0}")]
    Call(CallError),
    /// What came is not what the contract allows.
    #[error("{0}")]
    Contract(String),
    /// Nothing came within [`PATIENCE`].
    #[error("nothing came within {} s", PATIENCE.as_secs())]
    Silent,
    /// The extension ended other than in order.
    #[error("{0}")]
    Ended(#[from] ServeError),
}

impl From<CallError> for TestError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Refused(error) => Self::Refused {
                reason: error.reason().unwrap_or(ErrorReason::Internal),
                message: error.message.expose().to_owned(),
            },
            // The others, and what later versions of the wire may add.
            error @ (CallError::TimedOut(_)
            | CallError::Closed(_)
            | CallError::Malformed(_)
            | CallError::Encode(_)
            | CallError::TooLarge(_)
            | _) => Self::Call(error),
        }
    }
}

impl From<Elapsed> for TestError {
    fn from(_: Elapsed) -> Self {
        Self::Silent
    }
}

fn contract(error: impl std::fmt::Display) -> TestError {
    TestError::Contract(error.to_string())
}

impl TestHost {
    /// Starts an extension; no question of it is answered but as if the user had cancelled it.
    ///
    /// # Errors
    ///
    /// [`TestError::NotStarted`] when the extension is built wrongly or refuses to start.
    pub async fn start(extension: Extension) -> Result<Self, TestError> {
        Self::start_answering(extension, |_| UiRequestResult::new(true)).await
    }

    /// Starts an extension whose questions are answered by a function, as a user would.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub async fn start_answering(
        extension: Extension,
        answers: impl Fn(&UiRequestParams) -> UiRequestResult + Send + Sync + 'static,
    ) -> Result<Self, TestError> {
        let session = SessionContext::new(
            SessionId::new("test").map_err(contract)?,
            NonBlank::new("/workspace").map_err(contract)?,
            Generation::new(1),
        );
        let introduction = introduction(&extension, &session)?;
        let (near, far) = tokio::io::duplex(PIPE);
        let (input, output) = tokio::io::split(far);
        let served = tokio::spawn(extension.serve_on(input, output));
        let (sender, published) = mpsc::channel(UNTAKEN);
        let shared = Arc::new(Shared {
            streams: Mutex::default(),
            published: sender,
        });
        let store = ContentStore::new();
        let (input, output) = tokio::io::split(near);
        let router = router(&shared, &store, Arc::new(answers));
        let connection = Connection::start(input, output, router, Options::default());
        let peer = connection.peer();
        let declared = match peer.call::<Initialize>(&introduction, PATIENCE).await {
            Ok(declared) => declared,
            Err(CallError::Closed(reason)) => {
                let why = match served.await {
                    Ok(Err(error)) => error.to_string(),
                    Ok(Ok(())) | Err(_) => reason.to_string(),
                };
                return Err(TestError::NotStarted(why));
            }
            Err(error) => return Err(TestError::NotStarted(TestError::from(error).to_string())),
        };
        peer.notify::<Initialized>(&InitializedParams::new())
            .await?;
        Ok(Self {
            connection,
            served,
            declared,
            session,
            store,
            shared,
            published: tokio::sync::Mutex::new(published),
            last: AtomicU64::new(0),
        })
    }

    /// What the extension said of itself.
    pub fn declared(&self) -> &InitializeResult {
        &self.declared
    }

    /// The session for which the extension runs.
    pub fn session(&self) -> &SessionContext {
        &self.session
    }

    /// The connection, for calls that have no method here.
    pub fn peer(&self) -> &Peer {
        self.connection.peer()
    }

    fn next(&self) -> u64 {
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }

    async fn call<M: Request>(&self, params: &M::Params) -> Result<M::Result, TestError> {
        Ok(self.peer().call::<M>(params, PATIENCE).await?)
    }

    /// Asks for a ruling at a hook point, with the time that the point gives by itself.
    ///
    /// # Errors
    ///
    /// [`TestError::Refused`] when the handler fails, panics or takes too long; [`TestError::Contract`] when
    /// the payload or a replacement is not what the point allows.
    pub async fn intercept<H: Hook>(&self, payload: &H::Payload) -> Result<Ruling<H>, TestError> {
        self.intercept_within(payload, H::POINT.default_timeout())
            .await
    }

    /// As [`intercept`](Self::intercept), with a time of the caller's, in whole milliseconds.
    ///
    /// # Errors
    ///
    /// As [`intercept`](Self::intercept).
    pub async fn intercept_within<H: Hook>(
        &self,
        payload: &H::Payload,
        within: Duration,
    ) -> Result<Ruling<H>, TestError> {
        let payload = RawJson::encode(payload).map_err(contract)?;
        let outgoing = self.store.externalize(payload, "/payload");
        let outgoing = outgoing.map_err(|error| TestError::from(CallError::Refused(error)))?;
        let millis = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
        let mut params = InterceptParams::new(H::POINT, self.next(), outgoing.payload, millis);
        params.externalized = outgoing.externalized;
        let result = self.call::<Intercept>(&params).await?;
        let replacement = self.store.replacement(&result);
        let replacement = replacement.map_err(|error| contract(error.message.expose()))?;
        // The value was at hand until here.
        drop(outgoing.pin);
        Ruling::read(&result, replacement.as_ref()).map_err(contract)
    }

    /// Tells what happened at a hook point. The observer runs behind earlier ones and nobody answers: a test
    /// waits for what the observer does.
    ///
    /// # Errors
    ///
    /// When the extension has ended, or the contract forbids the payload.
    pub async fn observe<H: Hook>(&self, payload: &H::Payload) -> Result<(), TestError> {
        let payload = RawJson::encode(payload).map_err(contract)?;
        let outgoing = self.store.externalize(payload, "/payload");
        let outgoing = outgoing.map_err(|error| TestError::from(CallError::Refused(error)))?;
        let mut params = EventParams::new(H::POINT, outgoing.payload);
        params.externalized = outgoing.externalized;
        self.peer().notify::<Event>(&params).await?;
        if let Some(pin) = outgoing.pin {
            pin.release();
        }
        Ok(())
    }

    /// Tells which of the extension's files have changed.
    ///
    /// # Errors
    ///
    /// When the extension has ended.
    pub async fn resources_changed<P>(
        &self,
        paths: impl IntoIterator<Item = P>,
    ) -> Result<(), TestError>
    where
        P: Into<String>,
    {
        let paths = paths.into_iter().map(Into::into).collect();
        let params = ResourcesChangedParams::new(paths);
        Ok(self.peer().notify::<ResourcesChanged>(&params).await?)
    }

    /// Invokes an action with arguments, as a user does.
    ///
    /// # Errors
    ///
    /// [`TestError::Refused`] when there is no such action or its handler fails.
    pub async fn action<K, V>(
        &self,
        id: &str,
        args: impl IntoIterator<Item = (K, V)>,
    ) -> Result<UiActionResult, TestError>
    where
        K: Into<String>,
        V: Into<String>,
    {
        let id = ActionId::new(id).map_err(contract)?;
        let (session, generation) = (self.session.session_id.clone(), self.session.generation);
        let mut params = UiActionParams::new(id, session, generation);
        let args: BTreeMap<String, String> = args
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        params.args = (!args.is_empty()).then_some(args);
        self.call::<UiAction>(&params).await
    }

    /// Gives the extension a form that the user has filled in.
    ///
    /// # Errors
    ///
    /// [`TestError::Refused`] when it takes no forms or its handler fails.
    pub async fn submit(
        &self,
        surface: SurfaceId,
        values: BTreeMap<String, RawJson>,
    ) -> Result<UiSubmitResult, TestError> {
        let (session, generation) = (self.session.session_id.clone(), self.session.generation);
        let params = UiSubmitParams::new(surface, session, generation, values);
        self.call::<UiSubmit>(&params).await
    }

    /// The next surface that the extension publishes, in order; waits for it.
    ///
    /// # Errors
    ///
    /// [`TestError::Silent`] when none comes within [`PATIENCE`], or when the extension has ended.
    pub async fn published(&self) -> Result<UiPublishParams, TestError> {
        let mut published = self.published.lock().await;
        let next = timeout(PATIENCE, async {
            tokio::select! {
                biased;
                next = published.recv() => next,
                _ = self.peer().closed() => None,
            }
        });
        next.await?.ok_or(TestError::Silent)
    }

    /// Lists the models that the extension serves.
    ///
    /// # Errors
    ///
    /// When the extension has ended.
    pub async fn catalog(&self) -> Result<Vec<ProviderDescriptor>, TestError> {
        let params = ProviderCatalogParams::new();
        Ok(self.call::<ProviderCatalog>(&params).await?.providers)
    }

    /// Asks a model of the extension, and gives its answer as it comes.
    ///
    /// # Errors
    ///
    /// [`TestError::Refused`] when it serves no such model.
    pub async fn stream(
        &self,
        provider: ProviderRef,
        request: ProviderRequest,
    ) -> Result<TestStream, TestError> {
        let id = StreamId::new(format!("stream-{}", self.next())).map_err(contract)?;
        let (sender, streamed) = mpsc::channel(UNTAKEN);
        self.shared.streams().insert(id.as_str().to_owned(), sender);
        // Forgets the stream when it is dropped, also where it is refused.
        let stream = TestStream {
            id: id.clone(),
            peer: self.peer().clone(),
            shared: self.shared.clone(),
            streamed,
            last: 0,
            end: None,
        };
        let params = StreamOpenParams::new(id, provider, request, 1);
        self.call::<StreamOpen>(&params).await?;
        Ok(stream)
    }

    /// Asks the extension to end, and waits until it has.
    ///
    /// # Errors
    ///
    /// When it does not end in order, or not within [`PATIENCE`].
    pub async fn shutdown(self) -> Result<(), TestError> {
        let millis = u64::try_from(CLEAN_UP.as_millis()).unwrap_or(u64::MAX);
        self.call::<Shutdown>(&ShutdownParams::new(millis)).await?;
        self.peer().end_output();
        match timeout(PATIENCE, self.served).await? {
            Ok(served) => Ok(served?),
            Err(error) => Err(contract(error)),
        }
    }
}

impl std::fmt::Debug for TestHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TestHost")
            .field("declared", &self.declared)
            .finish_non_exhaustive()
    }
}

/// The answer of a model. Dropped, it is no longer taken; the extension is not told.
pub struct TestStream {
    id: StreamId,
    peer: Peer,
    shared: Arc<Shared>,
    streamed: mpsc::Receiver<Streamed>,
    /// Number of the last chunk.
    last: u64,
    end: Option<StreamEndParams>,
}

impl TestStream {
    /// The next chunk; `None` once the stream has ended.
    ///
    /// # Errors
    ///
    /// [`TestError::Silent`] when nothing comes within [`PATIENCE`]; [`TestError::Contract`] when a chunk is
    /// missing or out of order.
    pub async fn next(&mut self) -> Result<Option<ProviderChunk>, TestError> {
        if self.end.is_some() {
            return Ok(None);
        }
        let streamed = timeout(PATIENCE, async {
            tokio::select! {
                biased;
                streamed = self.streamed.recv() => streamed,
                _ = self.peer.closed() => None,
            }
        });
        let (seq, chunk) = match streamed.await?.ok_or(TestError::Silent)? {
            Streamed::Chunk(seq, chunk) => (seq, Some(chunk)),
            Streamed::End(end) => {
                let seq = end.last_seq;
                self.end = Some(end);
                (seq, None)
            }
        };
        let expected = self.last + u64::from(chunk.is_some());
        if seq != expected {
            let text = format!("the stream is at number {seq}, which should be {expected}");
            return Err(TestError::Contract(text));
        }
        self.last = seq;
        Ok(chunk.map(|chunk| *chunk))
    }

    /// Everything that is still to come: the texts of all chunks, joined. The end must be in order.
    ///
    /// # Errors
    ///
    /// As [`next`](Self::next), and [`TestError::Refused`] when the stream ends with an error.
    pub async fn text(&mut self) -> Result<String, TestError> {
        let mut text = String::new();
        while let Some(chunk) = self.next().await? {
            text.push_str(chunk.text.as_deref().unwrap_or_default());
        }
        match self.end.as_ref().and_then(|end| end.error.clone()) {
            None => Ok(text),
            Some(message) => Err(TestError::Refused {
                reason: ErrorReason::ProviderFailed,
                message,
            }),
        }
    }

    /// How it ended, once it has.
    pub fn end(&self) -> Option<&StreamEndParams> {
        self.end.as_ref()
    }

    /// Stops it; false if it had ended. What was sent before is still to be taken, and so is its end.
    ///
    /// # Errors
    ///
    /// When the extension has ended.
    pub async fn cancel(&self) -> Result<bool, TestError> {
        let params = StreamCancelParams::new(self.id.clone());
        let result = self.peer.call::<StreamCancel>(&params, PATIENCE).await?;
        Ok(result.cancelled)
    }
}

impl Drop for TestStream {
    fn drop(&mut self) {
        self.shared.streams().remove(self.id.as_str());
    }
}

impl std::fmt::Debug for TestStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TestStream")
            .field("id", &self.id)
            .field("last", &self.last)
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}

/// What the host says first: it grants what the extension is built of.
fn introduction(
    extension: &Extension,
    session: &SessionContext,
) -> Result<InitializeParams, TestError> {
    let version = ProtocolVersion::new(PROTOCOL_VERSION).map_err(contract)?;
    let mut manifest = ManifestExpectation::new();
    manifest.intercepts = some(extension.subscriptions());
    manifest.replaces = some(extension.replaces.clone());
    Ok(InitializeParams::from(InitializeParamsRequired {
        protocol_id: ProtocolId::new(PROTOCOL_ID).map_err(contract)?,
        protocol_version: version.clone(),
        manifest,
        session: session.clone(),
        capabilities: HostCapabilities::new(version, UiHost::Headless, true),
    }))
}

/// What the host does for the extension.
fn router(shared: &Arc<Shared>, store: &ContentStore, answers: Arc<Answers>) -> Router {
    let store = store.clone();
    let (publishing, chunks, ends) = (shared.clone(), shared.clone(), shared.clone());
    Router::new()
        .on_request::<ContentRead, _, _>(move |params, _| ready(store.read(&params)))
        .on_request::<UiPublish, _, _>(move |params, _| {
            let taken = publishing.published.try_send(params);
            ready(match taken {
                Ok(()) => Ok(UiPublishResult::new(true)),
                Err(_) => Err(RpcError::because(
                    ErrorReason::Internal,
                    format!("the test has not taken {UNTAKEN} surfaces"),
                )),
            })
        })
        .on_request::<UiRequest, _, _>(move |params, _| ready(Ok(answers(&params))))
        .on_notification::<StreamChunk, _, _>(move |params, _| {
            let chunks = chunks.clone();
            async move {
                let streamed = Streamed::Chunk(params.seq, Box::new(params.chunk));
                chunks.pass_on(&params.stream_id, streamed).await;
            }
        })
        .on_notification::<StreamEnd, _, _>(move |params, _| {
            let ends = ends.clone();
            async move {
                let stream = params.stream_id.clone();
                ends.pass_on(&stream, Streamed::End(params)).await;
            }
        })
}

fn some<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}
