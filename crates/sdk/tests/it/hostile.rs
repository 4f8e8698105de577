//! A host that misbehaves, line by line.

use std::time::Duration;

use reasonix_extension_sdk::{
    Extension, HandlerError, Ruling, ServeError, StreamSink,
    hooks::InputReceive,
    payloads::InputReceivePayload,
    types::{ProviderDescriptor, ProviderRef},
};
use tokio::{
    io::{
        AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream,
        ReadHalf, WriteHalf,
    },
    task::JoinHandle,
    time::timeout,
};

const SOON: Duration = Duration::from_secs(20);
/// What the pipe between the sides holds: as on Linux.
const PIPE: usize = 64 * 1_024;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"extension/initialize","params":{"protocolId":"reasonix.extension.v1","protocolVersion":"1","manifest":{},"session":{"sessionId":"s","workspaceRoot":"/w","generation":1},"capabilities":{"protocolVersion":"1","uiHost":"headless","contentRefs":true}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"extension/initialized"}"#;

fn intercept(id: u32, text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"extension/intercept","params":{{"event":"input.receive","seq":{id},"payload":{{"text":"{text}"}},"timeoutMillis":5000}}}}"#
    )
}

fn open(id: u32, stream: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"extension/provider/stream/open","params":{{"streamId":"{stream}","providerRef":"plugin/tested/endless","request":{{"messages":[],"tools":[],"maxTokens":1}},"seqBase":1}}}}"#
    )
}

/// The bare host of one extension.
struct Line {
    input: BufReader<ReadHalf<DuplexStream>>,
    output: WriteHalf<DuplexStream>,
    served: JoinHandle<Result<(), ServeError>>,
}

impl Line {
    fn new() -> Self {
        let (near, far) = tokio::io::duplex(PIPE);
        let (input, output) = tokio::io::split(far);
        let served = tokio::spawn(extension().serve_on(input, output));
        let (input, output) = tokio::io::split(near);
        Self {
            input: BufReader::new(input),
            output,
            served,
        }
    }

    /// One that may be asked.
    async fn ready() -> Self {
        let mut line = Self::new();
        line.send(INITIALIZE).await;
        assert!(line.receive().await.contains(r#""name":"tested""#));
        line.send(INITIALIZED).await;
        line
    }

    async fn send(&mut self, line: &str) {
        self.write(format!("{line}\n").as_bytes()).await;
    }

    async fn write(&mut self, bytes: &[u8]) {
        timeout(SOON, self.output.write_all(bytes))
            .await
            .expect("taken in time")
            .unwrap();
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

    /// Closes the way to the extension; gives what it still says, and how it ended.
    async fn end(mut self) -> (String, Result<(), ServeError>) {
        self.output.shutdown().await.unwrap();
        let mut rest = String::new();
        timeout(SOON, self.input.read_to_string(&mut rest))
            .await
            .expect("the end in time")
            .unwrap();
        (rest, self.served.await.unwrap())
    }
}

fn extension() -> Extension {
    let model = ProviderDescriptor::new(ProviderRef::new("plugin/tested/endless").unwrap());
    Extension::new("tested", "1")
        .on::<InputReceive, _, _>(|received, _| async move {
            if received.text == "slow" {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            let text = format!("{}!", received.text);
            Ok(Ruling::replace(InputReceivePayload::new().with_text(text)))
        })
        .action("wait", "Wait", |_, _| std::future::pending())
        .provider(model, |_, sink: StreamSink, _| async move {
            loop {
                sink.text("more").await.map_err(HandlerError::from)?;
                tokio::task::yield_now().await;
            }
        })
}

#[tokio::test]
async fn only_the_handshake_is_served_before_the_handshake() {
    let mut line = Line::new();
    line.send(&intercept(1, "a")).await;
    assert!(line.receive().await.contains("protocol_error"));
    // A notification before its time is passed over.
    line.send(INITIALIZED).await;
    line.send(&intercept(2, "a")).await;
    assert!(line.receive().await.contains("protocol_error"));
    line.send(INITIALIZE).await;
    assert!(line.receive().await.contains(r#""result""#));
    line.send(&intercept(3, "a")).await;
    assert!(line.receive().await.contains("protocol_error"));
    // What says that it is ready takes effect before anything behind it.
    line.send(&format!("{INITIALIZED}\n{}", intercept(4, "a")))
        .await;
    assert!(
        line.receive()
            .await
            .contains(r#""replacement":{"text":"a!"}"#)
    );
    // It has one life.
    line.send(INITIALIZE).await;
    assert!(line.receive().await.contains("initialized already"));
    line.send(&intercept(5, "b")).await;
    assert!(line.receive().await.contains(r#""text":"b!""#));
    assert!(line.end().await.1.is_ok());
}

#[tokio::test]
async fn a_host_of_another_protocol_is_told_and_left() {
    for (find, put, reason) in [
        ("reasonix.extension.v1", "other.v1", "protocol_error"),
        (
            r#""protocolVersion":"1","manifest""#,
            r#""protocolVersion":"2","manifest""#,
            "unsupported_version",
        ),
    ] {
        let mut line = Line::new();
        line.send(&INITIALIZE.replace(find, put)).await;
        assert!(line.receive().await.contains(reason));
        let (rest, end) = line.end().await;
        assert_eq!(rest, "");
        assert!(matches!(end, Err(ServeError::NotStarted(_))), "{end:?}");
    }
}

#[tokio::test]
async fn bytes_may_come_one_at_a_time() {
    let mut line = Line::new();
    for byte in format!("{INITIALIZE}\r\n\n  {INITIALIZED}\n").bytes() {
        line.write(&[byte]).await;
        tokio::task::yield_now().await;
    }
    assert!(line.receive().await.contains(r#""result""#));
    for byte in format!("{}\n", intercept(2, "grüße")).bytes() {
        line.write(&[byte]).await;
        tokio::task::yield_now().await;
    }
    assert!(line.receive().await.contains(r#""text":"grüße!""#));
    assert!(line.end().await.1.is_ok());
}

#[tokio::test]
async fn noise_is_answered_so_often_and_no_more() {
    let mut line = Line::ready().await;
    for _ in 0..100 {
        // The other side may have ended.
        let _ = line.output.write_all(b"noise\n").await;
    }
    let (rest, end) = line.end().await;
    assert!(rest.lines().count() <= 16, "{rest}");
    assert!(matches!(end, Err(ServeError::Broken(_))), "{end:?}");
}

#[tokio::test]
async fn what_was_asked_before_the_end_is_answered() {
    let mut line = Line::ready().await;
    let asked: String = (1..=40).map(|id| intercept(id, "slow") + "\n").collect();
    line.write(asked.as_bytes()).await;
    // The last one without its line end.
    line.write(intercept(41, "last").as_bytes()).await;
    let (rest, end) = line.end().await;
    assert_eq!(
        rest.lines()
            .filter(|line| line.contains(r#""replacement""#))
            .count(),
        41
    );
    assert!(end.is_ok(), "{end:?}");
}

#[tokio::test]
async fn an_end_in_the_middle_of_a_stream_or_of_a_frame_is_no_panic() {
    let mut line = Line::ready().await;
    line.send(&open(1, "s")).await;
    assert!(line.receive().await.contains(r#""accepted":true"#));
    line.send(&open(2, "s")).await;
    loop {
        let received = line.receive().await;
        if received.contains(r#""id":2"#) {
            assert!(received.contains("protocol_error"), "{received}");
            break;
        }
        assert!(received.contains(r#""streamId":"s""#), "{received}");
    }
    let (_, end) = line.end().await;
    assert!(matches!(end, Err(ServeError::Interrupted(1))), "{end:?}");

    let mut line = Line::ready().await;
    line.write(&intercept(1, "a").as_bytes()[..40]).await;
    let (rest, end) = line.end().await;
    assert!(rest.contains("-32700"), "{rest}");
    assert!(end.is_ok(), "{end:?}");
}

#[tokio::test(start_paused = true)]
async fn a_host_that_reads_nothing_is_left_in_time() {
    let mut line = Line::ready().await;
    line.send(&open(1, "s")).await;
    // Nothing is read from here on; the stream fills the pipe and waits.
    let end = timeout(Duration::from_mins(2), line.served)
        .await
        .unwrap()
        .unwrap();
    assert!(matches!(end, Err(ServeError::Broken(_))), "{end:?}");
}

#[tokio::test(start_paused = true)]
async fn a_host_that_vanishes_is_not_outlived_by_a_handler() {
    let mut line = Line::ready().await;
    line.send(r#"{"jsonrpc":"2.0","id":1,"method":"extension/ui/action","params":{"actionId":"wait","sessionId":"s","generation":1}}"#).await;
    // It is running before the host is gone.
    tokio::time::sleep(Duration::from_millis(10)).await;
    let Line {
        input,
        output,
        served,
    } = line;
    drop((input, output));
    let end = timeout(Duration::from_secs(15), served).await;
    end.expect("it ends").unwrap().unwrap();
}

#[tokio::test]
async fn a_host_that_floods_and_reads_nothing_is_held_back() {
    let mut line = Line::ready().await;
    let large = intercept(1, &"x".repeat(60_000)) + "\n";
    let mut sent = 0_usize;
    // Each is answered with as much again, and nobody reads that.
    while let Ok(written) = timeout(
        Duration::from_millis(500),
        line.output.write_all(large.as_bytes()),
    )
    .await
    {
        written.unwrap();
        sent += large.len();
        assert!(sent < 64 * 1_024 * 1_024, "it takes whatever comes");
    }
    drop(line.input);
    drop(line.output);
}
