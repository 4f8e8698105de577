//! One connection: calls out, handlers in, and its end. Knows no process and no role.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::Poll,
    time::Duration,
};

use bytes::Bytes;
use reasonix_extension_protocol::{
    ErrorReason, decode,
    methods::{Notification, Request},
};
use serde::Serialize;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{oneshot, watch},
    task::{JoinHandle, JoinSet},
    time::{sleep, timeout},
};

use crate::{
    error::{CallError, CloseReason, PeerFault, RpcError, SERVER_BUSY},
    frame::{FrameError, FrameReader, MAX_FRAME},
    inbox::{Inbox, Item},
    linger::Linger,
    message::{self, Message, RequestId, Unsound},
    outbox::{self, NotQueued, Outbox},
    service::{Context, Reply, Service},
};

/// Requests that are handled at once; what comes beyond is answered with [`SERVER_BUSY`].
pub const MAX_HANDLERS: usize = 64;
/// How long what was read before the end of a connection may take to be handled, if it is not answered.
const LAST_NOTIFICATIONS: Duration = Duration::from_secs(2);
/// How long a peer may take no byte while one waits for it. Then the connection ends, whatever the
/// deadlines of calls are.
pub const WRITE_STALL: Duration = Duration::from_secs(10);
/// Unsound frames that a connection survives: enough for a library that prints a banner, too few for two
/// peers that answer each other's errors.
pub const MAX_UNSOUND: usize = 16;
/// How long the end of a connection waits for what is still to be written.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// Hears of each unsound frame, on the task that reads: it must not wait.
pub type OnUnsound = Arc<dyn Fn(&Unsound) + Send + Sync>;

/// How a connection behaves. The defaults are those of the protocol.
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// Requests that are handled at once.
    pub max_handlers: usize,
    /// How long the peer may take no byte.
    pub write_stall: Duration,
    /// Whether the peer may send anything but answers from the start. Where not, [`Peer::open`] lets it,
    /// and what comes before ends the connection.
    pub open: bool,
    /// How long requests that were read may still take to be answered when the peer's output ends. Of a
    /// peer that is a process, the end of its output is its own end, and nothing is answered; of a shell
    /// that feeds a file, it is not.
    pub answer_after_end: Option<Duration>,
    /// Told of each unsound frame.
    pub on_unsound: Option<OnUnsound>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_handlers: MAX_HANDLERS,
            write_stall: WRITE_STALL,
            open: true,
            answer_after_end: None,
            on_unsound: None,
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("max_handlers", &self.max_handlers)
            .field("write_stall", &self.write_stall)
            .field("open", &self.open)
            .field("answer_after_end", &self.answer_after_end)
            .finish_non_exhaustive()
    }
}

/// Has the allocator keep what frames of a usual size are read into and written from.
///
/// The one of glibc gives memory at the end of its heap back to the system with each such frame, and takes
/// it again with the next, which costs as much as reading the frame. It stops once a larger block has come
/// and gone. Elsewhere this does nothing; no memory is touched.
fn keep_memory() {
    const LARGER: usize = 2 * 1_024 * 1_024;
    drop(std::hint::black_box(Vec::<u8>::with_capacity(LARGER)));
}

/// A connection that runs. It ends when this is dropped.
#[derive(Debug)]
pub struct Connection {
    peer: Peer,
    tasks: JoinHandle<()>,
}

impl Connection {
    /// Runs a connection over two streams. Must be called within a tokio runtime that has time.
    pub fn start<R, W, S>(input: R, output: W, service: S, options: Options) -> Self
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
        S: Service,
    {
        keep_memory();
        let peer = Peer(Arc::new(Shared {
            outbox: Outbox::default(),
            inbox: Inbox::default(),
            calls: Mutex::default(),
            closed: watch::Sender::new(None),
            handled: watch::Sender::new(false),
            open: AtomicBool::new(options.open),
            unsound: AtomicUsize::new(0),
        }));
        // Ends when the connection does: `Drop` closes it.
        let tasks = tokio::spawn(run(input, output, peer.clone(), service, options));
        Self { peer, tasks }
    }

    /// The other side. Any number of copies may be kept; they do not keep the connection alive.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Waits until the connection has ended, with everything written that still could be; gives the cause.
    pub async fn finished(mut self) -> CloseReason {
        let _ = (&mut self.tasks).await;
        self.peer.0.reason()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.peer.close();
    }
}

/// The other side of a connection: what may be asked of it and told it.
#[derive(Clone, Debug)]
pub struct Peer(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    outbox: Outbox,
    inbox: Inbox,
    calls: Mutex<Calls>,
    closed: watch::Sender<Option<CloseReason>>,
    /// Whether everything that came is handled, or given up.
    handled: watch::Sender<bool>,
    open: AtomicBool,
    unsound: AtomicUsize,
}

type Outcome = Result<Result<Bytes, RpcError>, String>;

#[derive(Debug, Default)]
struct Calls {
    last: RequestId,
    waiting: HashMap<RequestId, oneshot::Sender<Outcome>>,
    /// No call is begun any more.
    ended: bool,
}

impl Peer {
    /// Asks the peer and waits for its answer.
    ///
    /// Dropping the future gives the call up: an answer that comes later is dropped, and a question that
    /// has not begun to be written is not written.
    ///
    /// # Errors
    ///
    /// When the peer refuses, does not answer `within` the time or answers what the method does not
    /// return; when the connection ends; when the contract forbids the params.
    pub async fn call<M: Request>(
        &self,
        params: &M::Params,
        within: Duration,
    ) -> Result<M::Result, CallError> {
        let (id, answer) = self.0.begin()?;
        let _waiting = Waiting {
            shared: &self.0,
            id,
        };
        let frame = frame(|frame| {
            frame.extend_from_slice(b",\"id\":");
            frame.extend_from_slice(id.to_string().as_bytes());
            method_and_params(frame, M::NAME.as_str(), params)
        })?;
        let asked = async {
            let _skip = self.0.outbox.push_guarded(frame).await.ok()?;
            answer.await.ok()
        };
        let result = match timeout(within, asked).await {
            Err(_) => return Err(CallError::TimedOut(within)),
            // It could not be asked, or nobody answers any more.
            Ok(None) => return Err(self.0.reason().into()),
            Ok(Some(Err(why))) => return Err(CallError::Malformed(PeerFault::Envelope(why))),
            Ok(Some(Ok(Err(error)))) => return Err(CallError::Refused(error)),
            Ok(Some(Ok(Ok(result)))) => result,
        };
        decode(&result).map_err(|error| CallError::Malformed(PeerFault::Message(error)))
    }

    /// Tells the peer something, as soon as there is room for it. It holds back whoever sends faster than
    /// the peer reads.
    ///
    /// # Errors
    ///
    /// When the connection has ended, or the contract forbids the params.
    pub async fn notify<M: Notification>(&self, params: &M::Params) -> Result<(), CallError> {
        let frame = frame(|frame| method_and_params(frame, M::NAME.as_str(), params))?;
        self.0
            .outbox
            .push(frame)
            .await
            .map_err(|_| self.0.reason().into())
    }

    /// Whether [`try_notify`](Self::try_notify) has room now: what would be dropped need not be made.
    pub fn has_room(&self) -> bool {
        self.0.outbox.has_best_effort_room()
    }

    /// Tells the peer something if there is room for it now, in a lane of its own of
    /// [`MAX_BEST_EFFORT`](crate::MAX_BEST_EFFORT) frames; false if not.
    ///
    /// # Errors
    ///
    /// As [`notify`](Self::notify).
    pub fn try_notify<M: Notification>(&self, params: &M::Params) -> Result<bool, CallError> {
        let frame = frame(|frame| method_and_params(frame, M::NAME.as_str(), params))?;
        match self.0.outbox.push_best_effort(frame) {
            Ok(()) => Ok(true),
            Err(NotQueued::Full) => Ok(false),
            Err(NotQueued::Closed) => Err(self.0.reason().into()),
        }
    }

    /// Lets the peer send requests and notifications. Does nothing where it might from the start.
    pub fn open(&self) {
        self.0.open.store(true, Ordering::Release);
    }

    /// Waits until what was sent before is written, or the connection has ended.
    pub async fn flushed(&self) {
        self.0.outbox.flushed().await;
    }

    /// Sends nothing any more: what waits is written, then this side's output ends. Answers still come.
    pub fn end_output(&self) {
        self.0.outbox.close();
    }

    /// Ends the connection.
    pub fn close(&self) {
        self.0.close(CloseReason::Local);
    }

    /// Waits for the end of the connection; gives the cause.
    pub async fn closed(&self) -> CloseReason {
        let mut closed = self.0.closed.subscribe();
        // The sender lives as long as `self`.
        let _ = closed.wait_for(Option::is_some).await;
        self.0.reason()
    }

    /// Waits until the connection has ended and what the peer said before is handled.
    pub async fn handled(&self) {
        let mut handled = self.0.handled.subscribe();
        // The sender lives as long as `self`.
        let _ = handled.wait_for(|handled| *handled).await;
    }

    /// Why the connection has ended, if it has.
    pub fn close_reason(&self) -> Option<CloseReason> {
        self.0.closed.borrow().clone()
    }
}

/// Forgets a call when it is over, however it ends.
struct Waiting<'a> {
    shared: &'a Shared,
    id: RequestId,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut calls = self.shared.calls();
        calls.waiting.remove(&self.id);
        // While they are locked: of two counts, the later one must stay.
        self.shared.inbox.count_calls(calls.waiting.len());
    }
}

impl Shared {
    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self) -> Result<(RequestId, oneshot::Receiver<Outcome>), CallError> {
        let (answer, answered) = oneshot::channel();
        let mut calls = self.calls();
        if calls.ended {
            drop(calls);
            return Err(self.reason().into());
        }
        calls.last += 1;
        let id = calls.last;
        calls.waiting.insert(id, answer);
        self.inbox.count_calls(calls.waiting.len());
        Ok((id, answered))
    }

    /// Gives a call its outcome; false if no call waits for it.
    fn complete(&self, id: RequestId, outcome: Outcome) -> bool {
        let waiting = self.calls().waiting.remove(&id);
        waiting.is_some_and(|waiting| waiting.send(outcome).is_ok())
    }

    fn reason(&self) -> CloseReason {
        self.closed.borrow().clone().unwrap_or(CloseReason::Local)
    }

    /// Ends the connection. The first cause stays.
    fn close(&self, reason: CloseReason) {
        self.closed.send_if_modified(|closed| {
            let first = closed.is_none();
            if first {
                *closed = Some(reason);
            }
            first
        });
        let mut calls = self.calls();
        calls.ended = true;
        // Dropping the senders wakes whoever waits; they ask for the reason.
        let waiting = std::mem::take(&mut calls.waiting);
        drop(calls);
        drop(waiting);
        self.inbox.end();
    }
}

/// Runs the parts of a connection until it ends.
async fn run<R, W, S>(input: R, output: W, peer: Peer, service: S, options: Options)
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
    S: Service,
{
    let shared = peer.0.clone();
    let stall = options.write_stall;
    // Ends when the outbox is closed and empty, or the peer takes nothing. It is closed below.
    let mut writer = tokio::spawn({
        let shared = shared.clone();
        async move {
            if let Err(reason) = outbox::write_loop(&shared.outbox, output, stall).await {
                shared.close(reason);
            }
        }
    });
    // Ends when the connection is closed.
    let reader = tokio::spawn(read_loop(input, shared.clone(), options.clone()));
    let keep_answering = dispatch(&peer, service, &options).await;
    shared.handled.send_replace(true);
    let _ = reader.await;
    shared.outbox.close();
    if keep_answering {
        // Bounded by the stall of each write.
        let _ = (&mut writer).await;
    } else if timeout(LAST_WORDS, &mut writer).await.is_err() {
        writer.abort();
    }
}

async fn read_loop<R: AsyncRead + Unpin>(input: R, shared: Arc<Shared>, options: Options) {
    let mut frames = FrameReader::new(input);
    let mut linger = Linger::new();
    // Bytes of the stream that are counted with what waits. What stands between two messages that wait
    // shares their memory, so it counts with the second.
    let mut counted = 0;
    let mut closed = shared.closed.subscribe();
    let reason = loop {
        let frame = {
            let mut ended = pin!(closed.wait_for(Option::is_some));
            let mut next = pin!(frames.next());
            let frame = std::future::poll_fn(|context| {
                // What is at hand comes first: looking for the end costs a lock. A peer that never pauses
                // does not hide it, for tokio makes every stream pause.
                if let Poll::Ready(frame) = next.as_mut().poll(context) {
                    linger.came();
                    return Poll::Ready(Some(frame));
                }
                linger.nothing(context);
                ended.as_mut().poll(context).map(|_| None)
            });
            frame.await
        };
        match frame {
            None => return,
            Some(Ok(None)) => break CloseReason::PeerClosed,
            Some(Err(FrameError::TooLarge)) => break CloseReason::FrameTooLarge,
            Some(Err(FrameError::Io(error))) => {
                break CloseReason::Io(format!("read from the peer: {error}"));
            }
            Some(Ok(Some(frame))) => {
                let weight = usize::try_from(frames.consumed() - counted).unwrap_or(usize::MAX);
                let message = message::read(&frame);
                drop(frame);
                match received(message, weight, &shared, &options).await {
                    Ok(queued) if queued => counted = frames.consumed(),
                    Ok(_) => {}
                    Err(reason) => break reason,
                }
            }
        }
    };
    shared.close(reason);
}

/// Does with a message what the table of the envelope says. Gives whether it waits to be handled, or why the
/// connection ends.
async fn received(
    message: Message,
    weight: usize,
    shared: &Shared,
    options: &Options,
) -> Result<bool, CloseReason> {
    let open = shared.open.load(Ordering::Acquire);
    match message {
        Message::Response { id, outcome } => {
            // One that nobody waits for any more is late, not wrong.
            shared.complete(id, Ok(outcome));
        }
        Message::Unaddressed => {}
        Message::Request { id, call } if open => {
            shared.inbox.push(Item::Request(id, call), weight).await;
            return Ok(true);
        }
        Message::Notification(call) if open => {
            shared.inbox.push(Item::Notification(call), weight).await;
            return Ok(true);
        }
        Message::Request { id, call } => {
            let text = format!(
                "`{}` came before the connection was open",
                message::excerpt(call.method())
            );
            let error = RpcError::because(ErrorReason::ProtocolError, text);
            shared.outbox.push_at_once(error_frame(Some(id), &error));
            return Err(CloseReason::TooEarly(call.method().to_owned().into()));
        }
        Message::Notification(call) => {
            return Err(CloseReason::TooEarly(call.method().to_owned().into()));
        }
        Message::Unsound(unsound) => {
            if let Some(tell) = &options.on_unsound {
                tell(&unsound);
            }
            let Unsound {
                why,
                line,
                answer,
                call,
            } = unsound;
            let failed = call.is_some_and(|id| shared.complete(id, Err(why.clone())));
            if failed {
                return Ok(false);
            }
            if !open {
                return Err(CloseReason::NotAFrame(line));
            }
            if shared.unsound.fetch_add(1, Ordering::Relaxed) >= MAX_UNSOUND {
                return Err(CloseReason::TooManyUnsound(why));
            }
            if let Some((id, error)) = answer {
                shared.outbox.push_at_once(error_frame(id, &error));
            }
        }
    }
    Ok(false)
}

/// Handles what comes in, in order; true if everything that was read was handled to its end.
async fn dispatch<S: Service>(peer: &Peer, service: S, options: &Options) -> bool {
    let shared = &peer.0;
    let mut closed = shared.closed.subscribe();
    let mut handlers = JoinSet::new();
    let answers = |reason: Option<&CloseReason>| {
        let after_end = options.answer_after_end;
        after_end.filter(|_| reason.is_none_or(|reason| *reason == CloseReason::PeerClosed))
    };
    let work = async {
        while let Some(item) = shared.inbox.pop().await {
            match item {
                // Nobody reads the answer.
                Item::Request(..)
                    if shared
                        .closed
                        .borrow()
                        .as_ref()
                        .is_some_and(|reason| answers(Some(reason)).is_none()) => {}
                Item::Notification(incoming) => {
                    // A panic costs the notification and nothing else.
                    let handled = catch_unwind(AssertUnwindSafe(|| {
                        service.notification(incoming, peer.clone())
                    }));
                    if let Ok(handled) = handled {
                        let _ = unwound(handled).await;
                    }
                }
                Item::Request(id, incoming) => {
                    while handlers.try_join_next().is_some() {}
                    if handlers.len() >= options.max_handlers {
                        let busy = RpcError::plain(SERVER_BUSY, "server busy");
                        let _ = shared
                            .outbox
                            .push_answer(error_frame(Some(id), &busy))
                            .await;
                        continue;
                    }
                    let context = Context {
                        peer: peer.clone(),
                        id,
                    };
                    let handled =
                        catch_unwind(AssertUnwindSafe(|| service.request(incoming, context)));
                    let peer = peer.clone();
                    // Ends with its answer, or with this set.
                    handlers.spawn(async move {
                        let mut outcome = match handled {
                            Ok(handled) => unwound(handled).await,
                            Err(_) => None,
                        };
                        let then = match &mut outcome {
                            Some(Ok(reply)) => reply.then.take(),
                            Some(Err(_)) | None => None,
                        };
                        let queued = peer.0.outbox.push_answer(answer_frame(id, outcome)).await;
                        if let (Ok(()), Some(then)) = (queued, then) {
                            then();
                        }
                    });
                }
            }
        }
        let reason = shared.reason();
        if answers(Some(&reason)).is_some() {
            while handlers.join_next().await.is_some() {}
        }
    };
    let over = async {
        let reason = match closed.wait_for(Option::is_some).await {
            Ok(reason) => reason.clone(),
            Err(_) => None,
        };
        if reason != Some(CloseReason::Local) {
            // What the peer said before its end is heard.
            sleep(answers(reason.as_ref()).unwrap_or(LAST_NOTIFICATIONS)).await;
        }
    };
    tokio::select! {
        biased;
        () = over => false,
        () = work => answers(Some(&shared.reason())).is_some(),
    }
}

/// Awaits a future of somebody else's; `None` if it panics.
pub async fn unwound<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    std::future::poll_fn(|context| {
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(Poll::Ready(value)) => Poll::Ready(Some(value)),
            Ok(Poll::Pending) => Poll::Pending,
            // It is not polled again.
            Err(_) => Poll::Ready(None),
        }
    })
    .await
}

/// Bytes that a frame begins with room for: most fit.
const FRAME_START: usize = 512;

/// A frame: the version, and what `fill` writes behind it.
fn frame(
    fill: impl FnOnce(&mut Vec<u8>) -> Result<(), serde_json::Error>,
) -> Result<Vec<u8>, CallError> {
    let mut frame = Vec::with_capacity(FRAME_START);
    frame.extend_from_slice(b"{\"jsonrpc\":\"2.0\"");
    fill(&mut frame).map_err(|error| CallError::Encode(error.to_string()))?;
    frame.extend_from_slice(b"}\n");
    if frame.len() > MAX_FRAME {
        return Err(CallError::TooLarge(frame.len()));
    }
    Ok(frame)
}

fn method_and_params<T: Serialize>(
    frame: &mut Vec<u8>,
    method: &str,
    params: &T,
) -> Result<(), serde_json::Error> {
    frame.extend_from_slice(b",\"method\":");
    serde_json::to_writer(&mut *frame, method)?;
    frame.extend_from_slice(b",\"params\":");
    serde_json::to_writer(frame, params)
}

fn answer_frame(id: RequestId, outcome: Option<Result<Reply, RpcError>>) -> Vec<u8> {
    match outcome {
        Some(Ok(Reply {
            outcome: Ok(result),
            ..
        })) => {
            let mut frame = Vec::with_capacity(result.len() + FRAME_START);
            frame.extend_from_slice(
                format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":").as_bytes(),
            );
            frame.extend_from_slice(&result);
            frame.extend_from_slice(b"}\n");
            if frame.len() <= MAX_FRAME {
                return frame;
            }
            let text = "response exceeds frame size limit";
            error_frame(Some(id), &RpcError::because(ErrorReason::Internal, text))
        }
        Some(
            Err(error)
            | Ok(Reply {
                outcome: Err(error),
                ..
            }),
        ) => error_frame(Some(id), &error),
        None => error_frame(
            Some(id),
            &RpcError::because(ErrorReason::Internal, "the handler panicked"),
        ),
    }
}

/// An error as it stands in an answer.
#[derive(Serialize)]
struct ErrorAnswer<'a> {
    jsonrpc: &'static str,
    id: Option<RequestId>,
    error: ErrorObject<'a>,
}

#[derive(Serialize)]
struct ErrorObject<'a> {
    code: i64,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a reasonix_extension_protocol::RawJson>,
}

fn error_frame(id: Option<RequestId>, error: &RpcError) -> Vec<u8> {
    let answer = |message, data| ErrorAnswer {
        jsonrpc: "2.0",
        id,
        error: ErrorObject {
            code: error.code,
            message,
            data,
        },
    };
    let encode = |answer: &ErrorAnswer<'_>| {
        // Numbers, strings and raw JSON: nothing that cannot be written.
        let mut frame = serde_json::to_vec(answer).unwrap_or_default();
        frame.push(b'\n');
        frame
    };
    let frame = encode(&answer(error.message.expose(), error.data.as_ref()));
    if frame.len() <= MAX_FRAME {
        return frame;
    }
    encode(&answer("the error exceeds frame size limit", None))
}

#[cfg(test)]
mod tests;
