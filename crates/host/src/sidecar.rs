//! One sidecar that runs: its states, the calls to it, and its end. Knows no chain of extensions.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use reasonix_extension_protocol::{
    ErrorReason, HookPoint, RawJson,
    methods::{
        ContentRead, Event, Initialize, Initialized, Intercept, ProviderCatalog, Request,
        ResourcesChanged, Shutdown, StreamCancel, StreamChunk, StreamEnd, StreamOpen, UiAction,
        UiPublish, UiRequest, UiSubmit,
    },
    types::{
        EventParams, InitializedParams, InterceptParams, NonBlank, ProviderCatalogParams,
        ProviderCatalogResult, ResourcesChangedParams, ShutdownParams, StreamCancelParams,
        StreamCancelResult, StreamId, StreamOpenParams, StreamOpenResult, UiActionParams,
        UiActionResult, UiSubmitParams, UiSubmitResult,
    },
};
use reasonix_extension_wire::{
    CallError, CloseReason, Connection, Incoming, Options, Peer, Router, RpcError, Unsound,
    content::ContentStore,
};
use tokio::{
    sync::{OnceCell, watch},
    time::timeout,
};

use crate::{
    handshake,
    launch::{Declared, Launch, Notice, Ruled, Services, Session, Stage, StartError},
    process::{Pipes, Process, status_words},
    redact,
};

/// How long a sidecar may take to introduce itself, and all of a generation together.
pub const START_BUDGET: Duration = Duration::from_secs(30);
/// How long a sidecar may take to clean up when it is asked to end.
pub const SHUTDOWN_BUDGET: Duration = Duration::from_secs(5);
/// How long its process may take to leave once its input is closed.
const LEAVE: Duration = Duration::from_millis(750);
/// How long what a process had written before it died may take to be read.
const LAST_OUTPUT: Duration = Duration::from_secs(2);
/// How long a sidecar may take to list its models.
const CATALOG: Duration = Duration::from_secs(10);
/// How long a sidecar may take to begin a stream: a model may be loaded for it.
const OPEN: Duration = Duration::from_mins(1);
/// How long a sidecar may take to stop a stream.
const CANCEL: Duration = Duration::from_secs(2);
/// How long a sidecar may take with an action or a form, which may themselves ask the user.
const ACTION: Duration = Duration::from_hours(1);

/// Where a sidecar is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// It answers.
    Ready,
    /// It has died, and stays dead until the next generation.
    Crashed,
    /// It was ended.
    Stopped,
}

/// A sidecar that was started. Copies are the same sidecar; its process ends with the last of them.
#[derive(Clone, Debug)]
pub struct Sidecar(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    launch: Launch,
    declared: Declared,
    process: Process,
    connection: Connection,
    store: ContentStore,
    state: watch::Sender<State>,
    /// Number of the last intercept.
    seq: AtomicU64,
    /// Whether its end was asked for: then it is no crash.
    stopping: AtomicBool,
    stopped: OnceCell<()>,
    services: Arc<Shared>,
}

/// What handlers and watchers share.
struct Shared {
    plugin: String,
    services: Arc<dyn Services>,
    missed: AtomicBool,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("plugin", &self.plugin)
            .finish_non_exhaustive()
    }
}

impl Sidecar {
    /// Starts a sidecar and shakes hands, within a time. Must be called within a tokio runtime.
    ///
    /// # Errors
    ///
    /// When it cannot be run, does not introduce itself in time, or is not what its manifest allows. Its
    /// process is gone then, with everything that it started.
    pub async fn start(
        launch: Launch,
        session: &Session,
        services: Arc<dyn Services>,
        within: Duration,
    ) -> Result<Self, StartError> {
        let begun = Instant::now();
        let name = launch.name.clone();
        let failed = move |stage, reason, cause: String, stderr| StartError {
            plugin: name.clone(),
            stage,
            elapsed: begun.elapsed(),
            reason,
            cause: redact::shown(&cause),
            stderr,
        };
        if !launch.program.command.is_absolute() {
            let cause = format!(
                "the command `{}` is no absolute path",
                launch.program.command.display()
            );
            return Err(failed(
                Stage::Resolve,
                ErrorReason::Internal,
                cause,
                String::new(),
            ));
        }
        let started = timeout(
            within,
            Process::start(&launch.name, &launch.identified_program()),
        )
        .await;
        let (process, pipes) = match started {
            Ok(Ok(started)) => started,
            Ok(Err(error)) => {
                let cause = format!("run `{}`: {error}", launch.program.command.display());
                return Err(failed(
                    Stage::Spawn,
                    ErrorReason::Internal,
                    cause,
                    String::new(),
                ));
            }
            Err(_) => {
                let cause = "the process was not started in time".to_owned();
                return Err(failed(
                    Stage::Spawn,
                    ErrorReason::Internal,
                    cause,
                    String::new(),
                ));
            }
        };
        let shared = Arc::new(Shared {
            plugin: launch.name.clone(),
            services,
            missed: AtomicBool::new(false),
        });
        let store = ContentStore::new();
        let connection = connect(pipes, &shared, &store);
        let left = within.saturating_sub(begun.elapsed());
        match shake_hands(&launch, session, &connection, &process, left).await {
            Ok(declared) => {
                let inner = Inner {
                    launch,
                    declared,
                    process,
                    connection,
                    store,
                    state: watch::Sender::new(State::Ready),
                    seq: AtomicU64::new(0),
                    stopping: AtomicBool::new(false),
                    stopped: OnceCell::new(),
                    services: shared,
                };
                let sidecar = Self(Arc::new(inner));
                sidecar.watch();
                Ok(sidecar)
            }
            Err((reason, cause)) => {
                connection.peer().close();
                process.kill_and_reap().await;
                Err(failed(
                    Stage::Handshake,
                    reason,
                    cause,
                    process.stderr_tail(),
                ))
            }
        }
    }

    /// Sees to its end, whoever causes it. Holds no copy of the sidecar, which would keep it alive.
    fn watch(&self) {
        let peer = self.0.connection.peer().clone();
        let process = self.0.process.clone();
        let inner = Arc::downgrade(&self.0);
        // Ends when the process has.
        tokio::spawn(async move {
            tokio::select! {
                _ = peer.closed() => {}
                _ = process.exited() => {
                    // What it had written is read to its end; a grandchild may hold the pipe for longer.
                    let _ = timeout(LAST_OUTPUT, peer.closed()).await;
                }
            }
            peer.close();
            let reason = peer.closed().await;
            // What it said before is heard before its end is told. The wire bounds this by itself.
            peer.handled().await;
            // Deaf is dead: a process that still lives is of no use.
            if process.status().is_none() && timeout(GRACE, process.exited()).await.is_err() {
                process.kill_and_reap().await;
            }
            if let Some(inner) = inner.upgrade()
                && !inner.stopping.load(Ordering::Acquire)
            {
                inner.state.send_replace(State::Crashed);
                let why = crash_words(&reason, &process);
                inner.services.services.notice(Notice::Crashed {
                    plugin: inner.launch.name.clone(),
                    why,
                    stderr: process.stderr_tail(),
                });
            }
        });
    }

    /// The name under which it is installed.
    pub fn name(&self) -> &str {
        &self.0.launch.name
    }

    /// What was started.
    pub fn launch(&self) -> &Launch {
        &self.0.launch
    }

    /// What it said of itself.
    pub fn declared(&self) -> &Declared {
        &self.0.declared
    }

    /// Where it is in its life.
    pub fn state(&self) -> State {
        *self.0.state.borrow()
    }

    /// Waits until it is no longer ready.
    pub async fn ended(&self) -> State {
        let mut state = self.0.state.subscribe();
        match state.wait_for(|state| *state != State::Ready).await {
            Ok(state) => *state,
            Err(_) => State::Stopped,
        }
    }

    /// Asks for a ruling, within the time that its manifest or the point gives.
    ///
    /// # Errors
    ///
    /// When it does not rule in time or soundly, or has ended.
    pub async fn intercept(
        &self,
        point: HookPoint,
        payload: RawJson,
    ) -> Result<Ruled, CallFailure> {
        let within = self.0.launch.timeout_at(point);
        let outgoing = self
            .0
            .store
            .externalize(payload, "/payload")
            .map_err(|error| self.refused(&error))?;
        let seq = self.0.seq.fetch_add(1, Ordering::Relaxed) + 1;
        let millis = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
        let mut params = InterceptParams::new(point, seq, outgoing.payload, millis);
        params.externalized = outgoing.externalized;
        let mut result = self.call::<Intercept>(&params, within).await?;
        result.reason = result.reason.map(|reason| redact::message(&reason));
        let replacement = self
            .0
            .store
            .replacement(&result)
            .map_err(|error| self.refused(&error))?;
        // The value was at hand until here.
        drop(outgoing.pin);
        Ok(Ruled {
            result,
            replacement,
        })
    }

    /// Tells what happened at a point, if there is room; false if it was missed.
    pub fn observe(&self, point: HookPoint, payload: RawJson) -> bool {
        if self.state() != State::Ready {
            return false;
        }
        // Nothing is written out, and nothing hashed, that finds no room.
        let told = self.peer().has_room() && self.tell(point, payload);
        if !told && !self.0.services.missed.swap(true, Ordering::Relaxed) {
            self.0.services.services.notice(Notice::MissedObservation {
                plugin: self.0.launch.name.clone(),
                point,
            });
        }
        told
    }

    fn tell(&self, point: HookPoint, payload: RawJson) -> bool {
        let Ok(outgoing) = self.0.store.externalize(payload, "/payload") else {
            return false;
        };
        let mut params = EventParams::new(point, outgoing.payload);
        params.externalized = outgoing.externalized;
        let told = self.peer().try_notify::<Event>(&params).unwrap_or(false);
        match outgoing.pin {
            Some(pin) if told => pin.release(),
            // A value of an event that nobody hears of is let go.
            _ => {}
        }
        told
    }

    /// Tells which of its files have changed.
    ///
    /// # Errors
    ///
    /// When it has ended.
    pub async fn resources_changed(&self, paths: Vec<String>) -> Result<(), CallFailure> {
        let params = ResourcesChangedParams::new(paths);
        let told = self.peer().notify::<ResourcesChanged>(&params).await;
        told.map_err(|error| self.failure(error))
    }

    /// Invokes one of its actions. Gives up after an hour, or when the future is dropped.
    ///
    /// # Errors
    ///
    /// When it refuses or has ended.
    pub async fn action(&self, params: &UiActionParams) -> Result<UiActionResult, CallFailure> {
        let mut result = self.call::<UiAction>(params, ACTION).await?;
        result.message = result.message.map(|message| redact::message(&message));
        Ok(result)
    }

    /// Gives it a form that the user has filled in. Gives up as [`action`](Self::action) does.
    ///
    /// # Errors
    ///
    /// When it refuses or has ended.
    pub async fn submit(&self, params: &UiSubmitParams) -> Result<UiSubmitResult, CallFailure> {
        self.call::<UiSubmit>(params, ACTION).await
    }

    /// Lists the models that it serves.
    ///
    /// # Errors
    ///
    /// When it refuses or has ended.
    pub async fn catalog(&self) -> Result<ProviderCatalogResult, CallFailure> {
        self.call::<ProviderCatalog>(&ProviderCatalogParams::new(), CATALOG)
            .await
    }

    /// Begins a stream, whose chunks go to [`Services::chunk`].
    ///
    /// # Errors
    ///
    /// When it refuses or has ended.
    pub async fn open_stream(
        &self,
        params: &StreamOpenParams,
    ) -> Result<StreamOpenResult, CallFailure> {
        self.call::<StreamOpen>(params, OPEN).await
    }

    /// Stops a stream.
    ///
    /// # Errors
    ///
    /// When it refuses or has ended.
    pub async fn cancel_stream(&self, stream: StreamId) -> Result<StreamCancelResult, CallFailure> {
        self.call::<StreamCancel>(&StreamCancelParams::new(stream), CANCEL)
            .await
    }

    async fn call<M: Request>(
        &self,
        params: &M::Params,
        within: Duration,
    ) -> Result<M::Result, CallFailure> {
        if self.0.stopping.load(Ordering::Acquire) {
            return Err(self.fails(FailureKind::Stopped));
        }
        self.peer()
            .call::<M>(params, within)
            .await
            .map_err(|error| self.failure(error))
    }

    fn peer(&self) -> &Peer {
        self.0.connection.peer()
    }

    fn fails(&self, kind: FailureKind) -> CallFailure {
        CallFailure {
            plugin: self.0.launch.name.clone(),
            kind,
        }
    }

    fn refused(&self, error: &RpcError) -> CallFailure {
        self.fails(FailureKind::refused(error))
    }

    fn failure(&self, error: CallError) -> CallFailure {
        self.fails(match error {
            CallError::Refused(error) => FailureKind::refused(&error),
            CallError::TimedOut(within) => FailureKind::TimedOut(within),
            CallError::Closed(_) if self.0.stopping.load(Ordering::Acquire) => FailureKind::Stopped,
            CallError::Closed(reason) => {
                FailureKind::Crashed(crash_words(&reason, &self.0.process))
            }
            CallError::TooLarge(bytes) => FailureKind::TooLarge(bytes),
            // These, and what later versions of the wire may add.
            error @ (CallError::Malformed(_) | CallError::Encode(_) | _) => {
                let reason = error.reason();
                let text = redact::shown(&error.to_string());
                FailureKind::Unsound(reason, text)
            }
        })
    }

    /// Ends it in order: asks, closes its input, and kills what is left. Takes at most
    /// [`SHUTDOWN_BUDGET`], 750 ms and the time of a kill. Calls that wait fail; a second end does nothing.
    pub async fn shutdown(&self) {
        self.0
            .stopped
            .get_or_init(|| async {
                self.0.stopping.store(true, Ordering::Release);
                let peer = self.peer();
                if self.state() == State::Ready {
                    let millis = u64::try_from(SHUTDOWN_BUDGET.as_millis()).unwrap_or(u64::MAX);
                    // Whatever it answers, it ends.
                    let _ = peer
                        .call::<Shutdown>(&ShutdownParams::new(millis), SHUTDOWN_BUDGET)
                        .await;
                }
                peer.end_output();
                if timeout(LEAVE, self.0.process.exited()).await.is_err() {
                    self.0.process.kill_and_reap().await;
                }
                // What it said last is heard.
                let _ = timeout(GRACE, peer.handled()).await;
                peer.close();
                self.0.state.send_replace(State::Stopped);
            })
            .await;
    }
}

/// How long a process that no longer speaks may take to say how it ended.
const GRACE: Duration = Duration::from_millis(100);

/// Runs the connection of a process.
fn connect(pipes: Pipes, shared: &Arc<Shared>, store: &ContentStore) -> Connection {
    let stray = {
        let shared = shared.clone();
        move |unsound: &Unsound| {
            shared.services.notice(Notice::StrayLine {
                plugin: shared.plugin.clone(),
                why: unsound.why.clone(),
                line: redact::excerpt(unsound.line.expose()),
            });
        }
    };
    let mut options = Options::default();
    options.open = false;
    options.on_unsound = Some(Arc::new(stray));
    let with = || shared.clone();
    let (publish, ask, chunk, end) = (with(), with(), with(), with());
    let store = store.clone();
    let unreadable = {
        let shared = shared.clone();
        move |notification: &Incoming, error: &RpcError| {
            // Whatever else is wrong with it, whose it is may be plain.
            let params = notification.params().unwrap_or_default();
            if let Ok(Named { stream_id }) = serde_json::from_slice(params) {
                let why = redact::excerpt(error.message.expose());
                shared.services.unreadable(&shared.plugin, &stream_id, &why);
            }
        }
    };
    let router = Router::new()
        .on_unreadable(unreadable)
        .on_request::<ContentRead, _, _>(move |params, _| {
            let page = store.read(&params);
            async move { page }
        })
        .on_request::<UiPublish, _, _>(move |params, _| {
            publish.services.publish(&publish.plugin, params)
        })
        .on_request::<UiRequest, _, _>(move |params, _| ask.services.ask(&ask.plugin, params))
        .on_notification::<StreamChunk, _, _>(move |mut params, _| {
            if let Some(error) = &mut params.chunk.error
                && let Ok(message) = NonBlank::new(redact::shown(error.message.as_str()))
            {
                error.message = message;
            }
            chunk.services.chunk(&chunk.plugin, params)
        })
        .on_notification::<StreamEnd, _, _>(move |mut params, _| {
            params.error = params.error.map(|error| redact::shown(&error));
            end.services.stream_end(&end.plugin, params)
        });
    Connection::start(pipes.stdout, pipes.stdin, router, options)
}

/// A message of a stream, of which nothing but the stream is read.
#[derive(serde::Deserialize)]
struct Named {
    #[serde(rename = "streamId")]
    stream_id: String,
}

/// Introduces the two sides to each other, or says why not.
async fn shake_hands(
    launch: &Launch,
    session: &Session,
    connection: &Connection,
    process: &Process,
    within: Duration,
) -> Result<Declared, (ErrorReason, String)> {
    let refused = |refused: handshake::Refused| (refused.reason, refused.why);
    let params = handshake::params(launch, session).map_err(refused)?;
    let peer = connection.peer();
    let declared = match peer.call::<Initialize>(&params, within).await {
        Ok(declared) => declared,
        Err(CallError::Refused(error)) => {
            let reason = error.reason().unwrap_or(ErrorReason::Internal);
            return Err((reason, format!("it refused: {}", error.message.expose())));
        }
        Err(CallError::TimedOut(_)) => {
            let cause = format!(
                "it did not introduce itself within {} ms",
                within.as_millis()
            );
            return Err((ErrorReason::Internal, cause));
        }
        Err(CallError::Closed(reason)) => {
            // Its end may be a moment behind the end of its output.
            let _ = timeout(GRACE, process.exited()).await;
            let error = CallError::Closed(reason.clone());
            let hint = if matches!(reason, CloseReason::NotAFrame(_)) {
                "; something prints to its standard output, which is the wire"
            } else {
                ""
            };
            return Err((
                error.reason(),
                format!("{}{hint}", crash_words(&reason, process)),
            ));
        }
        Err(error) => return Err((error.reason(), error.to_string())),
    };
    handshake::check(launch, &declared).map_err(refused)?;
    // First, for the sidecar may speak as soon as it reads this.
    peer.open();
    peer.notify::<Initialized>(&InitializedParams::new())
        .await
        .map_err(|error| (error.reason(), error.to_string()))?;
    Ok(declared)
}

/// Why a connection has ended, and how its process did; without credentials and control characters.
fn crash_words(reason: &CloseReason, process: &Process) -> String {
    let why = match reason {
        // Nothing but the end of its process has the host close a connection that nobody ended.
        CloseReason::Local => "its process has ended".to_owned(),
        // Redacted before it is cut and escaped, for both hide what a credential looks like.
        CloseReason::NotAFrame(line) => format!(
            "the peer sent a line that is no frame: {}",
            redact::excerpt(line.expose())
        ),
        CloseReason::PeerClosed
        | CloseReason::FrameTooLarge
        | CloseReason::TooEarly(_)
        | CloseReason::TooManyUnsound(_)
        | CloseReason::Stalled(_)
        | CloseReason::Io(_)
        | _ => redact::shown(&reason.to_string()),
    };
    match process.status() {
        Some(status) => format!("{why} ({})", status_words(status)),
        None => why,
    }
}

/// Why a call to a sidecar has no result. Every text is free of credentials and control characters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{plugin}` {kind}")]
#[non_exhaustive]
pub struct CallFailure {
    /// The plugin.
    pub plugin: String,
    /// What happened.
    #[source]
    pub kind: FailureKind,
}

/// What happened to a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FailureKind {
    /// The sidecar answered an error.
    #[error("refused: {message}")]
    Refused {
        /// The frozen reason, if it gave one.
        reason: Option<ErrorReason>,
        /// The JSON-RPC code.
        code: i64,
        /// What it wrote.
        message: String,
        /// What a person can do, if it says so.
        action: Option<String>,
    },
    /// It did not answer in time.
    #[error("did not answer within {} ms", .0.as_millis())]
    TimedOut(Duration),
    /// It has died, or its connection has.
    #[error("has ended: {0}")]
    Crashed(String),
    /// It was ended by the host.
    #[error("was ended")]
    Stopped,
    /// The message does not fit a frame.
    #[error("cannot be sent {0} bytes")]
    TooLarge(usize),
    /// What it answered, or what it was to be sent, breaks the contract.
    #[error("broke the contract: {1}")]
    Unsound(ErrorReason, String),
}

impl FailureKind {
    fn refused(error: &RpcError) -> Self {
        let clean = redact::shown;
        let data = error.frozen();
        Self::Refused {
            reason: data.as_ref().map(|data| data.reason),
            code: error.code,
            message: clean(error.message.expose()),
            action: data
                .and_then(|data| data.action)
                .map(|action| clean(&action)),
        }
    }
}

impl CallFailure {
    /// The reason on the wire, for whoever passes the failure on.
    pub fn reason(&self) -> ErrorReason {
        match &self.kind {
            FailureKind::Refused { reason, .. } => reason.unwrap_or(ErrorReason::Internal),
            FailureKind::TimedOut(_) => ErrorReason::InterceptTimeout,
            FailureKind::Crashed(_) | FailureKind::Stopped => ErrorReason::ProviderInterrupted,
            FailureKind::TooLarge(_) => ErrorReason::FrameTooLarge,
            FailureKind::Unsound(reason, _) => *reason,
        }
    }
}
