//! What the host asks, given to the handlers of an extension. Knows the order of a connection's life.

use std::{
    collections::BTreeMap,
    future::ready,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU8, Ordering},
    },
    time::Duration,
};

use reasonix_extension_protocol::{
    ErrorReason, Externalizable, HookPoint, PROTOCOL_ID, PROTOCOL_MAJOR, PROTOCOL_VERSION, RawJson,
    methods::{
        Event, Initialize, Initialized, Intercept, MethodName, ProviderCatalog, Request,
        ResourcesChanged, Shutdown, StreamCancel, StreamOpen, UiAction, UiSubmit,
    },
    types::{
        Decision, ExternalizedField, InitializeParams, InitializeResult, InterceptParams,
        InterceptResult, NonBlank, ProtocolVersion, ProviderCatalogResult, SessionContext,
        ShutdownParams, ShutdownResult, StreamCancelParams, StreamCancelResult, StreamOpenParams,
        StreamOpenResult,
    },
};
use reasonix_extension_wire::{BoxFuture, Context, Incoming, Peer, Reply, RpcError, Service};
use tokio::{
    sync::{Semaphore, mpsc, watch},
    task::AbortHandle,
    time::{Instant, timeout},
};

use crate::{Extension, Host, StreamSink, extension::MAX_CALLBACKS};

/// Observations that wait at most. They are news: one that comes late is worth less than memory.
const MAX_OBSERVATIONS: usize = 256;

/// Where a connection is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Stage {
    /// Nothing has come.
    New,
    /// The host has asked how the extension is called and was answered.
    Introduced,
    /// Everything may come.
    Ready,
    /// The host has asked for the end.
    Ending,
}

/// What the tasks of one connection share.
pub(crate) struct Shared {
    extension: Extension,
    stage: AtomicU8,
    session: OnceLock<Arc<SessionContext>>,
    callbacks: Arc<Semaphore>,
    streams: Mutex<BTreeMap<String, Stream>>,
    observations: mpsc::Sender<Observation>,
    warned: AtomicBool,
    /// Set when the connection is to end.
    ended: watch::Sender<Option<End>>,
}

/// Why an extension ends a connection itself.
#[derive(Clone, Debug)]
pub(crate) enum End {
    /// The host asked for it.
    Asked,
    /// It could not be started, for this reason.
    NotStarted(String),
}

struct Stream {
    sink: StreamSink,
    task: AbortHandle,
}

pub(crate) enum Observation {
    Event(HookPoint, Payload, Host),
    Resources(Vec<String>, Host),
}

/// A payload as it travels, with what describes it.
type Payload = (Externalizable<RawJson>, Option<Vec<ExternalizedField>>);

/// Handles what comes over one connection.
#[derive(Clone)]
pub(crate) struct Served(pub(crate) Arc<Shared>);

impl Served {
    pub(crate) fn new(extension: Extension) -> (Self, mpsc::Receiver<Observation>) {
        let (observations, observed) = mpsc::channel(MAX_OBSERVATIONS);
        let shared = Shared {
            extension,
            stage: AtomicU8::new(Stage::New as u8),
            session: OnceLock::new(),
            callbacks: Arc::new(Semaphore::new(MAX_CALLBACKS)),
            streams: Mutex::default(),
            observations,
            warned: AtomicBool::new(false),
            ended: watch::Sender::new(None),
        };
        (Self(Arc::new(shared)), observed)
    }

    pub(crate) fn stage(&self) -> Stage {
        match self.0.stage.load(Ordering::Acquire) {
            0 => Stage::New,
            1 => Stage::Introduced,
            2 => Stage::Ready,
            _ => Stage::Ending,
        }
    }

    fn enter(&self, stage: Stage) {
        self.0.stage.store(stage as u8, Ordering::Release);
    }

    /// Waits until the extension ends the connection itself.
    pub(crate) async fn ended(&self) -> End {
        let mut ended = self.0.ended.subscribe();
        match ended.wait_for(Option::is_some).await {
            Ok(end) => end.clone().unwrap_or(End::Asked),
            Err(_) => End::Asked,
        }
    }

    fn end(&self, end: End) {
        self.0.ended.send_if_modified(|ended| {
            let first = ended.is_none();
            if first {
                *ended = Some(end);
            }
            first
        });
    }

    /// Stops every stream without a word; gives how many there were.
    pub(crate) fn stop_streams(&self) -> usize {
        let streams = std::mem::take(&mut *self.streams());
        for stream in streams.values() {
            stream.task.abort();
        }
        streams.len()
    }

    fn streams(&self) -> MutexGuard<'_, BTreeMap<String, Stream>> {
        self.0
            .streams
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn host(&self, peer: &Peer) -> Option<Host> {
        Some(Host::new(peer.clone(), self.0.session.get()?.clone()))
    }

    fn initialize(&self, params: &InitializeParams) -> Result<InitializeResult, RpcError> {
        if self.stage() != Stage::New {
            let text = "the connection is initialized already";
            return Err(RpcError::because(ErrorReason::ProtocolError, text));
        }
        if params.protocol_id.as_str() != PROTOCOL_ID {
            let text = format!("this extension speaks `{PROTOCOL_ID}`");
            return Err(RpcError::because(ErrorReason::ProtocolError, text));
        }
        let major = params.protocol_version.as_str().parse::<u64>();
        if major.map_err(|_| RpcError::new(ErrorReason::ProtocolError))? != PROTOCOL_MAJOR {
            let text = format!("this extension speaks major version {PROTOCOL_MAJOR}");
            return Err(RpcError::because(ErrorReason::UnsupportedVersion, text));
        }
        let extension = &self.0.extension;
        if let Some(start) = &extension.on_start {
            start(params)?;
        }
        let text = |text: &str| {
            NonBlank::new(text)
                .map_err(|error| RpcError::because(ErrorReason::Internal, error.to_string()))
        };
        let version = ProtocolVersion::new(PROTOCOL_VERSION)
            .map_err(|error| RpcError::because(ErrorReason::Internal, error.to_string()))?;
        let some = |list: Vec<String>| (!list.is_empty()).then_some(list);
        let mut result = InitializeResult::new(
            text(&extension.name)?,
            text(&extension.version)?,
            version,
            extension.state_schema_version,
        );
        result.subscriptions = some(extension.subscriptions());
        result.replaces = some(extension.replaces.clone());
        if !extension.providers.is_empty() {
            result.providers = Some(extension.providers.clone());
        }
        if !extension.actions.is_empty() {
            result.ui_actions = Some(extension.actions.clone());
        }
        let _ = self.0.session.set(Arc::new(params.session.clone()));
        Ok(result)
    }

    /// Runs a handler when it is its turn.
    fn callback<M: Request>(
        &self,
        handled: impl Future<Output = Result<M::Result, RpcError>> + Send + 'static,
    ) -> BoxFuture<Result<Reply, RpcError>> {
        let callbacks = self.0.callbacks.clone();
        Box::pin(async move {
            // The semaphore is never closed.
            let _turn = callbacks.acquire_owned().await;
            Reply::of::<M>(&handled.await?)
        })
    }

    fn intercept(&self, params: InterceptParams, host: Host) -> BoxFuture<Result<Reply, RpcError>> {
        let Some(handler) = self.0.extension.interceptors.get(&params.event).cloned() else {
            let result = InterceptResult::new(Decision::Continue);
            return Box::pin(ready(Reply::of::<Intercept>(&result)));
        };
        let callbacks = self.0.callbacks.clone();
        let within = Duration::from_millis(params.timeout_millis);
        let begun = Instant::now();
        Box::pin(async move {
            // The time runs from here: whoever does not get its turn in time has no handler run for nothing.
            let ruled = async {
                // The semaphore is never closed.
                let _turn = callbacks.acquire_owned().await;
                // A turn may come at the very moment in which the time is up.
                if begun.elapsed() >= within {
                    return Err(RpcError::new(ErrorReason::InterceptTimeout));
                }
                let payload = host.payload(params.payload, params.externalized).await?;
                handler(payload, host).await
            };
            match timeout(within, ruled).await {
                Ok(ruled) => Reply::of::<Intercept>(&ruled?),
                Err(_) => Err(RpcError::new(ErrorReason::InterceptTimeout)),
            }
        })
    }

    fn open_stream(&self, params: StreamOpenParams, host: Host) -> Result<Reply, RpcError> {
        let provider = params.provider_ref.as_str();
        let Some(streamer) = self.0.extension.streamers.get(provider).cloned() else {
            let text = format!("this extension serves no `{provider}`");
            return Err(RpcError::because(ErrorReason::ProviderFailed, text));
        };
        let id = params.stream_id.as_str().to_owned();
        let mut streams = self.streams();
        if streams.contains_key(&id) {
            let text = format!("the stream `{id}` is open already");
            return Err(RpcError::because(ErrorReason::ProtocolError, text));
        }
        let sink = StreamSink::new(
            host.peer().clone(),
            params.stream_id.clone(),
            params.seq_base,
        );
        let (begin, begun) = tokio::sync::oneshot::channel::<()>();
        let served = self.clone();
        let producer = sink.clone();
        let key = id.clone();
        // Ends with the producer, with a cancel, or with the connection.
        let task = tokio::spawn(async move {
            if begun.await.is_err() {
                return;
            }
            // A task of its own, so that a panic of the author's code is seen here.
            let mut produced = tokio::spawn(streamer(params, producer.clone(), host));
            let _abort = AbortOnDrop(produced.abort_handle());
            let error = match (&mut produced).await {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(RpcError::from(error).message.expose().to_owned()),
                Err(_) => Some("the provider panicked".to_owned()),
            };
            served.streams().remove(&key);
            producer.end(error, false).await;
        });
        streams.insert(
            id,
            Stream {
                sink,
                task: task.abort_handle(),
            },
        );
        let reply = Reply::of::<StreamOpen>(&StreamOpenResult::new(true))?;
        // No chunk may stand before the answer.
        Ok(reply.then(move || {
            // The task is gone where the stream was cancelled already.
            let _ = begin.send(());
        }))
    }

    async fn cancel_stream(&self, params: StreamCancelParams) -> StreamCancelResult {
        let stream = self.streams().remove(params.stream_id.as_str());
        let Some(stream) = stream else {
            return StreamCancelResult::new(false);
        };
        stream.task.abort();
        StreamCancelResult::new(stream.sink.end(None, true).await)
    }

    fn shutdown(&self, params: &ShutdownParams) -> BoxFuture<Result<Reply, RpcError>> {
        self.enter(Stage::Ending);
        let served = self.clone();
        let within = Duration::from_millis(params.timeout_millis);
        Box::pin(async move {
            if let Some(stop) = &served.0.extension.on_stop {
                // What is not done by then is not waited for.
                let _ = timeout(within, stop(within)).await;
            }
            let reply = Reply::of::<Shutdown>(&ShutdownResult::new(true))?;
            Ok(reply.then(move || served.end(End::Asked)))
        })
    }

    fn observe(&self, observation: Observation) {
        if self.0.observations.try_send(observation).is_err()
            && !self.0.warned.swap(true, Ordering::Relaxed)
        {
            let name = &self.0.extension.name;
            eprintln!("{name}: observers do not keep up; events are missed");
        }
    }

    /// Gives observations to their observers, one after the other.
    pub(crate) async fn run_observers(self, mut observed: mpsc::Receiver<Observation>) {
        while let Some(observation) = observed.recv().await {
            let handled = match observation {
                Observation::Event(point, (payload, externalized), host) => {
                    let Some(observer) = self.0.extension.observers.get(&point).cloned() else {
                        continue;
                    };
                    tokio::spawn(async move {
                        if let Ok(payload) = host.payload(payload, externalized).await {
                            observer(payload, host).await;
                        }
                    })
                }
                Observation::Resources(paths, host) => {
                    let Some(observer) = self.0.extension.resources.clone() else {
                        continue;
                    };
                    tokio::spawn(async move { observer(paths, host).await })
                }
            };
            // A panic costs the observation alone.
            let _abort = AbortOnDrop(handled.abort_handle());
            let _ = handled.await;
        }
    }
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn failed(error: RpcError) -> BoxFuture<Result<Reply, RpcError>> {
    Box::pin(ready(Err(error)))
}

impl Service for Served {
    fn request(&self, request: Incoming, context: Context) -> BoxFuture<Result<Reply, RpcError>> {
        let Some(method) = request.name() else {
            return failed(RpcError::new(ErrorReason::UnknownMethod));
        };
        let stage = self.stage();
        let early = !matches!(method, MethodName::Initialize | MethodName::Shutdown);
        if early && stage != Stage::Ready {
            let text = format!("`{method}` came while the connection was not ready");
            return failed(RpcError::because(ErrorReason::ProtocolError, text));
        }
        macro_rules! decoded {
            ($method:ty) => {
                match request.decode::<$method>() {
                    Ok(params) => params,
                    Err(error) => return failed(error),
                }
            };
        }
        let host = || self.host(context.peer());
        match method {
            MethodName::Initialize => {
                let params = decoded!(Initialize);
                let served = self.clone();
                let result = self.initialize(&params);
                if result.is_ok() {
                    self.enter(Stage::Introduced);
                }
                Box::pin(ready(match result {
                    Ok(result) => Reply::of::<Initialize>(&result),
                    Err(error) if stage == Stage::New => {
                        let why = error.message.expose().to_owned();
                        // The end must not overtake the answer that gives the reason.
                        Ok(Reply::refusal(error).then(move || served.end(End::NotStarted(why))))
                    }
                    Err(error) => Err(error),
                }))
            }
            MethodName::Shutdown => self.shutdown(&decoded!(Shutdown)),
            MethodName::Intercept => {
                let params = decoded!(Intercept);
                match host() {
                    Some(host) => self.intercept(params, host),
                    None => failed(RpcError::new(ErrorReason::ProtocolError)),
                }
            }
            MethodName::ProviderCatalog => {
                let _ = decoded!(ProviderCatalog);
                let result = ProviderCatalogResult::new(self.0.extension.providers.clone());
                Box::pin(ready(Reply::of::<ProviderCatalog>(&result)))
            }
            MethodName::StreamOpen => {
                let params = decoded!(StreamOpen);
                Box::pin(ready(match host() {
                    Some(host) => self.open_stream(params, host),
                    None => Err(RpcError::new(ErrorReason::ProtocolError)),
                }))
            }
            MethodName::StreamCancel => {
                let params = decoded!(StreamCancel);
                let served = self.clone();
                Box::pin(
                    async move { Reply::of::<StreamCancel>(&served.cancel_stream(params).await) },
                )
            }
            MethodName::UiAction => {
                let params = decoded!(UiAction);
                let handler = self
                    .0
                    .extension
                    .on_action
                    .get(params.action_id.as_str())
                    .cloned();
                match (handler, host()) {
                    (Some(handler), Some(host)) => {
                        self.callback::<UiAction>(async move { handler(params, host).await })
                    }
                    _ => {
                        let text = format!("this extension has no action `{}`", params.action_id);
                        failed(RpcError::because(ErrorReason::InvalidParams, text))
                    }
                }
            }
            MethodName::UiSubmit => {
                let params = decoded!(UiSubmit);
                match (self.0.extension.on_submit.clone(), host()) {
                    (Some(handler), Some(host)) => {
                        self.callback::<UiSubmit>(async move { handler(params, host).await })
                    }
                    _ => failed(RpcError::new(ErrorReason::UnknownMethod)),
                }
            }
            // What only extensions send, what is no request, and what later releases may add.
            MethodName::Event
            | MethodName::Initialized
            | MethodName::ResourcesChanged
            | MethodName::StreamChunk
            | MethodName::StreamEnd
            | MethodName::ContentRead
            | MethodName::UiPublish
            | MethodName::UiRequest
            | _ => failed(RpcError::new(ErrorReason::UnknownMethod)),
        }
    }

    fn notification(&self, notification: Incoming, peer: Peer) -> BoxFuture<()> {
        let method = notification.name();
        match (method, self.stage()) {
            (Some(MethodName::Initialized), Stage::Introduced)
                if notification.decode::<Initialized>().is_ok() =>
            {
                self.enter(Stage::Ready);
            }
            (Some(MethodName::Event), Stage::Ready) => {
                if let (Ok(params), Some(host)) = (notification.decode::<Event>(), self.host(&peer))
                    && self.0.extension.observers.contains_key(&params.event)
                {
                    let payload = (params.payload, params.externalized);
                    self.observe(Observation::Event(params.event, payload, host));
                }
            }
            (Some(MethodName::ResourcesChanged), Stage::Ready) => {
                if let (Ok(params), Some(host)) =
                    (notification.decode::<ResourcesChanged>(), self.host(&peer))
                    && self.0.extension.resources.is_some()
                {
                    self.observe(Observation::Resources(params.paths, host));
                }
            }
            _ => {}
        }
        Box::pin(ready(()))
    }
}
