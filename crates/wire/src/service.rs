//! What handles the requests and notifications of a peer: one trait, and a table of typed handlers. Knows
//! no stream.

use std::{collections::HashMap, fmt, pin::Pin, sync::Arc};

use reasonix_extension_protocol::{
    ErrorReason, decode_params, encode,
    methods::{Method, MethodName, Notification, Request},
};

use crate::{
    error::RpcError,
    message::{Incoming, RequestId},
    peer::Peer,
};

/// A future on the heap.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Handles what a peer sends.
///
/// Both methods are called in the order of the wire, one at a time. The future of a notification is
/// awaited before the next call, so it holds back whatever comes behind it; that of a request runs beside
/// others. A panic in the future of a request is answered with `internal`.
pub trait Service: Send + Sync + 'static {
    /// Handles a request.
    fn request(&self, request: Incoming, context: Context) -> BoxFuture<Result<Reply, RpcError>>;

    /// Handles a notification. There is nobody to tell of a fault.
    fn notification(&self, notification: Incoming, peer: Peer) -> BoxFuture<()>;
}

/// What a handler of a request may use.
#[derive(Clone, Debug)]
pub struct Context {
    pub(crate) peer: Peer,
    pub(crate) id: RequestId,
}

impl Context {
    /// The other side of the connection.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Number of the request.
    pub fn id(&self) -> RequestId {
        self.id
    }
}

/// An answer: a result that is encoded, or a refusal after which something is to be done.
pub struct Reply {
    pub(crate) outcome: Result<Vec<u8>, RpcError>,
    pub(crate) then: Option<Box<dyn FnOnce() + Send>>,
}

impl Reply {
    /// Encodes the result of a method.
    ///
    /// # Errors
    ///
    /// `internal`, when the contract forbids the value: the fault is on this side.
    pub fn of<M: Request>(result: &M::Result) -> Result<Self, RpcError> {
        let result = encode(result).map_err(|error| {
            let text = format!("encode the result of `{}`: {error}", M::NAME);
            RpcError::because(ErrorReason::Internal, text)
        })?;
        Ok(Self {
            outcome: Ok(result),
            then: None,
        })
    }

    /// An error, for a handler that does something once it is queued. Others return it as their error.
    pub fn refusal(error: RpcError) -> Self {
        Self {
            outcome: Err(error),
            then: None,
        }
    }

    /// Does something once the answer is queued, so that whatever is sent then stands behind it.
    #[must_use]
    pub fn then(mut self, act: impl FnOnce() + Send + 'static) -> Self {
        self.then = Some(Box::new(act));
        self
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            Ok(result) => write!(f, "Reply({} bytes)", result.len()),
            Err(error) => write!(f, "Reply({error})"),
        }
    }
}

impl Incoming {
    /// The params, decoded.
    ///
    /// # Errors
    ///
    /// `invalid_params`, with the place and what was expected there.
    pub fn decode<M: Method>(&self) -> Result<M::Params, RpcError> {
        decode_params(self.params()).map_err(|error| {
            RpcError::because(
                ErrorReason::InvalidParams,
                format!("params of `{}`: {error}", M::NAME),
            )
        })
    }
}

type RequestHandler =
    Box<dyn Fn(Incoming, Context) -> BoxFuture<Result<Reply, RpcError>> + Send + Sync>;
type NotificationHandler = Box<dyn Fn(Incoming, Peer) -> BoxFuture<()> + Send + Sync>;

/// A handler for each method. What has none is answered with `unknown_method`.
#[derive(Default)]
pub struct Router {
    requests: HashMap<MethodName, RequestHandler>,
    notifications: HashMap<MethodName, NotificationHandler>,
    unreadable: Option<Arc<Unreadable>>,
}

type Unreadable = dyn Fn(&Incoming, &RpcError) + Send + Sync;

impl Router {
    /// A router without handlers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Handles the requests of a method. The last handler of a method stays.
    #[must_use]
    pub fn on_request<M, F, T>(mut self, handler: F) -> Self
    where
        M: Request,
        F: Fn(M::Params, Context) -> T + Send + Sync + 'static,
        T: Future<Output = Result<M::Result, RpcError>> + Send + 'static,
    {
        let handler = move |request: Incoming, context| -> BoxFuture<_> {
            match request.decode::<M>() {
                Ok(params) => {
                    let result = handler(params, context);
                    Box::pin(async move { Reply::of::<M>(&result.await?) })
                }
                Err(error) => Box::pin(std::future::ready(Err(error))),
            }
        };
        self.requests.insert(M::NAME, Box::new(handler));
        self
    }

    /// Hears of notifications whose params are unsound, with what is wrong; nobody else does. For handlers that
    /// are added after this.
    #[must_use]
    pub fn on_unreadable(
        mut self,
        hear: impl Fn(&Incoming, &RpcError) + Send + Sync + 'static,
    ) -> Self {
        self.unreadable = Some(Arc::new(hear));
        self
    }

    /// Handles the notifications of a method; those whose params are unsound are dropped. The last handler
    /// of a method stays.
    #[must_use]
    pub fn on_notification<M, F, T>(mut self, handler: F) -> Self
    where
        M: Notification,
        F: Fn(M::Params, Peer) -> T + Send + Sync + 'static,
        T: Future<Output = ()> + Send + 'static,
    {
        let unreadable = self.unreadable.clone();
        let handler = move |notification: Incoming, peer| -> BoxFuture<()> {
            match notification.decode::<M>() {
                Ok(params) => Box::pin(handler(params, peer)),
                Err(error) => {
                    if let Some(hear) = &unreadable {
                        hear(&notification, &error);
                    }
                    Box::pin(std::future::ready(()))
                }
            }
        };
        self.notifications.insert(M::NAME, Box::new(handler));
        self
    }
}

impl Service for Router {
    fn request(&self, request: Incoming, context: Context) -> BoxFuture<Result<Reply, RpcError>> {
        let handler = request.name().and_then(|name| self.requests.get(&name));
        match handler {
            Some(handler) => handler(request, context),
            None => Box::pin(std::future::ready(Err(RpcError::new(
                ErrorReason::UnknownMethod,
            )))),
        }
    }

    fn notification(&self, notification: Incoming, peer: Peer) -> BoxFuture<()> {
        let handler = notification
            .name()
            .and_then(|name| self.notifications.get(&name));
        match handler {
            Some(handler) => handler(notification, peer),
            None => Box::pin(std::future::ready(())),
        }
    }
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names: Vec<_> = self
            .requests
            .keys()
            .chain(self.notifications.keys())
            .collect();
        names.sort();
        f.debug_tuple("Router").field(&names).finish()
    }
}
