//! An extension as its author builds it: a handler for each thing that the host may ask. Knows no stream.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    future::ready,
    sync::Arc,
    time::Duration,
};

use reasonix_extension_protocol::{
    ErrorReason, HookPoint, RawJson,
    hooks::Hook,
    types::{
        ActionId, InitializeParams, InterceptResult, NonBlank, ProviderDescriptor, ProviderRef,
        StreamOpenParams, UiActionDecl, UiActionParams, UiActionResult, UiSubmitParams,
        UiSubmitResult,
    },
};
use reasonix_extension_wire::{BoxFuture, RpcError};

use crate::{Host, Ruling, StreamSink, client::PayloadError};

/// Handlers that run at once; what comes beyond waits for its turn.
pub const MAX_CALLBACKS: usize = 32;

pub(crate) type Callback<P, R> =
    Arc<dyn Fn(P, Host) -> BoxFuture<Result<R, RpcError>> + Send + Sync>;
pub(crate) type Observer<P> = Arc<dyn Fn(P, Host) -> BoxFuture<()> + Send + Sync>;
pub(crate) type Starter = Arc<dyn Fn(&InitializeParams) -> Result<(), HandlerError> + Send + Sync>;
pub(crate) type Stopper = Arc<dyn Fn(Duration) -> BoxFuture<()> + Send + Sync>;
pub(crate) type Streamer = Arc<
    dyn Fn(StreamOpenParams, StreamSink, Host) -> BoxFuture<Result<(), HandlerError>> + Send + Sync,
>;

/// An extension: what it is called and what it does.
///
/// What it handles is what it declares: the hook points with a handler are its subscriptions. They must be
/// among those of its manifest, or the host refuses to start it.
pub struct Extension {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) state_schema_version: u64,
    pub(crate) interceptors: BTreeMap<HookPoint, Callback<RawJson, InterceptResult>>,
    pub(crate) observers: BTreeMap<HookPoint, Observer<RawJson>>,
    pub(crate) replaces: Vec<String>,
    pub(crate) resources: Option<Observer<Vec<String>>>,
    pub(crate) actions: Vec<UiActionDecl>,
    pub(crate) on_action: BTreeMap<String, Callback<UiActionParams, UiActionResult>>,
    pub(crate) on_submit: Option<Callback<UiSubmitParams, UiSubmitResult>>,
    pub(crate) providers: Vec<ProviderDescriptor>,
    pub(crate) streamers: BTreeMap<String, Streamer>,
    pub(crate) on_start: Option<Starter>,
    pub(crate) on_stop: Option<Stopper>,
    /// The first thing that the author got wrong; told when it is run.
    pub(crate) mistake: Option<String>,
}

impl Extension {
    /// An extension that does nothing yet.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        let (name, version) = (name.into(), version.into());
        let mut mistake = None;
        for (what, text) in [("name", &name), ("version", &version)] {
            if let Err(error) = NonBlank::new(text.clone()) {
                mistake = mistake.or(Some(format!("the {what} of the extension: {error}")));
            }
        }
        Self {
            name,
            version,
            state_schema_version: 0,
            interceptors: BTreeMap::new(),
            observers: BTreeMap::new(),
            replaces: Vec::new(),
            resources: None,
            actions: Vec::new(),
            on_action: BTreeMap::new(),
            on_submit: None,
            providers: Vec::new(),
            streamers: BTreeMap::new(),
            on_start: None,
            on_stop: None,
            mistake,
        }
    }

    /// Rules at a hook point. The last handler of a point stays.
    #[must_use]
    pub fn on<H, F, T>(mut self, handler: F) -> Self
    where
        H: Hook,
        F: Fn(H::Payload, Host) -> T + Send + Sync + 'static,
        T: Future<Output = Result<Ruling<H>, HandlerError>> + Send + 'static,
    {
        let handler = move |payload: RawJson, host| -> BoxFuture<_> {
            match decoded::<H>(&payload) {
                Ok(payload) => {
                    let ruling = handler(payload, host);
                    Box::pin(async move { ruling.await?.into_result() })
                }
                Err(error) => Box::pin(ready(Err(error))),
            }
        };
        self.interceptors.insert(H::POINT, Arc::new(handler));
        self
    }

    /// Rules at every hook point that has no handler of its own, with the payload as JSON and the ruling as
    /// it stands on the wire.
    #[must_use]
    pub fn on_any<F, T>(mut self, handler: F) -> Self
    where
        F: Fn(HookPoint, RawJson, Host) -> T + Send + Sync + 'static,
        T: Future<Output = Result<InterceptResult, HandlerError>> + Send + 'static,
    {
        let handler = Arc::new(handler);
        for &point in HookPoint::ALL {
            let handler = handler.clone();
            self.interceptors.entry(point).or_insert_with(|| {
                Arc::new(move |payload, host| -> BoxFuture<_> {
                    let ruling = handler(point, payload, host);
                    Box::pin(async move { Ok(ruling.await?) })
                })
            });
        }
        self
    }

    /// Hears what happened at a hook point, after all rulings. An observer that does not keep up misses
    /// events, and that is said on standard error.
    #[must_use]
    pub fn observe<H, F, T>(mut self, observer: F) -> Self
    where
        H: Hook,
        F: Fn(H::Payload, Host) -> T + Send + Sync + 'static,
        T: Future<Output = ()> + Send + 'static,
    {
        let observer = move |payload: RawJson, host| -> BoxFuture<()> {
            match decoded::<H>(&payload) {
                Ok(payload) => Box::pin(observer(payload, host)),
                Err(_) => Box::pin(ready(())),
            }
        };
        self.observers.insert(H::POINT, Arc::new(observer));
        self
    }

    /// Claims a replacement slot, such as `system_prompt` or `tool:bash`: the handler of its hook point
    /// then rules last. The manifest must grant it.
    #[must_use]
    pub fn replaces(mut self, slot: impl Into<String>) -> Self {
        self.replaces.push(slot.into());
        self
    }

    /// Hears which files of the extension have changed, as paths.
    #[must_use]
    pub fn on_resources_changed<F, T>(mut self, observer: F) -> Self
    where
        F: Fn(Vec<String>, Host) -> T + Send + Sync + 'static,
        T: Future<Output = ()> + Send + 'static,
    {
        self.resources = Some(Arc::new(move |paths, host| Box::pin(observer(paths, host))));
        self
    }

    /// Offers an action, which users invoke as `/<plugin>:<id>`. An id has lower-case letters, digits and
    /// dashes.
    #[must_use]
    pub fn action<F, T>(mut self, id: &str, label: impl Into<String>, handler: F) -> Self
    where
        F: Fn(UiActionParams, Host) -> T + Send + Sync + 'static,
        T: Future<Output = Result<UiActionResult, HandlerError>> + Send + 'static,
    {
        let spelled = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
        match ActionId::new(id) {
            // The wire takes more, and the host then takes none of the extension's actions.
            Ok(_) if !id.bytes().all(spelled) => self.mistaken(format!(
                "the action `{id}`: an id has lower-case letters, digits and dashes"
            )),
            Ok(action) => {
                self.actions.retain(|known| known.action_id != action);
                self.actions
                    .push(UiActionDecl::new(action).with_label(label));
                self.on_action.insert(id.to_owned(), callback(handler));
            }
            Err(error) => self.mistaken(format!("the action `{id}`: {error}")),
        }
        self
    }

    /// Takes what users fill into forms that the extension published.
    #[must_use]
    pub fn on_submit<F, T>(mut self, handler: F) -> Self
    where
        F: Fn(UiSubmitParams, Host) -> T + Send + Sync + 'static,
        T: Future<Output = Result<UiSubmitResult, HandlerError>> + Send + 'static,
    {
        self.on_submit = Some(callback(handler));
        self
    }

    /// Serves a model. The handler sends the answer through the sink; when it returns, the stream ends.
    #[must_use]
    pub fn provider<F, T>(mut self, descriptor: ProviderDescriptor, handler: F) -> Self
    where
        F: Fn(StreamOpenParams, StreamSink, Host) -> T + Send + Sync + 'static,
        T: Future<Output = Result<(), HandlerError>> + Send + 'static,
    {
        let reference: &ProviderRef = &descriptor.ref_;
        self.streamers.insert(
            reference.as_str().to_owned(),
            Arc::new(move |open, sink, host| Box::pin(handler(open, sink, host))),
        );
        self.providers.push(descriptor);
        self
    }

    /// Version of the state that the extension keeps, which the host stores for it to see; 0 if not set.
    #[must_use]
    pub fn state_schema_version(mut self, version: u64) -> Self {
        self.state_schema_version = version;
        self
    }

    /// Looks at what the host says when it opens the connection, and may refuse to start.
    #[must_use]
    pub fn on_start<F>(mut self, handler: F) -> Self
    where
        F: Fn(&InitializeParams) -> Result<(), HandlerError> + Send + Sync + 'static,
    {
        self.on_start = Some(Arc::new(handler));
        self
    }

    /// Cleans up when the host asks for the end, within the time that it gives.
    #[must_use]
    pub fn on_stop<F, T>(mut self, handler: F) -> Self
    where
        F: Fn(Duration) -> T + Send + Sync + 'static,
        T: Future<Output = ()> + Send + 'static,
    {
        self.on_stop = Some(Arc::new(move |within| Box::pin(handler(within))));
        self
    }

    /// The hook points with a handler.
    pub(crate) fn subscriptions(&self) -> Vec<String> {
        let points: BTreeSet<_> = self
            .interceptors
            .keys()
            .chain(self.observers.keys())
            .collect();
        points.into_iter().map(ToString::to_string).collect()
    }

    fn mistaken(&mut self, what: String) {
        self.mistake.get_or_insert(what);
    }
}

impl fmt::Debug for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extension")
            .field("name", &self.name)
            .field("version", &self.version)
            .field("interceptors", &self.interceptors.keys())
            .field("observers", &self.observers.keys())
            .finish_non_exhaustive()
    }
}

fn callback<P, R, F, T>(handler: F) -> Callback<P, R>
where
    F: Fn(P, Host) -> T + Send + Sync + 'static,
    T: Future<Output = Result<R, HandlerError>> + Send + 'static,
{
    Arc::new(move |params, host| {
        let result = handler(params, host);
        Box::pin(async move { Ok(result.await?) })
    })
}

/// The payload of a point, or the answer that says what is wrong with it.
fn decoded<H: Hook>(payload: &RawJson) -> Result<H::Payload, RpcError> {
    H::decode_payload(payload)
        .map_err(|error| PayloadError::Decode(error.within("/payload")).into())
}

impl From<PayloadError> for RpcError {
    fn from(error: PayloadError) -> Self {
        let reason = match &error {
            PayloadError::Content(_) => ErrorReason::ContentRefExpired,
            PayloadError::Descriptor | PayloadError::Decode(_) => ErrorReason::InvalidParams,
        };
        Self::because(reason, error.to_string())
    }
}

/// Why a handler failed. Any error becomes one with `?`; an [`RpcError`] keeps its reason, everything else
/// is `internal` to the host.
pub struct HandlerError(RpcError);

impl HandlerError {
    /// A failure in words.
    pub fn new(text: impl Into<String>) -> Self {
        Self(RpcError::because(ErrorReason::Internal, text))
    }
}

impl<E: std::error::Error + 'static> From<E> for HandlerError {
    fn from(error: E) -> Self {
        let error: Box<dyn std::error::Error> = Box::new(error);
        match error.downcast::<RpcError>() {
            Ok(error) => Self(*error),
            Err(error) => Self::new(error.to_string()),
        }
    }
}

impl From<HandlerError> for RpcError {
    fn from(error: HandlerError) -> Self {
        error.0
    }
}

impl fmt::Debug for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
