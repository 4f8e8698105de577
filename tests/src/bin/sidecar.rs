//! A sidecar for tests: an honest one, and one for each way to misbehave. Its first argument says which.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::exit,
    clippy::zombie_processes,
    clippy::print_stdout,
    reason = "what goes wrong here fails the test that started it"
)]

use std::{
    io::Write as _,
    process::{Command, ExitCode},
    thread,
    time::Duration,
};

use reasonix_extension_sdk::{
    Extension, Externalizable, HandlerError, RawJson, Ruling,
    hooks::{InputReceive, SessionStart, ToolBefore},
    methods::StreamChunk,
    payloads::{InputReceivePayload, UiStatusPayload},
    types::{
        ChunkType, ProviderChunk, ProviderDescriptor, ProviderRef, StreamChunkParams, SurfaceId,
        UiActionResult, UiPublishParamsDocument, UiSubmitResult,
    },
};
use serde_json::{Value, json};

/// Longer than any test waits.
const FOR_EVER: Duration = Duration::from_hours(1);

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let mode = args.next().unwrap_or_default();
    match mode.as_str() {
        "honest" => return honest(),
        "upper" => {
            return Extension::new("upper", "1")
                .on::<InputReceive, _, _>(|input, _| async move {
                    let text = input.text.to_uppercase();
                    Ok(Ruling::replace(InputReceivePayload::new().with_text(text)))
                })
                .run();
        }
        "silent" => hang(),
        "dies-at-once" => {
            eprintln!("cannot start: api_key=sk-test-A1b2C3d4E5f6G7h8");
            return ExitCode::from(3);
        }
        "prints-first" => {
            println!("Welcome! token=sk-test-A1b2C3d4E5f6G7h8");
            hang();
        }
        "logs-first" => {
            println!(
                "{}",
                json!({"level":"info","password":"hunter2-swordfish","api_key":"abc123short"})
            );
            hang();
        }
        "asks-early" => {
            send(&json!({"jsonrpc":"2.0","id":1,"method":"host/ui/publish","params":{}}));
            hang();
        }
        "tells-early" => {
            let mut raw = Raw::new();
            let (id, _) = raw.request();
            let result =
                json!({"name":"x","version":"1","protocolVersion":"1","stateSchemaVersion":0});
            let answer = json!({"jsonrpc":"2.0","id":id,"result":result});
            let early = json!({"jsonrpc":"2.0","method":"extension/provider/stream/end","params":{"streamId":"s","lastSeq":0}});
            // In one write, so that nothing can come between.
            write(format!("{answer}\n{early}\n").as_bytes());
            hang();
        }
        "version" => {
            let mut raw = Raw::new();
            let (id, _) = raw.request();
            let version = args.next().unwrap_or_default();
            answer(
                &id,
                &json!({"name":"x","version":"1","protocolVersion":version,"stateSchemaVersion":0}),
            );
            hang();
        }
        "refuses" => {
            let mut raw = Raw::new();
            let (id, _) = raw.request();
            let data = json!({"reason":"unsupported_version","retryable":false});
            let error =
                json!({"code":-32000,"message":"no, token sk-test-A1b2C3d4E5f6G7h8","data":data});
            send(&json!({"jsonrpc":"2.0","id":id,"error":error}));
            hang();
        }
        "undeclared" => {
            let mut raw = Raw::new();
            let (id, _) = raw.request();
            let result = json!({"name":"x","version":"1","protocolVersion":"1","stateSchemaVersion":0,"subscriptions":["session.save"]});
            answer(&id, &result);
            hang();
        }
        mode => misbehave(mode, Raw::started()),
    }
    ExitCode::SUCCESS
}

/// What it does when it is asked for a ruling, or at once.
fn misbehave(mode: &str, mut raw: Raw) {
    match mode {
        "floods" => flood(),
        "both-full" => {
            // Far more than both pipes hold, before it reads anything.
            for id in 1..=400 {
                let padding = "x".repeat(60_000);
                send(&json!({"jsonrpc":"2.0","id":id,"method":"host/nope","params":{"x":padding}}));
            }
        }
        "secret-in-pieces" => {
            let secret = b"sk-test-A1b2C3d4E5f6G7h8";
            let mut output = std::io::stderr();
            for piece in secret.chunks(3) {
                output.write_all(piece).unwrap();
                thread::sleep(Duration::from_millis(5));
            }
            output.write_all(b"\nAuthorization: Bearer ").unwrap();
            for half in secret.chunks(12) {
                output.write_all(half).unwrap();
                thread::sleep(Duration::from_millis(20));
            }
            std::process::exit(1);
        }
        "closes-stdout" => {
            raw.request();
            drop(raw);
            rustix::stdio::dup2_stdout(std::fs::File::open("/dev/null").unwrap()).unwrap();
            hang();
            return;
        }
        _ => {}
    }
    let mut asked = 0;
    while let Some((id, request)) = raw.next() {
        let method = request["method"].as_str().unwrap_or_default().to_owned();
        if method == "extension/shutdown" {
            match mode {
                "ignores-shutdown" => hang(),
                "spins" => loop {
                    std::hint::spin_loop();
                },
                "stays" => {
                    answer(&id, &json!({"accepted":true}));
                    hang();
                }
                _ => answer(&id, &json!({"accepted":true})),
            }
            continue;
        }
        if id.is_null() || method.is_empty() {
            continue;
        }
        if matches!(mode, "one-write" | "chunks-first") {
            stream_in_one_write(&id, &request, mode == "chunks-first");
            continue;
        }
        asked += 1;
        let proceed = json!({"decision":"continue"});
        let first = asked == 1;
        match mode {
            "dies" if asked == 10 => {
                eprintln!("about to die, password=hunter2-swordfish");
                std::process::exit(7);
            }
            "dies" => {}
            "dies-in-a-frame" => {
                write(b"{\"jsonrpc\":\"2.0\",\"id\":");
                std::process::exit(0);
            }
            "late" if first => {
                // Later than its test waits, which is 300 ms.
                thread::sleep(Duration::from_millis(700));
                answer(&id, &json!({"decision":"block","reason":"late"}));
            }
            "twice" => {
                answer(&id, &proceed);
                answer(&id, &json!({"decision":"block"}));
            }
            "unknown-id" => {
                answer(&json!(777), &json!({"decision":"block"}));
                answer(&json!("1"), &json!({"decision":"block"}));
                answer(&id, &proceed);
            }
            "stray" => {
                write(b"a library says hello, token sk-test-A1b2C3d4E5f6G7h8\n");
                answer(&id, &proceed);
            }
            "garbage" => write(&b"\x00\xff}{\n".repeat(100)),
            "splits" => {
                let line = format!(
                    "{}\r\n",
                    json!({"jsonrpc":"2.0","id":id,"result":{"decision":"block","reason":"ä🦀€"}})
                );
                for byte in line.bytes() {
                    write(&[byte]);
                }
            }
            "too-long" => {
                answer(&id, &proceed);
                write(&vec![b'x'; 9 * 1_024 * 1_024]);
            }
            "stderr-flood" => {
                let line = "x".repeat(1_023) + "\n";
                for _ in 0..1_024 {
                    std::io::stderr().write_all(line.as_bytes()).unwrap();
                }
                answer(&id, &proceed);
            }
            "grandchild" => {
                // It holds all three descriptors.
                let child = Command::new("sleep").arg("1000").spawn().unwrap();
                answer(
                    &id,
                    &json!({"decision":"block","reason":child.id().to_string()}),
                );
                if request["params"]["payload"]["text"] == "exit" {
                    std::process::exit(0);
                }
            }
            "unsound" => answer(&id, &json!({"decision":"perhaps"})),
            "stops-reading" => {
                answer(&id, &proceed);
                hang();
            }
            _ => answer(&id, &proceed),
        }
    }
    if mode == "ignores-the-end" {
        hang();
    }
}

/// Lives and does nothing: that is the fault that the mode is for.
fn hang() {
    thread::sleep(FOR_EVER);
}

/// Answers the opening of a stream and sends all of the stream, at once.
fn stream_in_one_write(id: &Value, request: &Value, chunks_first: bool) {
    let stream = &request["params"]["streamId"];
    let mut lines = vec![json!({"jsonrpc":"2.0","id":id,"result":{"accepted":true}})];
    for (seq, text) in (1..).zip(["a", "b", "c"]) {
        let params = json!({"streamId":stream,"seq":seq,"chunk":{"type":"text","text":text}});
        lines.push(
            json!({"jsonrpc":"2.0","method":"extension/provider/stream/chunk","params":params}),
        );
    }
    let params = json!({"streamId":stream,"lastSeq":3});
    lines.push(json!({"jsonrpc":"2.0","method":"extension/provider/stream/end","params":params}));
    if chunks_first {
        lines[..3].rotate_left(1);
    }
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    write((lines.join("\n") + "\n").as_bytes());
}

fn flood() {
    let mut batch = Vec::new();
    for seq in 1..=200_000_u64 {
        let chunk = json!({"streamId":"s","seq":seq,"chunk":{"type":"text","text":"x".repeat(50)}});
        writeln!(
            batch,
            "{}",
            json!({"jsonrpc":"2.0","method":"extension/provider/stream/chunk","params":chunk})
        )
        .unwrap();
        if batch.len() > 60_000 {
            write(&batch);
            batch.clear();
        }
    }
    write(&batch);
}

/// Standard input and output without any library of ours.
struct Raw {
    lines: std::io::Lines<std::io::StdinLock<'static>>,
}

impl Raw {
    fn new() -> Self {
        Self {
            lines: std::io::stdin().lines(),
        }
    }

    /// After an honest handshake.
    fn started() -> Self {
        let mut raw = Self::new();
        let (id, request) = raw.request();
        let points = request["params"]["manifest"]["intercepts"].clone();
        let points = if points.is_null() { json!([]) } else { points };
        answer(
            &id,
            &json!({"name":"x","version":"1","protocolVersion":"1","stateSchemaVersion":0,"subscriptions":points}),
        );
        let (_, initialized) = raw.request();
        assert_eq!(initialized["method"], "extension/initialized");
        raw
    }

    fn next(&mut self) -> Option<(Value, Value)> {
        let line = self.lines.next()?.ok()?;
        let frame: Value = serde_json::from_str(&line).unwrap();
        Some((frame["id"].clone(), frame))
    }

    fn request(&mut self) -> (Value, Value) {
        self.next().unwrap()
    }
}

fn answer(id: &Value, result: &Value) {
    send(&json!({"jsonrpc":"2.0","id":id,"result":result}));
}

fn send(frame: &Value) {
    write(format!("{frame}\n").as_bytes());
}

fn write(bytes: &[u8]) {
    let mut output = std::io::stdout().lock();
    // The host may be gone: then there is nothing left to do.
    if output
        .write_all(bytes)
        .and_then(|()| output.flush())
        .is_err()
    {
        std::process::exit(1);
    }
}

/// What the SDK can do.
fn honest() -> ExitCode {
    let model = ProviderDescriptor::new(ProviderRef::new("plugin/honest/echo").unwrap());
    Extension::new("honest", "1.0.0")
        .on::<InputReceive, _, _>(|input, host| async move {
            match input.text.as_str() {
                "panic" => panic!("asked to"),
                "fail" => Err(HandlerError::new("token sk-test-A1b2C3d4E5f6G7h8")),
                "sleep" => {
                    tokio::time::sleep(FOR_EVER).await;
                    Ok(Ruling::proceed())
                }
                "print" => {
                    println!("stray");
                    Ok(Ruling::proceed())
                }
                "cat" => {
                    // Its input is that of this process.
                    let mut cat = Command::new("cat");
                    let child = cat.stdout(std::process::Stdio::piped()).spawn()?;
                    let said = child.wait_with_output()?.stdout.len();
                    Ok(Ruling::block(format!("{said} bytes")))
                }
                "publish" => {
                    let status = UiStatusPayload::new("busy".try_into()?);
                    let document = UiPublishParamsDocument::Status(status);
                    let shown = host.publish(SurfaceId::new("s")?, &document).await?;
                    Ok(Ruling::block(format!("shown: {shown}")))
                }
                text if text.starts_with("echo ") => Ok(Ruling::replace(
                    InputReceivePayload::new().with_text(text.to_uppercase()),
                )),
                text => Ok(Ruling::block(format!("{} bytes", text.len()))),
            }
        })
        .on::<ToolBefore, _, _>(|_, _| async { Ok(Ruling::proceed()) })
        .observe::<SessionStart, _, _>(|session, host| async move {
            let status = UiStatusPayload::new("started".try_into().unwrap())
                .with_detail(session.session_path);
            let document = UiPublishParamsDocument::Status(status);
            host.publish(SurfaceId::new("s").unwrap(), &document)
                .await
                .unwrap();
        })
        .action("greet", "Greet", |action, _| async move {
            let name = action.args.and_then(|args| args.get("arg1").cloned());
            Ok(UiActionResult::new(true).with_message(name.unwrap_or_default()))
        })
        .on_submit(|form, _| async move {
            Ok(UiSubmitResult::new(
                form.values.get("yes").map(RawJson::as_str) == Some("true"),
            ))
        })
        .provider(model, |open, sink, host| async move {
            for message in open.request.messages {
                let text = message
                    .content
                    .and_then(Externalizable::into_inline)
                    .unwrap_or_default();
                match text.as_str() {
                    "fail" => return Err(HandlerError::new("the model is gone")),
                    "panic" => panic!("asked to"),
                    "wait" => {
                        sink.text("waiting").await?;
                        tokio::time::sleep(FOR_EVER).await;
                    }
                    "flood" => {
                        // Past the sink, as fast as the wire takes it.
                        for seq in 1..=200_000 {
                            let chunk =
                                ProviderChunk::new(ChunkType::Text).with_text("x".repeat(50));
                            let params = StreamChunkParams::new(open.stream_id.clone(), seq, chunk);
                            host.peer().notify::<StreamChunk>(&params).await?;
                        }
                    }
                    text => {
                        for word in text.split_inclusive(' ') {
                            sink.text(word).await?;
                        }
                    }
                }
            }
            Ok(())
        })
        .on_stop(|_| async { eprintln!("stopping") })
        .run()
}
