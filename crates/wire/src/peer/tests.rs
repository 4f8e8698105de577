use std::sync::atomic::AtomicU32;

use reasonix_extension_protocol::{
    RawJson,
    methods::{ContentRead, Event, Intercept, Shutdown, StreamChunk},
    types::{
        ChunkType, ContentReadParams, ContentRef, Decision, EventParams, InterceptParams,
        InterceptResult, ProviderChunk, ShutdownParams, ShutdownResult, StreamChunkParams,
        StreamId,
    },
};
use tokio::io::{
    AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf,
    WriteHalf,
};

use super::*;
use crate::{Router, outbox::MAX_BEST_EFFORT};

const SOON: Duration = Duration::from_secs(5);
/// What the pipe between the sides holds: as on Linux.
const PIPE: usize = 64 * 1_024;

/// The bare other end of a connection.
struct Line {
    input: BufReader<ReadHalf<DuplexStream>>,
    output: WriteHalf<DuplexStream>,
}

impl Line {
    async fn send(&mut self, line: &str) {
        self.output.write_all(line.as_bytes()).await.unwrap();
        self.output.write_all(b"\n").await.unwrap();
    }

    /// The next line; empty at the end.
    async fn receive(&mut self) -> String {
        let mut line = String::new();
        timeout(SOON, self.input.read_line(&mut line))
            .await
            .expect("a line in time")
            .unwrap();
        line.trim_end().to_owned()
    }

    async fn rest(&mut self) -> String {
        let mut rest = String::new();
        timeout(SOON, self.input.read_to_string(&mut rest))
            .await
            .expect("the end in time")
            .unwrap();
        rest
    }
}

fn bare(service: impl Service, options: Options) -> (Connection, Line) {
    let (near, far) = tokio::io::duplex(PIPE);
    let (input, output) = tokio::io::split(near);
    let connection = Connection::start(input, output, service, options);
    let (input, output) = tokio::io::split(far);
    let input = BufReader::new(input);
    (connection, Line { input, output })
}

fn pair(left: impl Service, right: impl Service) -> (Connection, Connection) {
    let (near, far) = tokio::io::duplex(PIPE);
    let (input, output) = tokio::io::split(near);
    let left = Connection::start(input, output, left, Options::default());
    let (input, output) = tokio::io::split(far);
    (
        left,
        Connection::start(input, output, right, Options::default()),
    )
}

fn shutdown() -> ShutdownParams {
    ShutdownParams::new(7)
}

fn answering() -> Router {
    Router::new().on_request::<Shutdown, _, _>(|params, _| async move {
        Ok(ShutdownResult::new(params.timeout_millis == 7))
    })
}

fn chunk(seq: u64) -> StreamChunkParams {
    let chunk = ProviderChunk::new(ChunkType::Text).with_text("x".repeat(50));
    StreamChunkParams::new(StreamId::new("s").unwrap(), seq, chunk)
}

#[tokio::test]
async fn a_call_is_answered() {
    let (left, _right) = pair(Router::new(), answering());
    let result = left
        .peer()
        .call::<Shutdown>(&shutdown(), SOON)
        .await
        .unwrap();
    assert!(result.accepted);
}

#[tokio::test]
async fn ids_count_from_one_and_answers_may_come_in_any_order() {
    let (connection, mut line) = bare(Router::new(), Options::default());
    let calls = [(); 3].map(|()| {
        let peer = connection.peer().clone();
        tokio::spawn(async move { peer.call::<Shutdown>(&shutdown(), SOON).await })
    });
    for id in 1..=3 {
        let sent = line.receive().await;
        let expected = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"extension/shutdown","params":{{"timeoutMillis":7}}}}"#
        );
        assert_eq!(sent, expected);
    }
    // One to nobody, one under a string, and the three backwards, the second refused.
    line.send(r#"{"jsonrpc":"2.0","id":9,"result":{}}"#).await;
    line.send(r#"{"jsonrpc":"2.0","id":"3","result":{"accepted":true}}"#)
        .await;
    line.send(r#"{"jsonrpc":"2.0","id":3,"result":{"accepted":false}}"#)
        .await;
    line.send(r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"sk-1","data":{"reason":"content_ref_expired","retryable":true}}}"#).await;
    line.send(r#"{"jsonrpc":"2.0","id":1,"result":{"accepted":true}}"#)
        .await;
    let [first, second, third] = calls;
    assert!(first.await.unwrap().unwrap().accepted);
    let error = second.await.unwrap().unwrap_err();
    assert_eq!(error.reason(), ErrorReason::ContentRefExpired);
    // A stranger's text is not shown by itself.
    assert!(!format!("{error} {error:?}").contains("sk-1"), "{error:?}");
    assert!(!third.await.unwrap().unwrap().accepted);
}

#[tokio::test]
async fn unsound_answers_fail_their_call_alone() {
    let (connection, mut line) = bare(Router::new(), Options::default());
    for (answer, what) in [
        (r#""result":{"accepted":true,"x":1}"#, "`/x`"),
        (r#""result":{"accepted":null}"#, "`/accepted`"),
        (
            r#""result":1,"error":{"code":1,"message":""}"#,
            "one of `result` and `error`",
        ),
    ] {
        let peer = connection.peer().clone();
        let call = tokio::spawn(async move { peer.call::<Shutdown>(&shutdown(), SOON).await });
        let sent: serde_json::Value = serde_json::from_str(&line.receive().await).unwrap();
        line.send(&format!(
            r#"{{"jsonrpc":"2.0","id":{},{answer}}}"#,
            sent["id"]
        ))
        .await;
        let error = call.await.unwrap().unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
        assert_eq!(error.reason(), ErrorReason::ProtocolError);
    }
    assert_eq!(connection.peer().close_reason(), None);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_nobody_answers_ends_in_time_and_its_late_answer_is_dropped() {
    let (connection, mut line) = bare(Router::new(), Options::default());
    let error = connection
        .peer()
        .call::<Shutdown>(&shutdown(), SOON)
        .await
        .unwrap_err();
    assert!(matches!(error, CallError::TimedOut(SOON)), "{error:?}");
    line.receive().await;
    line.send(r#"{"jsonrpc":"2.0","id":1,"result":{"accepted":true}}"#)
        .await;
    let peer = connection.peer().clone();
    let call = tokio::spawn(async move { peer.call::<Shutdown>(&shutdown(), SOON).await });
    line.receive().await;
    line.send(r#"{"jsonrpc":"2.0","id":2,"result":{"accepted":true}}"#)
        .await;
    assert!(call.await.unwrap().unwrap().accepted);
}

#[tokio::test]
async fn the_end_of_the_peer_fails_every_call_with_the_cause() {
    let (connection, line) = bare(Router::new(), Options::default());
    let calls: Vec<_> = (0..10)
        .map(|_| {
            let peer = connection.peer().clone();
            tokio::spawn(async move { peer.call::<Shutdown>(&shutdown(), SOON).await })
        })
        .collect();
    tokio::task::yield_now().await;
    drop(line);
    for call in calls {
        let error = call.await.unwrap().unwrap_err();
        assert!(
            matches!(error, CallError::Closed(CloseReason::PeerClosed)),
            "{error:?}"
        );
        assert_eq!(error.reason(), ErrorReason::ProviderInterrupted);
    }
    let late = connection
        .peer()
        .call::<Shutdown>(&shutdown(), SOON)
        .await
        .unwrap_err();
    assert!(
        matches!(late, CallError::Closed(CloseReason::PeerClosed)),
        "{late:?}"
    );
    assert_eq!(connection.finished().await, CloseReason::PeerClosed);
}

#[tokio::test]
async fn a_dropped_connection_ends_for_both() {
    let (left, right) = pair(Router::new(), answering());
    let peer = left.peer().clone();
    drop(left);
    assert_eq!(peer.closed().await, CloseReason::Local);
    assert_eq!(right.finished().await, CloseReason::PeerClosed);
    let error = peer.notify::<Event>(&event()).await.unwrap_err();
    assert!(
        matches!(error, CallError::Closed(CloseReason::Local)),
        "{error:?}"
    );
}

fn event() -> EventParams {
    let json = r#"{"event":"session.start","payload":{}}"#;
    reasonix_extension_protocol::decode_str(json).unwrap()
}

#[tokio::test]
async fn what_breaks_the_envelope_is_answered_as_the_table_says() {
    let (_connection, mut line) = bare(answering(), Options::default());
    for (sent, code, id) in [
        ("nonsense", "-32700", "null"),
        ("[]", "-32600", "null"),
        (
            r#"{"jsonrpc":"2.0","id":"7","method":"extension/shutdown"}"#,
            "-32600",
            "null",
        ),
        (r#"{"jsonrpc":"2.0","id":7}"#, "-32600", "7"),
        (
            r#"{"jsonrpc":"2.0","id":8,"method":"extension/nope"}"#,
            "-32601",
            "8",
        ),
        (
            r#"{"jsonrpc":"2.0","id":9,"method":"extension/shutdown","params":[1]}"#,
            "-32602",
            "9",
        ),
        (
            r#"{"jsonrpc":"2.0","id":10,"method":"extension/shutdown"}"#,
            "-32602",
            "10",
        ),
        (
            r#"{"jsonrpc":"2.0","id":11,"method":"extension/shutdown","params":{"timeoutMillis":1,"timeoutMillis":2}}"#,
            "-32602",
            "11",
        ),
    ] {
        line.send(sent).await;
        let answer: serde_json::Value = serde_json::from_str(&line.receive().await).unwrap();
        assert_eq!(answer["error"]["code"].to_string(), code, "{answer}");
        assert_eq!(answer["id"].to_string(), id, "{answer}");
    }
    line.send(r#"{"jsonrpc":"2.0","id":9007199254740993,"method":"extension/shutdown","params":{"timeoutMillis":7}}"#).await;
    let answer = line.receive().await;
    assert_eq!(
        answer,
        r#"{"jsonrpc":"2.0","id":9007199254740993,"result":{"accepted":true}}"#
    );
}

#[tokio::test]
async fn responses_and_notifications_are_never_answered() {
    let (_connection, mut line) = bare(answering(), Options::default());
    for _ in 0..2 * MAX_UNSOUND {
        line.send(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}"#)
            .await;
    }
    line.send(r#"{"jsonrpc":"2.0","method":"extension/event","params":{"event":"nope"}}"#)
        .await;
    line.send(r#"{"jsonrpc":"2.0","method":"extension/nope"}"#)
        .await;
    line.send(r#"{"jsonrpc":"2.0","id":777,"result":{}}"#).await;
    line.send(r#"{"jsonrpc":"2.0","id":777,"result":{},"error":{}}"#)
        .await;
    line.send(
        r#"{"jsonrpc":"2.0","id":1,"method":"extension/shutdown","params":{"timeoutMillis":7}}"#,
    )
    .await;
    assert_eq!(
        line.receive().await,
        r#"{"jsonrpc":"2.0","id":1,"result":{"accepted":true}}"#
    );
}

#[tokio::test]
async fn too_many_unsound_frames_end_the_connection() {
    let told = Arc::new(AtomicU32::new(0));
    let hear = {
        let told = told.clone();
        move |unsound: &Unsound| {
            assert_eq!(unsound.line.expose(), "stray");
            told.fetch_add(1, Ordering::Relaxed);
        }
    };
    let options = Options {
        on_unsound: Some(Arc::new(hear)),
        ..Options::default()
    };
    let (connection, mut line) = bare(answering(), options);
    for _ in 0..MAX_UNSOUND {
        line.send("stray").await;
        assert!(line.receive().await.contains("-32700"));
    }
    assert_eq!(connection.peer().close_reason(), None);
    line.send("stray").await;
    assert_eq!(line.rest().await, "");
    let why = CloseReason::TooManyUnsound("it is not JSON".to_owned());
    assert_eq!(connection.finished().await, why);
    assert_eq!(told.load(Ordering::Relaxed), 17);
}

#[tokio::test]
async fn two_peers_with_a_bad_line_between_them_fall_silent() {
    let (near, mut near_line) = bare(answering(), Options::default());
    let (far, mut far_line) = bare(answering(), Options::default());
    near_line.send("bad").await;
    let mut passed = 0;
    // What one says is given to the other, until both have nothing to say.
    loop {
        let (mut left, mut right) = (String::new(), String::new());
        tokio::select! {
            _ = near_line.input.read_line(&mut left) => {
                far_line.output.write_all(left.as_bytes()).await.unwrap();
            }
            _ = far_line.input.read_line(&mut right) => {
                near_line.output.write_all(right.as_bytes()).await.unwrap();
            }
            () = tokio::time::sleep(Duration::from_millis(100)) => break,
        }
        passed += 1;
    }
    assert_eq!(passed, 1);
    assert_eq!(
        (near.peer().close_reason(), far.peer().close_reason()),
        (None, None)
    );
}

#[tokio::test]
async fn a_frame_before_one_that_is_too_long_is_answered() {
    let (connection, mut line) = bare(answering(), Options::default());
    line.send(
        r#"{"jsonrpc":"2.0","id":1,"method":"extension/shutdown","params":{"timeoutMillis":7}}"#,
    )
    .await;
    assert!(line.receive().await.contains("true"));
    let flood = vec![b'x'; MAX_FRAME + 1];
    let Line {
        mut input,
        mut output,
    } = line;
    let writer = tokio::spawn(async move { output.write_all(&flood).await });
    assert_eq!(connection.finished().await, CloseReason::FrameTooLarge);
    let mut rest = String::new();
    input.read_to_string(&mut rest).await.unwrap();
    assert_eq!(rest, "");
    drop(input);
    let _ = writer.await;
}

#[tokio::test]
async fn what_is_too_long_to_send_fails_alone() {
    let big = Router::new().on_request::<Intercept, _, _>(|_, _| async {
        let reason = "x".repeat(MAX_FRAME);
        Ok(InterceptResult::new(Decision::Block).with_reason(reason))
    });
    let (left, _right) = pair(Router::new(), big);
    let error = left
        .peer()
        .call::<Intercept>(&intercept("{}"), SOON)
        .await
        .unwrap_err();
    let CallError::Refused(error) = error else {
        panic!("{error:?}")
    };
    assert_eq!(
        (error.code, error.message.expose()),
        (-32_603, "response exceeds frame size limit")
    );
    let payload = format!("{{\"x\":\"{}\"}}", "x".repeat(MAX_FRAME));
    let error = left
        .peer()
        .call::<Intercept>(&intercept(&payload), SOON)
        .await
        .unwrap_err();
    assert_eq!(error.reason(), ErrorReason::FrameTooLarge);
    assert_eq!(left.peer().close_reason(), None);
}

fn intercept(payload: &str) -> InterceptParams {
    let payload = RawJson::parse(payload).unwrap();
    InterceptParams::new(
        reasonix_extension_protocol::HookPoint::ToolBefore,
        1,
        payload,
        5_000,
    )
}

#[tokio::test]
async fn the_longest_frame_is_sent_and_taken() {
    let echo = Router::new().on_request::<Intercept, _, _>(|params, _| async move {
        let length = params
            .payload
            .into_inline()
            .map_or(0, |raw| raw.as_str().len());
        Ok(InterceptResult::new(Decision::Block).with_reason(length.to_string()))
    });
    let (left, _right) = pair(Router::new(), echo);
    let empty =
        frame(|frame| method_and_params(frame, "extension/intercept", &intercept("{\"x\":\"\"}")));
    let room = MAX_FRAME - empty.unwrap().len() - ",\"id\":1".len();
    for (length, fits) in [(room, true), (room + 1, false)] {
        let payload = format!("{{\"x\":\"{}\"}}", "x".repeat(length));
        let outcome = left
            .peer()
            .call::<Intercept>(&intercept(&payload), SOON)
            .await;
        assert_eq!(outcome.is_ok(), fits, "{length}");
    }
}

#[tokio::test]
async fn a_panic_is_answered_and_costs_nothing_else() {
    let calls = AtomicU32::new(0);
    let panics = Router::new()
        .on_request::<Shutdown, _, _>(move |_, _| {
            let call = calls.fetch_add(1, Ordering::Relaxed);
            assert!(call != 0, "at once");
            async move {
                assert!(call != 1, "later");
                Ok(ShutdownResult::new(true))
            }
        })
        .on_notification::<Event, _, _>(|_, _| async { panic!("notified") });
    let (left, _right) = pair(Router::new(), panics);
    left.peer().notify::<Event>(&event()).await.unwrap();
    for _ in 0..2 {
        let error = left
            .peer()
            .call::<Shutdown>(&shutdown(), SOON)
            .await
            .unwrap_err();
        assert!(
            matches!(&error, CallError::Refused(error) if error.code == -32_603),
            "{error:?}"
        );
        assert_eq!(error.reason(), ErrorReason::Internal);
    }
    assert!(
        left.peer()
            .call::<Shutdown>(&shutdown(), SOON)
            .await
            .unwrap()
            .accepted
    );
}

#[tokio::test]
async fn handlers_run_beside_each_other_up_to_their_bound() {
    let go = Arc::new(tokio::sync::Semaphore::new(0));
    let waits = Router::new().on_request::<Shutdown, _, _>({
        let go = go.clone();
        move |_, _| {
            let go = go.clone();
            async move {
                go.acquire().await.unwrap().forget();
                Ok(ShutdownResult::new(true))
            }
        }
    });
    let (left, _right) = pair(Router::new(), waits);
    let calls: Vec<_> = (0..MAX_HANDLERS + 3)
        .map(|_| {
            let peer = left.peer().clone();
            tokio::spawn(async move { peer.call::<Shutdown>(&shutdown(), SOON).await })
        })
        .collect();
    let mut busy = 0;
    for call in calls.into_iter().rev() {
        match call.await.unwrap() {
            Ok(result) => assert!(result.accepted),
            Err(CallError::Refused(error)) => {
                assert_eq!(
                    (error.code, error.message.expose()),
                    (SERVER_BUSY, "server busy")
                );
                busy += 1;
                if busy == 3 {
                    go.add_permits(MAX_HANDLERS);
                }
            }
            Err(error) => panic!("{error:?}"),
        }
    }
    assert_eq!(busy, 3);
}

#[tokio::test]
async fn requests_and_notifications_are_handled_in_the_order_of_the_wire() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let service = Router::new()
        .on_notification::<Event, _, _>({
            let seen = seen.clone();
            move |_, _| {
                let seen = seen.clone();
                async move {
                    tokio::task::yield_now().await;
                    seen.lock().unwrap().push("event");
                }
            }
        })
        .on_request::<Shutdown, _, _>({
            let seen = seen.clone();
            move |_, _| {
                seen.lock().unwrap().push("request");
                async { Ok(ShutdownResult::new(true)) }
            }
        });
    let (connection, mut line) = bare(service, Options::default());
    let event = r#"{"jsonrpc":"2.0","method":"extension/event","params":{"event":"session.start","payload":{}}}"#;
    let request =
        r#"{"jsonrpc":"2.0","id":1,"method":"extension/shutdown","params":{"timeoutMillis":7}}"#;
    line.send(&[event, event, request, event, request].join("\n"))
        .await;
    line.receive().await;
    line.receive().await;
    assert_eq!(
        *seen.lock().unwrap(),
        ["event", "event", "request", "event", "request"]
    );
    drop(connection);
}

#[tokio::test]
async fn a_handler_may_call_back_though_a_flood_stands_before_the_answer() {
    // Far more than the box holds while nobody waits for an answer.
    const FLOOD: u64 = 30_000;
    let asked = Arc::new(AtomicUsize::new(0));
    let service = Router::new().on_notification::<StreamChunk, _, _>({
        let asked = asked.clone();
        move |params, peer: Peer| {
            let asked = asked.clone();
            async move {
                if params.seq == 1 {
                    peer.call::<Shutdown>(&shutdown(), SOON).await.unwrap();
                }
                asked.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    let (left, right) = pair(service, answering());
    for seq in 1..=FLOOD {
        right
            .peer()
            .notify::<StreamChunk>(&chunk(seq))
            .await
            .unwrap();
    }
    right.peer().flushed().await;
    while asked.load(Ordering::Relaxed) < usize::try_from(FLOOD).unwrap() {
        assert_eq!(left.peer().close_reason(), None);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn a_fast_sender_is_held_back_and_loses_nothing() {
    let go = Arc::new(tokio::sync::Semaphore::new(0));
    let next = Arc::new(AtomicUsize::new(1));
    let service = Router::new().on_notification::<StreamChunk, _, _>({
        let (go, next) = (go.clone(), next.clone());
        move |params, _| {
            let (go, next) = (go.clone(), next.clone());
            async move {
                let _pass = go.acquire().await.unwrap();
                let seq = next.fetch_add(1, Ordering::Relaxed);
                assert_eq!(params.seq, seq as u64);
            }
        }
    });
    let (_left, right) = pair(service, Router::new());
    let sent = Arc::new(AtomicUsize::new(0));
    let sender = tokio::spawn({
        let (peer, sent) = (right.peer().clone(), sent.clone());
        async move {
            for seq in 1..=50_000 {
                peer.notify::<StreamChunk>(&chunk(seq)).await.unwrap();
                sent.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    let mut last = usize::MAX;
    while last != sent.load(Ordering::Relaxed) {
        last = sent.load(Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(
        last < 20_000,
        "{last} frames were taken though nobody reads"
    );
    go.add_permits(1);
    sender.await.unwrap();
    while next.load(Ordering::Relaxed) < 50_001 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn the_best_effort_lane_refuses_when_it_is_full() {
    let (connection, mut line) = bare(Router::new(), Options::default());
    let peer = connection.peer();
    let taken = (0..100)
        .take_while(|_| peer.try_notify::<Event>(&event()).unwrap())
        .count();
    assert_eq!(taken, MAX_BEST_EFFORT);
    // What must arrive has a lane of its own.
    peer.notify::<Event>(&event()).await.unwrap();
    for _ in 0..=MAX_BEST_EFFORT {
        assert!(line.receive().await.contains("session.start"));
    }
    peer.flushed().await;
    assert!(peer.try_notify::<Event>(&event()).unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_reads_nothing_loses_the_connection_whatever_the_deadlines() {
    let (connection, line) = bare(Router::new(), Options::default());
    let payload = format!("{{\"x\":\"{}\"}}", "x".repeat(4 * PIPE));
    let hour = Duration::from_hours(1);
    let begun = tokio::time::Instant::now();
    let error = connection
        .peer()
        .call::<Intercept>(&intercept(&payload), hour)
        .await
        .unwrap_err();
    assert!(
        matches!(error, CallError::Closed(CloseReason::Stalled(_))),
        "{error:?}"
    );
    assert_eq!(begun.elapsed().as_secs(), WRITE_STALL.as_secs());
    drop(line);
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_is_no_stuck_one() {
    let (connection, mut line) = bare(Router::new(), Options::default());
    let payload = format!("{{\"x\":\"{}\"}}", "x".repeat(4 * PIPE));
    let peer = connection.peer().clone();
    let call = tokio::spawn(async move {
        peer.call::<Intercept>(&intercept(&payload), Duration::from_hours(1))
            .await
    });
    let mut read = 0;
    let mut page = vec![0; 16 * 1_024];
    while read < 4 * PIPE {
        tokio::time::sleep(WRITE_STALL.mul_f64(0.9)).await;
        read += line.input.get_mut().read(&mut page).await.unwrap();
    }
    assert_eq!(connection.peer().close_reason(), None);
    call.abort();
}

#[tokio::test]
async fn a_call_that_is_given_up_before_its_frame_begins_is_not_written() {
    let (connection, mut line) = bare(Router::new(), Options::default());
    let payload = format!("{{\"x\":\"{}\"}}", "x".repeat(4 * PIPE));
    let peer = connection.peer().clone();
    // Fills the pipe and stays in the middle of its frame.
    let first =
        tokio::spawn(async move { peer.call::<Intercept>(&intercept(&payload), SOON).await });
    tokio::task::yield_now().await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    let peer = connection.peer().clone();
    let second = tokio::spawn(async move { peer.call::<Shutdown>(&shutdown(), SOON).await });
    tokio::time::sleep(Duration::from_millis(20)).await;
    first.abort();
    second.abort();
    let _ = (first.await, second.await);
    connection.peer().notify::<Event>(&event()).await.unwrap();
    assert!(
        line.receive().await.contains("extension/intercept"),
        "a frame that was begun is finished"
    );
    assert!(
        line.receive().await.contains("extension/event"),
        "the given up call is skipped"
    );
}

#[tokio::test]
async fn until_it_is_open_only_answers_may_come() {
    let closed = || Options {
        open: false,
        ..Options::default()
    };
    for (sent, why) in [
        (
            r#"{"jsonrpc":"2.0","id":5,"method":"host/ui/publish","params":{}}"#,
            "the peer sent `host/ui/publish` before it might",
        ),
        (
            r#"{"jsonrpc":"2.0","method":"extension/provider/stream/end"}"#,
            "the peer sent `extension/provider/stream/end` before it might",
        ),
        (
            "\u{1b}[2Jready",
            "the peer sent a line that is no frame: \\u{1b}[2Jready",
        ),
    ] {
        let (connection, mut line) = bare(answering(), closed());
        let peer = connection.peer().clone();
        let call = tokio::spawn(async move { peer.call::<Shutdown>(&shutdown(), SOON).await });
        line.receive().await;
        line.send(sent).await;
        let error = call.await.unwrap().unwrap_err();
        assert_eq!(error.to_string(), why);
        assert_eq!(error.reason(), ErrorReason::ProtocolError);
        let rest = line.rest().await;
        assert_eq!(
            rest.contains(r#""id":5,"error":{"code":-32600"#),
            sent.contains(":5"),
            "{rest}"
        );
        assert_eq!(connection.finished().await.to_string(), why);
    }
    let (connection, mut line) = bare(answering(), closed());
    connection.peer().open();
    line.send(
        r#"{"jsonrpc":"2.0","id":5,"method":"extension/shutdown","params":{"timeoutMillis":7}}"#,
    )
    .await;
    assert!(line.receive().await.contains("true"));
}

#[tokio::test]
async fn requests_that_were_read_are_answered_after_the_end_where_that_is_asked() {
    let slow = || {
        Router::new().on_request::<Shutdown, _, _>(|_, _| async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            Ok(ShutdownResult::new(true))
        })
    };
    for answers in [true, false] {
        let options = Options {
            answer_after_end: answers.then_some(SOON),
            ..Options::default()
        };
        let (connection, mut line) = bare(slow(), options);
        for id in 1..=20 {
            line.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"extension/shutdown","params":{{"timeoutMillis":7}}}}"#)).await;
        }
        line.output.shutdown().await.unwrap();
        let rest = line.rest().await;
        assert_eq!(rest.lines().count(), if answers { 20 } else { 0 }, "{rest}");
        assert_eq!(connection.finished().await, CloseReason::PeerClosed);
    }
}

#[tokio::test]
async fn the_output_may_end_before_the_input() {
    let (connection, mut line) = bare(Router::new(), Options::default());
    let peer = connection.peer().clone();
    let call = tokio::spawn(async move {
        let params = shutdown();
        let call = peer.call::<Shutdown>(&params, SOON);
        let mut call = pin!(call);
        tokio::select! {
            _ = &mut call => panic!("nobody answered yet"),
            () = tokio::task::yield_now() => {}
        }
        peer.end_output();
        call.await
    });
    assert!(line.receive().await.contains("extension/shutdown"));
    assert_eq!(line.rest().await, "");
    line.send(r#"{"jsonrpc":"2.0","id":1,"result":{"accepted":true}}"#)
        .await;
    assert!(call.await.unwrap().unwrap().accepted);
    let read = ContentReadParams::new(ContentRef::new("content_1").unwrap(), 0);
    connection
        .peer()
        .call::<ContentRead>(&read, SOON)
        .await
        .unwrap_err();
}

/// A hundred chunks and whatever comes behind them, at once; gives how many were handled, and the cause of the
/// end.
async fn heard_before(tail: &[u8]) -> (u32, CloseReason) {
    let heard = Arc::new(AtomicU32::new(0));
    let router = Router::new().on_notification::<StreamChunk, _, _>({
        let heard = heard.clone();
        move |_, _| {
            let heard = heard.clone();
            async move {
                tokio::task::yield_now().await;
                heard.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    let mut bytes = Vec::new();
    for seq in 1..=100 {
        let params = reasonix_extension_protocol::encode(&chunk(seq)).unwrap();
        let params = String::from_utf8(params).unwrap();
        bytes.extend(format!(r#"{{"jsonrpc":"2.0","method":"extension/provider/stream/chunk","params":{params}}}"#).bytes());
        bytes.push(b'\n');
    }
    bytes.extend(tail);
    let (connection, line) = bare(router, Options::default());
    let Line { input, mut output } = line;
    let writer = tokio::spawn(async move {
        // The reader may have had enough.
        let _ = output.write_all(&bytes).await;
        let _ = output.shutdown().await;
    });
    let peer = connection.peer().clone();
    timeout(SOON, peer.handled()).await.unwrap();
    let reason = connection.finished().await;
    drop(input);
    writer.await.unwrap();
    (heard.load(Ordering::Relaxed), reason)
}

#[tokio::test]
async fn what_was_said_before_the_end_is_heard() {
    assert_eq!(heard_before(b"").await, (100, CloseReason::PeerClosed));
    let long = vec![b'x'; MAX_FRAME + 1];
    assert_eq!(heard_before(&long).await, (100, CloseReason::FrameTooLarge));
    let noise = b"noise\n".repeat(MAX_UNSOUND + 1);
    let (heard, reason) = heard_before(&noise).await;
    assert_eq!(heard, 100);
    assert!(matches!(reason, CloseReason::TooManyUnsound(_)), "{reason}");
}

#[tokio::test]
async fn what_waits_is_counted_with_all_that_it_keeps_in_memory() {
    let router =
        || Router::new().on_notification::<StreamChunk, _, _>(|_, _| std::future::pending());
    let chunk = r#"{"jsonrpc":"2.0","method":"extension/provider/stream/chunk","params":{"streamId":"s","seq":1,"chunk":{"type":"text","text":"x"}}}"#;
    // Padding within the line, and lines that are no frames.
    let padded = format!("{chunk}{}\n", " ".repeat(300_000));
    let spaced = format!("{}{chunk}\n", "\n".repeat(300_000));
    for text in [padded, spaced] {
        let (connection, line) = bare(router(), Options::default());
        let Line { input, mut output } = line;
        let mut taken = 0;
        while timeout(
            Duration::from_millis(300),
            output.write_all(text.as_bytes()),
        )
        .await
        .is_ok()
        {
            taken += 1;
            assert!(taken < 20, "it takes whatever comes");
        }
        drop((connection, input));
    }
}

#[tokio::test]
async fn what_is_given_up_does_not_hold_who_waits_for_everything_to_be_written() {
    let (connection, _line) = bare(Router::new(), Options::default());
    let peer = connection.peer();
    {
        let params = shutdown();
        let mut call = pin!(peer.call::<Shutdown>(&params, SOON));
        std::future::poll_fn(|context| {
            assert!(call.as_mut().poll(context).is_pending());
            Poll::Ready(())
        })
        .await;
    }
    timeout(SOON, peer.flushed()).await.unwrap();
}
