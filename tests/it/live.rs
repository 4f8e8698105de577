//! The host and real processes, over real pipes.

use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use reasonix_extension_host::{
    BoxFuture, FailureKind, Generation, Launch, Notice, Program, RpcError, Runtime, Services,
    Session, Sidecar, Stage, StartError, State,
    dispatch::{Dispatcher, Participant},
};
use reasonix_extension_protocol::{
    ErrorReason, HookPoint, RawJson, decode_str,
    hooks::InputReceive,
    payloads::InputReceivePayload,
    types::{
        Decision, Generation as Number, NonBlank, SessionContext, SessionId, StreamChunkParams,
        StreamEndParams, StreamId, StreamOpenParams, UiActionParams, UiHost, UiPublishParams,
        UiPublishResult, UiSubmitParams,
    },
};

/// Longer than anything here takes, shorter than anybody waits.
const SOON: Duration = Duration::from_secs(20);

/// Keeps what sidecars said.
#[derive(Default)]
pub(crate) struct Heard {
    pub(crate) notices: Mutex<Vec<Notice>>,
    published: Mutex<Vec<String>>,
    /// Text of all chunks, and their number.
    pub(crate) chunks: Mutex<(String, u64)>,
    pub(crate) ends: Mutex<Vec<StreamEndParams>>,
    /// How long a chunk takes to be shown.
    slow: Duration,
}

impl Services for Heard {
    fn publish(
        &self,
        plugin: &str,
        params: UiPublishParams,
    ) -> BoxFuture<Result<UiPublishResult, RpcError>> {
        let text = format!("{plugin}: {}", params.payload.as_str());
        self.published.lock().unwrap().push(text);
        Box::pin(std::future::ready(Ok(UiPublishResult::new(true))))
    }

    fn chunk(&self, _plugin: &str, params: StreamChunkParams) -> BoxFuture<()> {
        {
            let mut chunks = self.chunks.lock().unwrap();
            assert_eq!(params.seq, chunks.1 + 1, "chunks come in order");
            chunks.1 = params.seq;
            // What a flood says is not kept.
            if chunks.1 < 100 {
                chunks.0 += &params.chunk.text.unwrap_or_default();
            }
        }
        let slow = self.slow;
        Box::pin(async move {
            if !slow.is_zero() {
                tokio::time::sleep(slow).await;
            }
        })
    }

    fn stream_end(&self, _plugin: &str, params: StreamEndParams) -> BoxFuture<()> {
        self.ends.lock().unwrap().push(params);
        Box::pin(std::future::ready(()))
    }

    fn notice(&self, notice: Notice) {
        self.notices.lock().unwrap().push(notice);
    }
}

pub(crate) fn launch(mode: &str) -> Launch {
    let program = Program::new(env!("CARGO_BIN_EXE_sidecar"), "/").with_args(mode.split(' '));
    let mut launch = Launch::new("honest", "1.0.0", program);
    launch.intercepts = vec![
        HookPoint::InputReceive,
        HookPoint::ToolBefore,
        HookPoint::SessionStart,
    ];
    launch.capabilities = vec!["providers".to_owned(), "ui".to_owned()];
    launch
}

pub(crate) fn session() -> Session {
    let context = SessionContext::new(
        SessionId::new("boot-1").unwrap(),
        NonBlank::new("/ws").unwrap(),
        Number::new(1),
    );
    Session::new(context, UiHost::Headless)
}

pub(crate) async fn start_of(launch: Launch, heard: &Arc<Heard>) -> Result<Sidecar, StartError> {
    Sidecar::start(launch, &session(), heard.clone(), SOON).await
}

pub(crate) async fn start(mode: &str) -> (Sidecar, Arc<Heard>) {
    let heard = Arc::new(Heard::default());
    let sidecar = start_of(launch(mode), &heard).await;
    (sidecar.unwrap_or_else(|error| panic!("{error}")), heard)
}

pub(crate) fn input(text: &str) -> RawJson {
    RawJson::encode(&serde_json::json!({ "text": text })).unwrap()
}

pub(crate) async fn ask(sidecar: &Sidecar, text: &str) -> Result<String, FailureKind> {
    let ruled = sidecar
        .intercept(HookPoint::InputReceive, input(text))
        .await;
    let ruled = ruled.map_err(|failure| failure.kind)?;
    Ok(match ruled.result.decision {
        Decision::Continue => "continue".to_owned(),
        Decision::Replace => ruled.replacement.unwrap().as_str().to_owned(),
        // A later version may know more.
        Decision::Allow | Decision::Block | Decision::Deny | _ => {
            ruled.result.reason.unwrap_or_default()
        }
    })
}

#[tokio::test]
async fn a_dispatcher_asks_sidecars_and_says_how_it_went() {
    let heard: Arc<dyn Services> = Arc::new(Heard::default());
    let launches = [("upper", -1), ("blocker", 5)].map(|(name, priority)| {
        let mut launch = launch(if name == "upper" { "upper" } else { "proceeds" });
        launch.name = name.to_owned();
        launch.priority = priority;
        launch.capabilities.clear();
        launch
    });
    let generation = Generation::start(launches, &session(), &heard)
        .await
        .unwrap();
    let participants = generation
        .sidecars()
        .map(|sidecar| Participant::of(sidecar).unwrap());
    let dispatcher = Dispatcher::builder(participants).unwrap().build();
    let payload = InputReceivePayload::new().with_text("echo a");
    let (outcome, explanation) = dispatcher.at::<InputReceive>(payload).explained().await;
    let outcome = outcome.unwrap();
    assert_eq!(outcome.payload.text, "ECHO A");
    assert_eq!(outcome.applied, ["upper"]);
    let text = explanation.to_string();
    assert!(text.contains("upper replaced the payload"), "{text}");
    assert!(text.contains(r#"/text: "echo a" → "ECHO A""#), "{text}");
    assert!(text.ends_with("told: upper, blocker"), "{text}");
    generation.shutdown().await;
    // It is optional, so the operation goes on without it.
    let payload = InputReceivePayload::new().with_text("echo a");
    assert!(
        !dispatcher
            .dispatch::<InputReceive>(payload)
            .await
            .unwrap()
            .changed
    );
}

pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < SOON, "{what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn an_extension_rules_replaces_and_fails_alone() {
    let (sidecar, heard) = start("honest").await;
    assert_eq!(sidecar.declared().name.as_str(), "honest");
    assert_eq!(ask(&sidecar, "abc").await.unwrap(), "3 bytes");
    assert_eq!(
        ask(&sidecar, "echo ä").await.unwrap(),
        r#"{"text":"ECHO Ä"}"#
    );
    let tool = RawJson::parse(r#"{"name":"bash","arguments":"{}"}"#).unwrap();
    let ruled = sidecar
        .intercept(HookPoint::ToolBefore, tool)
        .await
        .unwrap();
    assert_eq!(ruled.result.decision, Decision::Continue);
    for (text, message) in [("panic", "the handler panicked"), ("fail", "token ****")] {
        let Err(FailureKind::Refused {
            reason,
            code,
            message: found,
            ..
        }) = ask(&sidecar, text).await
        else {
            panic!("{text}")
        };
        assert_eq!(
            (reason, code, found.as_str()),
            (Some(ErrorReason::Internal), -32_603, message)
        );
    }
    assert_eq!(ask(&sidecar, "print").await.unwrap(), "continue");
    assert_eq!(ask(&sidecar, "publish").await.unwrap(), "shown: true");
    assert_eq!(
        *heard.published.lock().unwrap(),
        [r#"honest: {"label":"busy"}"#]
    );
    sidecar.shutdown().await;
    assert_eq!(sidecar.state(), State::Stopped);
    assert_eq!(
        ask(&sidecar, "abc").await.unwrap_err(),
        FailureKind::Stopped
    );
    assert_eq!(*heard.notices.lock().unwrap(), []);
}

#[tokio::test]
async fn a_ruling_that_takes_too_long_is_a_time_out_and_the_next_is_not() {
    let heard = Arc::new(Heard::default());
    let mut slow = launch("honest");
    slow.timeout = Some(Duration::from_millis(200));
    let sidecar = start_of(slow, &heard).await.unwrap();
    let begun = Instant::now();
    // Both sides count the time; whoever is first says the same.
    let failure = sidecar
        .intercept(HookPoint::InputReceive, input("sleep"))
        .await
        .unwrap_err();
    assert_eq!(failure.reason(), ErrorReason::InterceptTimeout, "{failure}");
    assert!(begun.elapsed() >= Duration::from_millis(190));
    assert_eq!(ask(&sidecar, "abc").await.unwrap(), "3 bytes");
}

#[tokio::test]
async fn payloads_of_every_size_arrive_whole() {
    let (sidecar, _heard) = start("honest").await;
    // The members around the text have eleven bytes; inline up to the limit, then by reference.
    for bytes in [65_536 - 11, 65_537 - 11, 262_144, 300_001, 1_000_000] {
        let text = "€".repeat(bytes / 3) + &"x".repeat(bytes % 3);
        assert_eq!(
            ask(&sidecar, &text).await.unwrap(),
            format!("{bytes} bytes")
        );
    }
    let largest = "x".repeat(8 * 1_024 * 1_024 - 11);
    assert_eq!(
        ask(&sidecar, &largest).await.unwrap(),
        format!("{} bytes", largest.len())
    );
    let Err(FailureKind::Refused { reason, .. }) = ask(&sidecar, &(largest + "x")).await else {
        panic!("it cannot travel")
    };
    assert_eq!(reason, Some(ErrorReason::FrameTooLarge));
}

#[tokio::test]
async fn what_a_handler_starts_reads_nothing_of_the_wire() {
    let (sidecar, _heard) = start("honest").await;
    let calls: Vec<_> = ["cat", "x", "y"]
        .map(|text| {
            let sidecar = sidecar.clone();
            tokio::spawn(async move { ask(&sidecar, text).await })
        })
        .into_iter()
        .collect();
    let mut said = Vec::new();
    for call in calls {
        said.push(call.await.unwrap().unwrap());
    }
    assert_eq!(said, ["0 bytes", "1 bytes", "1 bytes"]);
}

#[tokio::test]
async fn thirty_two_calls_in_flight_are_all_answered() {
    let (sidecar, _heard) = start("honest").await;
    let calls: Vec<_> = (0..32)
        .map(|call| {
            let sidecar = sidecar.clone();
            tokio::spawn(async move { ask(&sidecar, &"x".repeat(call)).await })
        })
        .collect();
    for (call, answer) in calls.into_iter().enumerate() {
        assert_eq!(answer.await.unwrap().unwrap(), format!("{call} bytes"));
    }
}

#[tokio::test]
async fn actions_forms_and_observation_reach_their_handlers() {
    let (sidecar, heard) = start("honest").await;
    let action: UiActionParams = decode_str(
        r#"{"actionId":"greet","sessionId":"boot-1","generation":1,"args":{"arg1":"Ada"}}"#,
    )
    .unwrap();
    let result = sidecar.action(&action).await.unwrap();
    assert_eq!(result.message.as_deref(), Some("Ada"));
    let unknown: UiActionParams =
        decode_str(r#"{"actionId":"nope","sessionId":"boot-1","generation":1}"#).unwrap();
    let failure = sidecar.action(&unknown).await.unwrap_err();
    assert_eq!(failure.reason(), ErrorReason::InvalidParams);
    let form: UiSubmitParams = decode_str(
        r#"{"surfaceId":"s","sessionId":"boot-1","generation":1,"values":{"yes":true}}"#,
    )
    .unwrap();
    assert!(sidecar.submit(&form).await.unwrap().accepted);
    sidecar
        .resources_changed(vec!["a".to_owned()])
        .await
        .unwrap();
    let started = RawJson::parse(r#"{"sessionPath":"one","phase":"start"}"#).unwrap();
    assert!(sidecar.observe(HookPoint::SessionStart, started));
    until("an observation", || {
        heard
            .published
            .lock()
            .unwrap()
            .iter()
            .any(|text| text.contains("one"))
    })
    .await;
}

fn open(text: &str) -> StreamOpenParams {
    let request = serde_json::json!({
        "streamId": "s", "providerRef": "plugin/honest/echo", "seqBase": 1,
        "request": {"messages": [{"role": "user", "content": text}], "tools": [], "maxTokens": 0},
    });
    decode_str(&request.to_string()).unwrap()
}

#[tokio::test]
async fn a_stream_is_whole_and_its_end_says_how_it_ended() {
    for (text, chunks, error) in [
        ("one two three", "one two three", None),
        ("fail", "", Some("the model is gone")),
        ("panic", "", Some("the provider panicked")),
    ] {
        let (sidecar, heard) = start("honest").await;
        assert_eq!(sidecar.catalog().await.unwrap().providers.len(), 1);
        assert!(sidecar.open_stream(&open(text)).await.unwrap().accepted);
        until("the end of the stream", || {
            heard.ends.lock().unwrap().len() == 1
        })
        .await;
        let end = heard.ends.lock().unwrap()[0].clone();
        let said = heard.chunks.lock().unwrap().clone();
        assert_eq!(said.0, chunks);
        assert_eq!((end.last_seq, end.error.as_deref()), (said.1, error));
    }
}

#[tokio::test]
async fn a_cancelled_stream_ends_once_and_says_nothing_more() {
    let (sidecar, heard) = start("honest").await;
    sidecar.open_stream(&open("wait")).await.unwrap();
    let twice = sidecar.open_stream(&open("wait")).await.unwrap_err();
    assert_eq!(twice.reason(), ErrorReason::ProtocolError);
    until("a chunk", || heard.chunks.lock().unwrap().1 == 1).await;
    let stream = || StreamId::new("s").unwrap();
    assert!(sidecar.cancel_stream(stream()).await.unwrap().cancelled);
    assert!(!sidecar.cancel_stream(stream()).await.unwrap().cancelled);
    until("the end of the stream", || {
        !heard.ends.lock().unwrap().is_empty()
    })
    .await;
    assert_eq!(ask(&sidecar, "abc").await.unwrap(), "3 bytes");
    let ends = heard.ends.lock().unwrap();
    assert_eq!(
        (ends.len(), ends[0].last_seq, ends[0].interrupted),
        (1, 1, Some(true))
    );
}

#[tokio::test]
async fn a_flood_of_chunks_arrives_whole_while_calls_are_answered() {
    for mode in ["honest", "floods"] {
        let (sidecar, heard) = start(mode).await;
        if mode == "honest" {
            sidecar.open_stream(&open("flood")).await.unwrap();
            for _ in 0..10 {
                assert_eq!(ask(&sidecar, "abc").await.unwrap(), "3 bytes");
            }
        }
        until("the last chunk", || {
            heard.chunks.lock().unwrap().1 == 200_000
        })
        .await;
        assert_eq!(sidecar.state(), State::Ready, "{mode}");
    }
}

#[tokio::test]
async fn a_slow_consumer_holds_the_sender_back_and_calls_still_flow() {
    let heard = Arc::new(Heard {
        slow: Duration::from_millis(1),
        ..Heard::default()
    });
    let sidecar = start_of(launch("honest"), &heard).await.unwrap();
    sidecar.open_stream(&open("flood")).await.unwrap();
    for _ in 0..10 {
        assert_eq!(ask(&sidecar, "abc").await.unwrap(), "3 bytes");
    }
    assert!(heard.chunks.lock().unwrap().1 < 100_000);
}

#[tokio::test]
async fn an_orderly_end_is_quick_and_no_crash() {
    let (sidecar, heard) = start("honest").await;
    let begun = Instant::now();
    let call = tokio::spawn({
        let sidecar = sidecar.clone();
        async move { ask(&sidecar, "sleep").await }
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    tokio::join!(sidecar.shutdown(), sidecar.shutdown());
    sidecar.shutdown().await;
    assert!(
        begun.elapsed() < Duration::from_secs(3),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(call.await.unwrap().unwrap_err(), FailureKind::Stopped);
    assert_eq!(*heard.notices.lock().unwrap(), []);
}

#[tokio::test]
async fn a_generation_starts_what_it_can_and_fails_for_what_it_needs() {
    let heard: Arc<dyn Services> = Arc::new(Heard::default());
    let named = |name: &str, mode: &str, required| {
        let mut launch = launch(mode);
        launch.name = name.to_owned();
        launch.capabilities.clear();
        launch.required = required;
        launch
    };
    let begun = Instant::now();
    let budget = Duration::from_secs(3);
    let all = session();
    let generation = Generation::start_within(
        [
            named("d", "proceeds", false),
            named("b", "proceeds", true),
            named("c", "silent", false),
            named("a", "dies-at-once", false),
        ],
        &all,
        &heard,
        budget,
    );
    let generation = generation.await.unwrap();
    let names: Vec<_> = generation.sidecars().map(Sidecar::name).collect();
    assert_eq!(names, ["b", "d"]);
    let warnings: Vec<_> = generation
        .warnings()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert!(
        warnings[0].contains("start `a`: handshake failed")
            && warnings[0].contains("exit status 3"),
        "{warnings:?}"
    );
    assert!(
        warnings[1].contains("start `c`: handshake failed"),
        "{warnings:?}"
    );
    assert!(begun.elapsed() < budget + Duration::from_secs(2));

    let runtime = Runtime::new(generation);
    let old = runtime.current();
    let error = runtime
        .reload([named("x", "dies-at-once", true)], &session(), &heard)
        .await
        .unwrap_err();
    assert_eq!(
        (error.plugin.as_str(), error.stage),
        ("x", Stage::Handshake)
    );
    assert_eq!(
        ask(runtime.current().sidecar("b").unwrap(), "abc")
            .await
            .unwrap(),
        "continue"
    );
    runtime
        .reload([named("y", "proceeds", true)], &session(), &heard)
        .await
        .unwrap();
    assert_eq!(old.sidecar("b").unwrap().state(), State::Stopped);
    assert_eq!(
        ask(runtime.current().sidecar("y").unwrap(), "abc")
            .await
            .unwrap(),
        "continue"
    );
    runtime.current().shutdown().await;
}

#[tokio::test]
async fn no_more_than_four_start_at_once_and_one_budget_holds_for_all() {
    let heard: Arc<dyn Services> = Arc::new(Heard::default());
    let budget = Duration::from_millis(800);
    let launches = (0..6).map(|index| {
        let mut launch = launch("silent");
        launch.name = format!("s{index}");
        launch
    });
    let begun = Instant::now();
    let generation = Generation::start_within(launches, &session(), &heard, budget)
        .await
        .unwrap();
    assert!(begun.elapsed() < budget * 4, "{:?}", begun.elapsed());
    let causes: Vec<_> = generation
        .warnings()
        .iter()
        .map(|error| error.stage)
        .collect();
    let handshakes = causes
        .iter()
        .filter(|stage| **stage == Stage::Handshake)
        .count();
    assert_eq!((causes.len(), handshakes), (6, 4), "{causes:?}");
}

/// Whether a process is there and more than a zombie.
pub(crate) fn lives(pid: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.trim()).join("stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[tokio::test]
async fn what_is_dropped_is_killed() {
    let (sidecar, _heard) = start("grandchild").await;
    let child = ask(&sidecar, "stay").await.unwrap();
    assert!(lives(&child));
    drop(sidecar);
    until("the grandchild is gone", || !lives(&child)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_extension_that_does_not_start_says_why_before_it_ends() {
    use reasonix_extension_sdk::{Extension, HandlerError};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex, split};

    let request = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "extension/initialize", "params": {
        "protocolId": "reasonix.extension.v1", "protocolVersion": "1", "manifest": {},
        "session": {"sessionId": "s", "workspaceRoot": "/ws", "generation": 1},
        "capabilities": {"protocolVersion": "1", "uiHost": "headless", "contentRefs": true},
    }});
    // Often, for the answer and the end are made by two tasks.
    for _ in 0..200 {
        let (mut host, extension) = duplex(4_096);
        let (input, output) = split(extension);
        let served = tokio::spawn(
            Extension::new("picky", "1.0.0")
                .on_start(|_| Err(HandlerError::new("not here")))
                .serve_on(input, output),
        );
        host.write_all(format!("{request}\n").as_bytes())
            .await
            .unwrap();
        let mut answer = String::new();
        host.read_to_string(&mut answer).await.unwrap();
        assert!(
            answer.contains("\"id\":1,\"error\"") && answer.contains("not here"),
            "{answer:?}"
        );
        let error = served.await.unwrap().unwrap_err();
        assert_eq!(error.to_string(), "the extension was not started: not here");
    }
}

#[tokio::test]
async fn an_extension_without_a_library_rules_on_values_of_every_size() {
    let script = reasonix_extension_tests::workspace().join("tests/python/starter.py");
    let mut starter = launch("unused");
    starter.program = Program::new("/usr/bin/env", "/").with_args(["python3"]);
    starter.program.args.push(script.into());
    let heard = Arc::new(Heard::default());
    let sidecar = start_of(starter, &heard).await.unwrap();
    let padding = "€".repeat(100_000);
    for (command, decision) in [("ls", Decision::Continue), ("rm -rf /", Decision::Block)] {
        for padding in ["", &padding] {
            let arguments = format!("{command} {padding}");
            let call = serde_json::json!({"name": "bash", "arguments": arguments});
            let payload = RawJson::encode(&call).unwrap();
            let ruled = sidecar.intercept(HookPoint::ToolBefore, payload).await;
            assert_eq!(ruled.unwrap().result.decision, decision);
        }
    }
    sidecar.shutdown().await;
    assert_eq!(*heard.notices.lock().unwrap(), []);
}
