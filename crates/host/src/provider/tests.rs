use std::{
    future::ready,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use reasonix_extension_protocol::{
    ErrorReason, Externalizable, decode_str,
    types::{
        ProviderDescriptor, ProviderMessage, ProviderRef, ProviderRequest, Role, StreamChunkParams,
        StreamEndParams, StreamId, StreamOpenParams, StreamOpenResult,
    },
};
use reasonix_extension_wire::BoxFuture;
use serde_json::json;
use tokio::sync::Notify;

use super::*;
use crate::sidecar::{CallFailure, FailureKind};

const SECRET: &str = "sk-test-A1b2C3d4E5f6G7h8";
const SMALL: &str = "plugin/demo/echo/small";

/// What stands for a sidecar.
struct Fake {
    models: Vec<&'static str>,
    /// What it lists, and how often it was asked.
    lists: Mutex<Result<Vec<&'static str>, FailureKind>>,
    listed: AtomicUsize,
    dead: AtomicBool,
    died: Notify,
    answer: Mutex<Result<bool, FailureKind>>,
    opened: Mutex<Vec<StreamOpenParams>>,
    cancelled: Mutex<Vec<StreamId>>,
}

impl Fake {
    fn new() -> Arc<Self> {
        let models = vec![SMALL, "plugin/demo/echo/large"];
        Arc::new(Self {
            lists: Mutex::new(Ok(models.clone())),
            models,
            listed: AtomicUsize::new(0),
            dead: AtomicBool::new(false),
            died: Notify::new(),
            answer: Mutex::new(Ok(true)),
            opened: Mutex::default(),
            cancelled: Mutex::default(),
        })
    }

    fn die(&self) {
        self.dead.store(true, Ordering::SeqCst);
        self.died.notify_waiters();
    }

    async fn cancelled(&self) -> usize {
        // Told in the background.
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        self.cancelled.lock().unwrap().len()
    }
}

fn descriptors(references: &[&str]) -> Vec<ProviderDescriptor> {
    let of = |reference: &&str| ProviderDescriptor::new(ProviderRef::new(*reference).unwrap());
    references.iter().map(of).collect()
}

fn failed(kind: FailureKind) -> CallFailure {
    CallFailure {
        plugin: "demo".to_owned(),
        kind,
    }
}

/// A source that is the fake: the trait is asked for `Arc`s of it.
struct Of(Arc<Fake>);

impl ModelSource for Of {
    fn declared(&self) -> Vec<ProviderDescriptor> {
        descriptors(&self.0.models)
    }

    fn runs(&self) -> bool {
        !self.0.dead.load(Ordering::SeqCst)
    }

    fn ended(&self) -> BoxFuture<()> {
        let fake = self.0.clone();
        Box::pin(async move {
            let died = fake.died.notified();
            if !fake.dead.load(Ordering::SeqCst) {
                died.await;
            }
        })
    }

    fn catalog(&self) -> BoxFuture<Result<Vec<ProviderDescriptor>, CallFailure>> {
        self.0.listed.fetch_add(1, Ordering::SeqCst);
        let lists = self.0.lists.lock().unwrap().clone();
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(5)).await;
            lists.map(|models| descriptors(&models)).map_err(failed)
        })
    }

    fn open(&self, params: StreamOpenParams) -> BoxFuture<Result<StreamOpenResult, CallFailure>> {
        self.0.opened.lock().unwrap().push(params);
        let answer = self.0.answer.lock().unwrap().clone();
        Box::pin(ready(answer.map(StreamOpenResult::new).map_err(failed)))
    }

    fn cancel(&self, stream: StreamId) -> BoxFuture<()> {
        self.0.cancelled.lock().unwrap().push(stream);
        Box::pin(ready(()))
    }
}

fn models(fake: &Arc<Fake>) -> (Models, Streams) {
    let streams = Streams::new();
    let source: Arc<dyn ModelSource> = Arc::new(Of(fake.clone()));
    (
        Models::new([("demo".to_owned(), source)], streams.clone()),
        streams,
    )
}

fn request() -> ProviderRequest {
    let message = ProviderMessage::new()
        .with_role(Role::User)
        .with_content(Externalizable::Inline("hello".to_owned()));
    ProviderRequest::new(vec![message], Vec::new(), 100)
}

/// A stream that is open, and what its sidecar says.
struct Open {
    fake: Arc<Fake>,
    streams: Streams,
    stream: ModelStream,
}

impl Open {
    async fn new() -> Self {
        let fake = Fake::new();
        let (models, streams) = models(&fake);
        let stream = models.ask(SMALL, None, request()).await.unwrap();
        Self {
            fake,
            streams,
            stream,
        }
    }

    fn id(&self) -> String {
        self.fake.opened.lock().unwrap()[0]
            .stream_id
            .as_str()
            .to_owned()
    }

    async fn chunk(&self, seq: u64, chunk: serde_json::Value) {
        let params = json!({"streamId": self.id(), "seq": seq, "chunk": chunk});
        let params: StreamChunkParams = decode_str(&params.to_string()).unwrap();
        self.streams.chunk("demo", params).await;
    }

    async fn text(&self, seq: u64, text: &str) {
        self.chunk(seq, json!({"type": "text", "text": text})).await;
    }

    fn end(&self, rest: &serde_json::Value) {
        let mut params = json!({"streamId": self.id()});
        params
            .as_object_mut()
            .unwrap()
            .extend(rest.as_object().unwrap().clone());
        let params: StreamEndParams = decode_str(&params.to_string()).unwrap();
        self.streams.end("demo", params);
    }

    /// All texts until the end, and how it ended.
    async fn rest(&mut self) -> (String, Result<(), StreamFailure>) {
        let mut text = String::new();
        loop {
            match self.stream.next().await {
                Ok(Some(ModelEvent::Text(piece))) => text += &piece,
                Ok(Some(_)) => {}
                Ok(None) => return (text, Ok(())),
                Err(failure) => return (text, Err(failure)),
            }
        }
    }

    /// That it is interrupted with these words, and the sidecar is told to stop so often.
    async fn is_interrupted(&mut self, text: &str, why: &str, cancels: usize) {
        let (said, end) = self.rest().await;
        assert_eq!(said, text);
        let failure = end.unwrap_err();
        assert_eq!(failure.reason(), ErrorReason::ProviderInterrupted);
        let shown = failure.to_string();
        assert!(shown.contains(why) && shown.contains("`demo`"), "{shown}");
        assert_eq!(self.fake.cancelled().await, cancels, "{shown}");
        assert_eq!(self.streams.open(), 0);
        // It is said once.
        assert_eq!(self.stream.next().await, Ok(None));
    }
}

#[tokio::test(start_paused = true)]
async fn chunks_are_delivered_in_order_and_once() {
    let mut open = Open::new().await;
    for (seq, text) in [(2, "b"), (3, "c"), (2, "x"), (1, "a"), (1, "y")] {
        open.text(seq, text).await;
    }
    open.end(&json!({"lastSeq": 3}));
    // What comes behind the end of a stream is nobody's.
    open.text(2, "late").await;
    assert_eq!(open.rest().await, ("abc".to_owned(), Ok(())));
    assert_eq!(open.fake.cancelled().await, 0);
    assert_eq!(open.streams.open(), 0);
    open.text(4, "later").await;
}

#[tokio::test]
async fn a_stream_asks_as_the_contract_says() {
    let fake = Fake::new();
    let (models, _) = models(&fake);
    let effort = Some("high".to_owned());
    let stream = models
        .ask("plugin/demo/echo", effort, request())
        .await
        .unwrap();
    let opened = fake.opened.lock().unwrap()[0].clone();
    assert_eq!((opened.provider_ref.as_str(), opened.seq_base), (SMALL, 1));
    assert_eq!(opened.effort.as_deref(), Some("high"));
    assert_eq!(opened.request, request());
    let id = opened.stream_id.as_str();
    assert!(id.starts_with("es_") && id.len() == 27, "{id}");
    drop(stream);
    assert_eq!(fake.cancelled().await, 1);
}

#[tokio::test(start_paused = true)]
async fn every_kind_of_chunk_is_an_event() {
    let mut open = Open::new().await;
    let call = json!({"id": "1", "name": "bash", "arguments": "{}", "thought_signature": "t"});
    let usage = json!({"promptTokens":1,"completionTokens":2,"totalTokens":3,"cacheHitTokens":0,"cacheMissTokens":1,"reasoningTokens":0});
    let chunks = [
        json!({"type": "reasoning", "text": "hm", "signature": "s"}),
        json!({"type": "tool_call_start", "toolCall": call}),
        json!({"type": "tool_call_args_delta", "argChars": 2}),
        json!({"type": "tool_call", "toolCall": call}),
        json!({"type": "done"}),
        // A model that is done says nothing more but what it took.
        json!({"type": "text", "text": "more"}),
        json!({"type": "usage", "usage": usage}),
    ];
    for (seq, chunk) in (1..).zip(chunks) {
        open.chunk(seq, chunk).await;
    }
    open.end(&json!({"lastSeq": 7}));
    let mut kinds = Vec::new();
    while let Some(event) = open.stream.next().await.unwrap() {
        kinds.push(match event {
            ModelEvent::Text(text) => text,
            ModelEvent::Reasoning { text, signature } => format!("{text} {signature:?}"),
            ModelEvent::ToolCallStart(call) => format!("start {}", call.name),
            ModelEvent::ToolCallArguments(chars) => format!("{chars} characters"),
            ModelEvent::ToolCall(call) => format!("call {:?}", call.thought_signature),
            ModelEvent::Usage(usage) => format!("{} tokens", usage.total_tokens),
            ModelEvent::Done => "done".to_owned(),
        });
    }
    assert_eq!(
        kinds,
        [
            "hm Some(\"s\")",
            "start bash",
            "2 characters",
            "call Some(\"t\")",
            "done",
            "3 tokens"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_missing_chunk_interrupts_and_the_sidecar_is_told_to_stop() {
    let mut open = Open::new().await;
    open.text(1, "a").await;
    open.end(&json!({"lastSeq": 3}));
    open.is_interrupted("a", "chunk 2 of 3 is missing", 1).await;

    // Without an end, too.
    let mut open = Open::new().await;
    open.text(1, "a").await;
    open.text(3, "c").await;
    let begun = tokio::time::Instant::now();
    open.is_interrupted("a", "chunk 2 is missing", 1).await;
    assert_eq!(begun.elapsed(), GAP);
}

#[tokio::test(start_paused = true)]
async fn silence_interrupts_and_the_sidecar_is_told_to_stop() {
    let mut open = Open::new().await;
    open.text(1, "a").await;
    let begun = tokio::time::Instant::now();
    open.is_interrupted("a", "nothing for 180 s", 1).await;
    assert_eq!(begun.elapsed(), IDLE);
}

#[tokio::test(start_paused = true)]
async fn contradictions_about_the_end_interrupt() {
    let mut open = Open::new().await;
    open.text(2, "b").await;
    open.end(&json!({"lastSeq": 1}));
    open.is_interrupted("", "chunk 2 came before the end at 1", 1)
        .await;

    let mut open = Open::new().await;
    open.end(&json!({"lastSeq": 2}));
    open.text(3, "c").await;
    open.is_interrupted("", "behind the frozen end at 2", 1)
        .await;

    let mut open = Open::new().await;
    open.end(&json!({"lastSeq": 2}));
    open.end(&json!({"lastSeq": 3}));
    open.is_interrupted("", "another than the first", 1).await;

    let mut open = Open::new().await;
    open.text(257, "far").await;
    open.is_interrupted("", "chunk 257 is more than 256 ahead", 1)
        .await;
}

#[tokio::test(start_paused = true)]
async fn what_the_provider_says_of_its_end_is_clean() {
    let mut open = Open::new().await;
    open.text(1, "a").await;
    open.end(&json!({"lastSeq": 1, "error": format!("key {SECRET} is refused")}));
    let (text, end) = open.rest().await;
    let failure = end.unwrap_err();
    assert_eq!(
        (text.as_str(), failure.reason()),
        ("a", ErrorReason::ProviderFailed)
    );
    let shown = failure.to_string();
    assert!(
        shown.contains("is refused") && !shown.contains(SECRET),
        "{shown}"
    );

    let mut open = Open::new().await;
    open.end(&json!({"lastSeq": 0, "interrupted": true, "error": "stopped"}));
    open.is_interrupted("", "stopped", 0).await;

    for (code, reason) in [
        ("provider_failed", ErrorReason::ProviderFailed),
        ("provider_interrupted", ErrorReason::ProviderInterrupted),
    ] {
        let mut open = Open::new().await;
        let error = json!({"code": code, "message": format!("no, {SECRET}")});
        open.chunk(1, json!({"type": "error", "error": error}))
            .await;
        let failure = open.rest().await.1.unwrap_err();
        assert_eq!(failure.reason(), reason);
        assert!(!failure.to_string().contains(SECRET), "{failure}");
        assert_eq!(open.fake.cancelled().await, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_fails_its_stream() {
    let mut open = Open::new().await;
    open.chunk(1, json!({"type": "tool_call_start"})).await;
    open.is_interrupted("", "`tool_call_start` lacks", 1).await;
    let mut open = Open::new().await;
    open.streams.unreadable("other", &open.id(), "not yours");
    open.text(1, "a").await;
    open.streams
        .unreadable("demo", &open.id(), "`/chunk/toolCall`: missing");
    open.is_interrupted("a", "cannot be read: `/chunk/toolCall`", 1)
        .await;
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_sidecar_interrupts_behind_what_it_said() {
    let mut open = Open::new().await;
    open.text(1, "a").await;
    open.text(2, "b").await;
    open.fake.die();
    open.is_interrupted("ab", "its sidecar has ended", 1).await;

    // And what it had ended is whole.
    let mut open = Open::new().await;
    open.text(1, "a").await;
    open.end(&json!({"lastSeq": 1}));
    open.fake.die();
    assert_eq!(open.rest().await, ("a".to_owned(), Ok(())));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_stream_is_cancelled_and_its_late_chunks_are_nobodys() {
    let open = Open::new().await;
    open.text(1, "a").await;
    let id = open.id();
    let Open {
        fake,
        streams,
        stream,
    } = open;
    drop(stream);
    assert_eq!(fake.cancelled().await, 1);
    assert_eq!(fake.cancelled.lock().unwrap()[0].as_str(), id);
    assert_eq!(streams.open(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_consumer_that_takes_nothing_ends_its_stream_and_stalls_no_other() {
    let mut slow = Open::new().await;
    let text = "x".repeat(1_024 * 1_024);
    let begun = tokio::time::Instant::now();
    for seq in 1..=20 {
        slow.text(seq, &text).await;
    }
    // It was waited for once.
    assert_eq!(begun.elapsed(), Duration::from_secs(1));
    let mut bytes = 0;
    let failure = loop {
        match slow.stream.next().await {
            Ok(Some(ModelEvent::Text(text))) => bytes += text.len(),
            Ok(other) => panic!("{other:?}"),
            Err(failure) => break failure,
        }
    };
    assert!(bytes >= MAX_WAITING, "{bytes}");
    assert!(failure.to_string().contains("untaken"), "{failure}");
}

#[tokio::test]
async fn a_consumer_that_goes_on_gets_everything_however_fast_it_comes() {
    const CHUNKS: u64 = 200_000;
    let mut open = Open::new().await;
    let streams = open.streams.clone();
    let id = open.id();
    let sender = tokio::spawn(async move {
        for seq in 1..=CHUNKS {
            let params = json!({"streamId": id, "seq": seq, "chunk": {"type": "text", "text": "fifty bytes of text"}});
            let params: StreamChunkParams = serde_json::from_value(params).unwrap();
            streams.chunk("demo", params).await;
        }
        let end = json!({"streamId": id, "lastSeq": CHUNKS});
        streams.end("demo", serde_json::from_value(end).unwrap());
    });
    let mut heard = 0;
    while open.stream.next().await.unwrap().is_some() {
        heard += 1;
    }
    assert_eq!(heard, CHUNKS);
    sender.await.unwrap();
}

#[tokio::test]
async fn there_is_no_fallback() {
    let fake = Fake::new();
    let (models, _) = models(&fake);
    assert_eq!(models.resolve(SMALL).unwrap().ref_.as_str(), SMALL);
    assert_eq!(
        models.resolve(" plugin/demo/echo ").unwrap().ref_.as_str(),
        SMALL
    );
    for (reference, why) in [
        ("", "no model of a plugin"),
        ("openai/gpt", "no model of a plugin"),
        ("plugin/x", "no model of a plugin"),
        ("plugin//x", "no model of a plugin"),
        ("plugin/a/", "no model of a plugin"),
        ("plugin/other/echo/small", "`other`, which does not run"),
        (
            "plugin/demo/echo/tiny",
            "it has plugin/demo/echo/small, plugin/demo/echo/large",
        ),
    ] {
        let error = models.resolve(reference).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
        assert!(models.ask(reference, None, request()).await.is_err());
    }
    // One that has ended is found, and fails at once, without being asked.
    fake.die();
    models.resolve(SMALL).unwrap();
    let error = models.ask(SMALL, None, request()).await.unwrap_err();
    assert!(
        matches!(error, AskError::Stream(StreamFailure::Interrupted { .. })),
        "{error}"
    );
    assert_eq!(fake.opened.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn an_open_that_fails_says_how_and_leaves_nothing() {
    for (answer, reason) in [
        (Ok(false), ErrorReason::ProviderFailed),
        (
            Err(FailureKind::Refused {
                reason: Some(ErrorReason::ProviderInterrupted),
                code: -32_000,
                message: "gone".to_owned(),
                action: None,
            }),
            ErrorReason::ProviderInterrupted,
        ),
        (
            Err(FailureKind::TimedOut(Duration::from_mins(1))),
            ErrorReason::ProviderFailed,
        ),
        (Err(FailureKind::Stopped), ErrorReason::ProviderInterrupted),
    ] {
        let fake = Fake::new();
        *fake.answer.lock().unwrap() = answer;
        let (models, streams) = models(&fake);
        let AskError::Stream(failure) = models.ask(SMALL, None, request()).await.unwrap_err()
        else {
            panic!("it is resolved")
        };
        assert_eq!(failure.reason(), reason, "{failure}");
        assert_eq!(streams.open(), 0);
        // It may have begun all the same.
        assert_eq!(fake.cancelled().await, 1);
    }
}

#[tokio::test]
async fn the_catalog_is_asked_once_and_holds_what_can_be_had() {
    let fake = Fake::new();
    *fake.lists.lock().unwrap() = Ok(vec![
        SMALL,
        "plugin/other/x/y",
        "openai/gpt",
        "plugin/demo/undeclared/x",
    ]);
    let (models, _) = models(&fake);
    let models = Arc::new(models);
    let mut lists = tokio::task::JoinSet::new();
    for _ in 0..32 {
        let models = models.clone();
        lists.spawn(async move { models.list().await });
    }
    while let Some(list) = lists.join_next().await {
        let references: Vec<String> = list
            .unwrap()
            .iter()
            .map(|model| model.ref_.to_string())
            .collect();
        assert_eq!(references, [SMALL]);
    }
    assert_eq!(fake.listed.load(Ordering::SeqCst), 1);
    fake.die();
    assert_eq!(models.list().await, []);
}

#[tokio::test]
async fn a_catalog_that_fails_is_asked_for_again() {
    let fake = Fake::new();
    *fake.lists.lock().unwrap() = Err(FailureKind::TimedOut(Duration::from_secs(10)));
    let (models, _) = models(&fake);
    assert_eq!(models.list().await, []);
    *fake.lists.lock().unwrap() = Ok(vec![SMALL]);
    assert_eq!(models.list().await.len(), 1);
    assert_eq!(fake.listed.load(Ordering::SeqCst), 2);
}
