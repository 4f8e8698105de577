//! Streams that are open: what comes for each, what waits to be taken, and how each ends.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use reasonix_extension_protocol::{
    ErrorReason,
    types::{
        ChunkType, ProviderChunk, ProviderErrorCode, ProviderToolCall, ProviderUsage,
        StreamChunkParams, StreamEndParams, StreamId,
    },
};
use reasonix_extension_wire::BoxFuture;
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until, timeout},
};

use super::{models::ModelSource, reorder::Reorder};
use crate::redact;

/// How long a chunk may be missing while one behind it has come: the wire keeps the order, so it will hardly
/// come at all.
pub const GAP: Duration = Duration::from_secs(1);
/// How long a stream may say nothing, if the host sets no other time: models think for long.
pub const IDLE: Duration = Duration::from_mins(3);
/// Bytes of a stream that wait to be taken before the sidecar is held back.
pub const MAX_WAITING: usize = 16 * 1_024 * 1_024;
/// How long a consumer may take nothing while the sidecar is held back for it.
const STUCK: Duration = Duration::from_secs(1);
/// What a chunk costs beside its texts, about.
const ENTRY: usize = 320;

/// The streams of all sidecars. Copies are the same.
#[derive(Clone, Debug, Default)]
pub struct Streams(Arc<Mutex<HashMap<Key, Arc<Stream>>>>);

/// A plugin and the name of a stream: one plugin cannot speak for another.
type Key = (String, String);

/// One stream that is open.
struct Stream {
    state: Mutex<State>,
    /// Told when there is something to take.
    ready: Notify,
    /// Told when something was taken.
    taken: Notify,
}

struct State {
    order: Reorder,
    waiting: VecDeque<ProviderChunk>,
    bytes: usize,
    finish: Option<Result<(), StreamFailure>>,
    /// When the last chunk came.
    heard: Instant,
    /// Since when a chunk is missing.
    gap: Option<Instant>,
    /// Whether the model has said that it is done.
    done: bool,
}

/// One thing that a model says.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ModelEvent {
    /// A piece of the answer.
    Text(String),
    /// A piece of the reasoning, with the model's signature where it signs it.
    Reasoning {
        /// The piece.
        text: String,
        /// The signature.
        signature: Option<String>,
    },
    /// A tool call begins, of which the arguments are still to come.
    ToolCallStart(ProviderToolCall),
    /// How many characters the arguments of the tool call have so far.
    ToolCallArguments(u64),
    /// A tool call, whole.
    ToolCall(ProviderToolCall),
    /// How many tokens it took.
    Usage(ProviderUsage),
    /// The model has said all. The stream still has to end.
    Done,
}

/// Why a stream ended other than in order. Texts are free of credentials and control characters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StreamFailure {
    /// The provider failed.
    #[error("`{plugin}` failed: {message}")]
    Failed {
        /// The plugin.
        plugin: String,
        /// What it said.
        message: String,
    },
    /// The stream was interrupted: what came is not the whole answer.
    #[error("the stream of `{plugin}` was interrupted: {why}")]
    Interrupted {
        /// The plugin.
        plugin: String,
        /// Why.
        why: String,
    },
}

impl StreamFailure {
    /// The reason of the contract.
    pub fn reason(&self) -> ErrorReason {
        match self {
            Self::Failed { .. } => ErrorReason::ProviderFailed,
            Self::Interrupted { .. } => ErrorReason::ProviderInterrupted,
        }
    }

    pub(super) fn interrupted(plugin: &str, why: impl Into<String>) -> Self {
        Self::Interrupted {
            plugin: plugin.to_owned(),
            why: why.into(),
        }
    }
}

impl Streams {
    /// No stream yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Arc<Stream>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, plugin: &str, stream: &str) -> Option<Arc<Stream>> {
        let key = (plugin.to_owned(), stream.to_owned());
        self.lock().get(&key).cloned()
    }

    /// Streams that are open.
    pub fn open(&self) -> usize {
        self.lock().len()
    }

    /// Registers a stream before it is opened, so that nothing is lost which comes with the answer.
    pub(super) fn register(
        &self,
        plugin: &str,
        id: StreamId,
        source: Arc<dyn ModelSource>,
        idle: Duration,
    ) -> ModelStream {
        let stream = Arc::new(Stream {
            state: Mutex::new(State {
                order: Reorder::new(),
                waiting: VecDeque::new(),
                bytes: 0,
                finish: None,
                heard: Instant::now(),
                gap: None,
                done: false,
            }),
            ready: Notify::new(),
            taken: Notify::new(),
        });
        let key = (plugin.to_owned(), id.as_str().to_owned());
        self.lock().insert(key, stream.clone());
        ModelStream {
            plugin: plugin.to_owned(),
            id,
            stream,
            streams: self.clone(),
            ended: source.ended(),
            source,
            idle,
            over: false,
            cancel: true,
        }
    }

    /// Takes a chunk; [`Services::chunk`](crate::Services::chunk) calls it. One of a stream that is not open
    /// is dropped: it was cancelled, or has ended.
    pub async fn chunk(&self, plugin: &str, params: StreamChunkParams) {
        let Some(stream) = self.find(plugin, params.stream_id.as_str()) else {
            return;
        };
        if stream.take_in(plugin, params) {
            stream.hold_back(plugin).await;
        }
    }

    /// Takes an end; [`Services::stream_end`](crate::Services::stream_end) calls it.
    pub fn end(&self, plugin: &str, params: StreamEndParams) {
        if let Some(stream) = self.find(plugin, params.stream_id.as_str()) {
            stream.end(plugin, params);
        }
    }

    /// Fails a stream of which something could not be read;
    /// [`Services::unreadable`](crate::Services::unreadable) calls it.
    pub fn unreadable(&self, plugin: &str, stream: &str, why: &str) {
        if let Some(stream) = self.find(plugin, stream) {
            stream.fail(plugin, format!("a message of it cannot be read: {why}"));
        }
    }
}

impl Stream {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether so much waits that the sidecar is to be held back.
    fn take_in(&self, plugin: &str, params: StreamChunkParams) -> bool {
        let mut state = self.lock();
        if state.finish.is_some() {
            return false;
        }
        state.heard = Instant::now();
        match state.order.chunk(params.seq, params.chunk) {
            Ok(run) => {
                for chunk in run {
                    state.bytes += size(&chunk);
                    state.waiting.push_back(chunk);
                }
                state.settle(plugin);
            }
            Err(why) => state.finish = Some(Err(StreamFailure::interrupted(plugin, why))),
        }
        let full = state.bytes > MAX_WAITING;
        drop(state);
        self.ready.notify_one();
        full
    }

    /// Waits until less is waiting, for as long as the consumer goes on.
    async fn hold_back(&self, plugin: &str) {
        loop {
            let taken = self.taken.notified();
            {
                let state = self.lock();
                if state.bytes <= MAX_WAITING || state.finish.is_some() {
                    return;
                }
            }
            if timeout(STUCK, taken).await.is_err() {
                self.fail(
                    plugin,
                    format!("its consumer left {MAX_WAITING} bytes of it untaken"),
                );
                return;
            }
        }
    }

    fn end(&self, plugin: &str, params: StreamEndParams) {
        let mut state = self.lock();
        if state.finish.is_none() {
            state.heard = Instant::now();
            match state.order.end(params) {
                Ok(()) => state.settle(plugin),
                Err(why) => state.finish = Some(Err(StreamFailure::interrupted(plugin, why))),
            }
        }
        drop(state);
        self.ready.notify_one();
    }

    fn fail(&self, plugin: &str, why: impl Into<String>) {
        let mut state = self.lock();
        if state.finish.is_none() {
            state.finish = Some(Err(StreamFailure::interrupted(plugin, why)));
        }
        drop(state);
        self.ready.notify_one();
        self.taken.notify_one();
    }
}

impl State {
    /// Sees whether the stream is over, or whether something is missing.
    fn settle(&mut self, plugin: &str) {
        if let Some(end) = self.order.ended() {
            let message = end.error.as_deref().map(redact::shown);
            self.finish = Some(match (end.interrupted, message) {
                (Some(true), message) => Err(StreamFailure::interrupted(
                    plugin,
                    message.unwrap_or_else(|| "the provider stopped".to_owned()),
                )),
                (_, Some(message)) => Err(StreamFailure::Failed {
                    plugin: plugin.to_owned(),
                    message,
                }),
                (_, None) => Ok(()),
            });
        }
        self.gap = match self.order.gap() {
            Some(_) => self.gap.or_else(|| Some(Instant::now())),
            None => None,
        };
    }
}

/// Bytes that a chunk holds, about.
fn size(chunk: &ProviderChunk) -> usize {
    let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let call = chunk.tool_call.as_ref();
    let call = call.map_or(0, |call| {
        call.arguments.len() + text(&call.thought_signature)
    });
    ENTRY + text(&chunk.text) + text(&chunk.signature) + call
}

/// The answer of a model as it comes. Dropped before its end, it is cancelled.
pub struct ModelStream {
    plugin: String,
    id: StreamId,
    stream: Arc<Stream>,
    streams: Streams,
    source: Arc<dyn ModelSource>,
    /// The end of the sidecar. Not asked again once it has come: the stream is over then.
    ended: BoxFuture<()>,
    idle: Duration,
    /// Whether its end was given.
    over: bool,
    /// Whether the sidecar is to be told when this is dropped.
    cancel: bool,
}

impl ModelStream {
    /// The plugin that serves it.
    pub fn plugin(&self) -> &str {
        &self.plugin
    }

    /// What the model says next; `None` once it has ended in order. A failure comes once, behind all that
    /// came before it.
    ///
    /// # Errors
    ///
    /// When the stream ended other than in order.
    pub async fn next(&mut self) -> Result<Option<ModelEvent>, StreamFailure> {
        loop {
            if self.over {
                return Ok(None);
            }
            // A notice that comes between the look and the wait is kept.
            let (chunk, until) = {
                let mut state = self.stream.lock();
                if let Some(chunk) = state.waiting.pop_front() {
                    state.bytes -= size(&chunk);
                    let done = state.done;
                    let terminal = matches!(chunk.type_, ChunkType::Done | ChunkType::Error);
                    state.done |= terminal;
                    drop(state);
                    self.stream.taken.notify_one();
                    // A model that is done says nothing more but what it took.
                    if done && chunk.type_ != ChunkType::Usage {
                        continue;
                    }
                    (Some(chunk), None)
                } else if let Some(finish) = state.finish.clone() {
                    drop(state);
                    return self.finish(finish);
                } else {
                    let idle = state.heard + self.idle;
                    let gap = state.gap.map(|since| since + GAP);
                    (None, Some(gap.map_or(idle, |gap| gap.min(idle))))
                }
            };
            if let Some(chunk) = chunk {
                return self.event(chunk).map(Some);
            }
            let until = until.unwrap_or_else(Instant::now);
            let ready = self.stream.ready.notified();
            tokio::select! {
                biased;
                () = ready => {}
                () = &mut self.ended => {
                    let why = "its sidecar has ended before the stream did";
                    self.stream.fail(&self.plugin, why);
                }
                () = sleep_until(until) => self.out_of_time(),
            }
        }
    }

    /// Fails the stream if its time is really up: something may have come in between.
    fn out_of_time(&self) {
        let mut state = self.stream.lock();
        if state.finish.is_some() || !state.waiting.is_empty() {
            return;
        }
        let now = Instant::now();
        let why = match (state.gap, state.order.gap()) {
            (Some(since), Some((missing, last))) if now >= since + GAP => match last {
                Some(last) => format!("chunk {missing} of {last} is missing"),
                None => format!("chunk {missing} is missing"),
            },
            _ if now >= state.heard + self.idle => {
                format!("it said nothing for {} s", self.idle.as_secs())
            }
            _ => return,
        };
        state.finish = Some(Err(StreamFailure::interrupted(&self.plugin, why)));
    }

    fn finish(
        &mut self,
        finish: Result<(), StreamFailure>,
    ) -> Result<Option<ModelEvent>, StreamFailure> {
        self.over = true;
        // The sidecar has ended it, or has ended itself, or must be told to stop.
        self.cancel &= finish.is_err() && self.stream.lock().order.ended().is_none();
        self.close();
        finish.map(|()| None)
    }

    /// A chunk as an event, or the failure that it is.
    fn event(&mut self, chunk: ProviderChunk) -> Result<ModelEvent, StreamFailure> {
        let kind = chunk.type_;
        let text = chunk.text.unwrap_or_default();
        let event = match kind {
            ChunkType::Text => Some(ModelEvent::Text(text)),
            ChunkType::Reasoning => Some(ModelEvent::Reasoning {
                text,
                signature: chunk.signature,
            }),
            ChunkType::ToolCallStart => chunk.tool_call.map(ModelEvent::ToolCallStart),
            ChunkType::ToolCallArgsDelta => chunk.arg_chars.map(ModelEvent::ToolCallArguments),
            ChunkType::ToolCall => chunk.tool_call.map(ModelEvent::ToolCall),
            ChunkType::Usage => chunk.usage.map(ModelEvent::Usage),
            ChunkType::Done => Some(ModelEvent::Done),
            ChunkType::Error => {
                let failure = match chunk.error {
                    Some(error) if error.code == ProviderErrorCode::ProviderFailed => {
                        StreamFailure::Failed {
                            plugin: self.plugin.clone(),
                            message: redact::shown(error.message.as_str()),
                        }
                    }
                    Some(error) => {
                        let why = redact::shown(error.message.as_str());
                        StreamFailure::interrupted(&self.plugin, why)
                    }
                    None => StreamFailure::interrupted(&self.plugin, "the provider failed"),
                };
                return self.fail(failure);
            }
            // What later releases may add.
            _ => return self.next_kind(kind),
        };
        match event {
            Some(event) => Ok(event),
            None => self.fail(StreamFailure::interrupted(
                &self.plugin,
                format!("a chunk of the type `{kind}` lacks what the type is for"),
            )),
        }
    }

    fn next_kind(&mut self, kind: ChunkType) -> Result<ModelEvent, StreamFailure> {
        self.fail(StreamFailure::interrupted(
            &self.plugin,
            format!("this host does not know chunks of the type `{kind}`"),
        ))
    }

    fn fail(&mut self, failure: StreamFailure) -> Result<ModelEvent, StreamFailure> {
        self.over = true;
        self.close();
        Err(failure)
    }

    /// Lets go of it, and tells the sidecar to stop if it still goes on.
    fn close(&mut self) {
        let key = (self.plugin.clone(), self.id.as_str().to_owned());
        self.streams.lock().remove(&key);
        {
            let mut state = self.stream.lock();
            state.waiting.clear();
            state.bytes = 0;
            let gone = StreamFailure::interrupted(&self.plugin, "it was cancelled");
            state.finish.get_or_insert(Err(gone));
        }
        // Whoever holds the sidecar back for it is done.
        self.stream.taken.notify_one();
        if std::mem::take(&mut self.cancel) {
            let (source, id) = (self.source.clone(), self.id.clone());
            // Without a runtime the process is at its end, and with it the sidecar.
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                // Ends with the answer, or with the time of the call.
                runtime.spawn(async move { source.cancel(id).await });
            }
        }
    }
}

impl Drop for ModelStream {
    fn drop(&mut self) {
        if !self.over {
            self.close();
        }
    }
}

impl fmt::Debug for ModelStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelStream")
            .field("plugin", &self.plugin)
            .field("id", &self.id)
            .field("over", &self.over)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").finish_non_exhaustive()
    }
}
