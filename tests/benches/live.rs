//! A host and a sidecar as two processes, against what the same processes could do at best: raw lines over
//! the same pipes, with blocking reads and no parsing.
//!
//! This program is every process: without a known first word it is the host.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a benchmark that goes wrong ends; figures are far below 2^53"
)]

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use reasonix_extension_host::{
    BoxFuture, Launch, Program, START_BUDGET, Services, Session, Sidecar,
    dispatch::{Dispatcher, Participant},
};
use reasonix_extension_protocol::{
    HookPoint, RawJson, decode_str, limits,
    payloads::InputReceivePayload,
    types::{
        Decision, Generation, NonBlank, ProviderDescriptor, ProviderRef, SessionContext, SessionId,
        StreamChunkParams, StreamEndParams, StreamOpenParams, UiActionParams, UiActionResult,
        UiHost,
    },
};
use reasonix_extension_sdk::{Extension, Ruling, hooks::InputReceive};
use reasonix_extension_tests::bench::{Allowed, Table, median};
use sha2::Digest as _;
use tokio::sync::Notify;

/// Payload of a small ruling, and of a large one that still travels inline, in bytes of JSON.
const SMALL: usize = 200;
const LARGE: usize = 60 * 1_024;
/// Chunks of a stream, and the text of each.
const CHUNKS: u64 = 200_000;
const CHUNK_TEXT: usize = 50;
/// What the writer of the wire joins into one system call; the floor does the same.
const BATCH: usize = 16 * 1_024;
/// How long a whole stream may take before something is wrong.
const PATIENCE: Duration = Duration::from_mins(1);
/// Calls at once.
const IN_FLIGHT: u64 = 32;
/// Rulings on the largest payload, all over one connection.
const LARGEST_TIMES: usize = 70;
/// Calls of the soak.
const SOAK: u64 = 1_000_000;
/// Peak memory of each process in kB: in general, and with the largest payloads.
const MEMORY: u64 = 32 * 1_024;
const LARGEST_MEMORY: u64 = 128 * 1_024;
/// What may be added between the first tenth of the soak and its end, in kB: noise of the allocator.
const SOAK_GROWTH: u64 = 1_024;

fn main() -> ExitCode {
    // Cargo adds a word of its own.
    let words = std::env::args().skip(1).filter(|word| word != "--bench");
    let words: Vec<String> = words.collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match *words.as_slice() {
        ["bounce"] => bounce(),
        ["one-line"] => println!("ready"),
        ["lines", count, batch, line] => {
            lines(count.parse().unwrap(), batch.parse().unwrap(), line);
        }
        ["sidecar"] => return sidecar(),
        ["--only", what] => return host(what),
        _ => return host(""),
    }
    ExitCode::SUCCESS
}

/// Sends back every line that comes.
fn bounce() {
    let mut input = BufReader::with_capacity(2 * LARGE, std::io::stdin().lock());
    let mut output = std::io::stdout().lock();
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line).unwrap() > 0 {
        output.write_all(&line).unwrap();
        output.flush().unwrap();
        line.clear();
    }
}

/// Writes so many lines once a byte has come, joined while they fit into `room` bytes.
fn lines(count: u64, room: usize, line: &str) {
    std::io::stdin().read_exact(&mut [0]).unwrap();
    // What ends with a line end goes straight to the descriptor.
    let mut output = std::io::stdout().lock();
    let mut batch = Vec::with_capacity(room);
    for _ in 0..count {
        if batch.len() + line.len() >= room && !batch.is_empty() {
            output.write_all(&batch).unwrap();
            batch.clear();
        }
        batch.extend_from_slice(line.as_bytes());
        batch.push(b'\n');
    }
    output.write_all(&batch).unwrap();
}

/// An extension of the SDK.
fn sidecar() -> ExitCode {
    let model = ProviderDescriptor::new(ProviderRef::new("plugin/bench/flood").unwrap());
    Extension::new("bench", "1")
        .on::<InputReceive, _, _>(|input, _| async move {
            Ok(if input.text.starts_with('r') {
                Ruling::replace(input)
            } else {
                Ruling::proceed()
            })
        })
        .action("memory", "Memory", |_, _| async {
            let [now, peak] = memory();
            Ok(UiActionResult::new(true).with_message(format!("{now} {peak}")))
        })
        .provider(model, |_, sink, _| async move {
            let text = "x".repeat(CHUNK_TEXT);
            for _ in 0..CHUNKS {
                sink.text(text.as_str()).await?;
            }
            Ok(())
        })
        .run()
}

/// Memory of this process in kB, now and at its peak; zero where the system does not say.
fn memory() -> [u64; 2] {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    ["VmRSS:", "VmHWM:"].map(|name| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.split_whitespace().next());
        number.and_then(|number| number.parse().ok()).unwrap_or(0)
    })
}

/// A process of the floor.
struct Raw {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: Vec<u8>,
}

impl Raw {
    fn start(words: &[&str]) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            input: child.stdin.take().unwrap(),
            output: BufReader::with_capacity(2 * LARGE, child.stdout.take().unwrap()),
            child,
            line: Vec::new(),
        }
    }

    /// The length of the next line; zero at the end.
    fn read(&mut self) -> usize {
        self.line.clear();
        self.output.read_until(b'\n', &mut self.line).unwrap()
    }

    fn bounce(&mut self, line: &[u8]) {
        self.input.write_all(line).unwrap();
        assert_eq!(self.read(), line.len());
    }

    fn end(mut self) {
        drop(self.input);
        assert!(self.child.wait().unwrap().success());
    }
}

/// Counts the chunks of a stream, each of which must be the next one.
#[derive(Default)]
struct Counted {
    last: AtomicU64,
    /// Whether something was out of order, or not what was sent.
    wrong: AtomicBool,
    ended: Notify,
}

impl Services for Counted {
    fn chunk(&self, _plugin: &str, params: StreamChunkParams) -> BoxFuture<()> {
        let next = params.seq == self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let whole = params.chunk.text.map(|text| text.len()) == Some(CHUNK_TEXT);
        // A panic here would be contained, and seen by nobody.
        self.wrong.fetch_or(!next || !whole, Ordering::Relaxed);
        Box::pin(std::future::ready(()))
    }

    fn stream_end(&self, _plugin: &str, params: StreamEndParams) -> BoxFuture<()> {
        let whole = params.last_seq == CHUNKS && params.error.is_none();
        self.wrong.fetch_or(!whole, Ordering::Relaxed);
        self.ended.notify_one();
        Box::pin(std::future::ready(()))
    }
}

fn session() -> Session {
    let context = SessionContext::new(
        SessionId::new("bench").unwrap(),
        NonBlank::new("/").unwrap(),
        Generation::new(1),
    );
    Session::new(context, UiHost::Headless)
}

async fn start(counted: &Arc<Counted>) -> Sidecar {
    let program = Program::new(std::env::current_exe().unwrap(), "/").with_args(["sidecar"]);
    let mut launch = Launch::new("bench", "1", program);
    launch.intercepts = vec![HookPoint::InputReceive];
    launch.capabilities = vec!["providers".to_owned(), "ui".to_owned()];
    Sidecar::start(launch, &session(), counted.clone(), START_BUDGET)
        .await
        .unwrap()
}

/// A payload of so many bytes, whose text begins so.
fn payload(first: char, bytes: usize) -> RawJson {
    let around = r#"{"text":""}"#.len() + first.len_utf8();
    let json = format!(r#"{{"text":"{first}{}"}}"#, "x".repeat(bytes - around));
    RawJson::parse(&json).unwrap()
}

/// A ruling that is asked for again and again.
struct Case {
    what: String,
    payload: RawJson,
    /// The line that bounces instead.
    line: Vec<u8>,
    decision: Decision,
    allowed: Allowed,
}

impl Case {
    /// One that goes on, and one that sends back a payload of the same size.
    fn both(size: &str, bytes: usize, most: f64) -> [Self; 2] {
        [
            (
                format!("ruling on {size}"),
                'x',
                Decision::Continue,
                Allowed::AtMost(most),
            ),
            (
                format!("replacement of {size}"),
                'r',
                Decision::Replace,
                Allowed::Any,
            ),
        ]
        .map(|(what, first, decision, allowed)| {
            let payload = payload(first, bytes);
            let line = line_of(&payload);
            Self {
                what,
                payload,
                line,
                decision,
                allowed,
            }
        })
    }
}

/// The line that carries a payload, of the length that it has on the wire.
fn line_of(payload: &RawJson) -> Vec<u8> {
    format!(
        r#"{{"jsonrpc":"2.0","id":1000,"method":"extension/intercept","params":{{"event":"input.receive","seq":1000,"payload":{},"timeoutMillis":5000}}}}{}"#,
        payload.as_str(),
        '\n'
    )
    .into_bytes()
}

async fn ruled(sidecar: &Sidecar, payload: RawJson, decision: Decision) {
    let ruled = sidecar.intercept(HookPoint::InputReceive, payload);
    assert_eq!(ruled.await.unwrap().result.decision, decision);
}

/// Measures everything, or what is named so.
fn host(only: &str) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut table = Table::default();
        let wanted = |what: &str| only.is_empty() || only == what;
        let counted = Arc::new(Counted::default());
        let sidecar = start(&counted).await;
        if wanted("start") {
            starts(&mut table).await;
        }
        for (name, size, bytes, trips, most) in [
            ("small", "200 B", SMALL, 1_000, 2.5),
            ("large", "60 KiB", LARGE, 100, 3.0),
        ] {
            if !wanted(name) {
                continue;
            }
            let mut floor = Raw::start(&["bounce"]);
            for case in Case::both(size, bytes, most) {
                round_trips(&mut table, &mut floor, &sidecar, &case, trips).await;
            }
            floor.end();
        }
        if wanted("dispatch") {
            dispatches(&mut table).await;
        }
        if wanted("stream") {
            streams(&mut table, &sidecar, &counted).await;
        }
        if wanted("in-flight") {
            in_flight(&mut table, &sidecar).await;
        }
        if wanted("soak") {
            soak(&mut table, &sidecar).await;
        }
        peaks(&mut table, &sidecar, "peak memory", MEMORY).await;
        sidecar.shutdown().await;
        let sidecar = start(&counted).await;
        if wanted("largest") {
            largest(&mut table, &sidecar).await;
        }
        peaks(&mut table, &sidecar, "peak memory, 8 MiB", LARGEST_MEMORY).await;
        sidecar.shutdown().await;
        if table.met() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    })
}

/// From nothing to a sidecar that may be asked, against a process that prints a line.
async fn starts(table: &mut Table) {
    const SAMPLES: usize = 31;
    let (mut ours, mut floors) = (Vec::new(), Vec::new());
    for _ in 0..SAMPLES {
        let begun = Instant::now();
        let mut raw = Raw::start(&["one-line"]);
        assert_eq!(raw.read(), "ready\n".len());
        floors.push(begun.elapsed());
        raw.end();
        let begun = Instant::now();
        let sidecar = start(&Arc::default()).await;
        ours.push(begun.elapsed());
        sidecar.shutdown().await;
    }
    times(
        table,
        "start to initialized",
        &mut ours,
        &mut floors,
        Allowed::AtMost(3.0),
    );
}

fn times(
    table: &mut Table,
    what: &str,
    ours: &mut [Duration],
    floors: &mut [Duration],
    allowed: Allowed,
) {
    let (ours, floor) = (median(ours), median(floors));
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    let measured = format!("{:.1} us to {:.1} us", micros(ours), micros(floor));
    let ratio = ours.as_secs_f64() / floor.as_secs_f64();
    table.row(what, &measured, Some(ratio), allowed);
}

/// Rulings one after the other, against lines that bounce.
async fn round_trips(
    table: &mut Table,
    floor: &mut Raw,
    sidecar: &Sidecar,
    case: &Case,
    trips: u32,
) {
    const SAMPLES: usize = 21;
    let (mut ours, mut floors) = (Vec::new(), Vec::new());
    for _ in 0..SAMPLES {
        let begun = Instant::now();
        for _ in 0..trips {
            floor.bounce(&case.line);
        }
        floors.push(begun.elapsed() / trips);
        // A host hands over what it has.
        let payloads = vec![case.payload.clone(); trips as usize];
        let begun = Instant::now();
        for payload in payloads {
            ruled(sidecar, payload, case.decision).await;
        }
        ours.push(begun.elapsed() / trips);
    }
    times(table, &case.what, &mut ours, &mut floors, case.allowed);
}

/// What a host pays where there is no extension, and where there are four in a chain.
async fn dispatches(table: &mut Table) {
    const SAMPLES: usize = 21;
    /// Runs a sample: long enough for the clock.
    const NULL_RUNS: u32 = 100_000;
    const NULL_NANOS: f64 = 10.0;
    let null = Dispatcher::none();
    let (mut checks, mut nulls) = (Vec::new(), Vec::new());
    for _ in 0..SAMPLES {
        let begun = Instant::now();
        for _ in 0..NULL_RUNS {
            std::hint::black_box(std::hint::black_box(&null).asks(HookPoint::InputReceive));
        }
        checks.push(begun.elapsed());
        let begun = Instant::now();
        for _ in 0..NULL_RUNS {
            let payload = std::hint::black_box(InputReceivePayload::new());
            let outcome = null.dispatch::<InputReceive>(payload).await.unwrap();
            std::hint::black_box(outcome.changed);
        }
        nulls.push(begun.elapsed());
    }
    let nanos =
        |samples: &mut [Duration]| median(samples).as_secs_f64() * 1e9 / f64::from(NULL_RUNS);
    let (check, null) = (nanos(&mut checks), nanos(&mut nulls));
    table.row(
        "call site without extensions",
        &format!("{check:.1} of {NULL_NANOS} ns"),
        Some(check / NULL_NANOS),
        Allowed::AtMost(1.0),
    );
    table.row(
        "a payload past it all the same",
        &format!("{null:.1} ns"),
        None,
        Allowed::Any,
    );

    let mut participants = Vec::new();
    let mut others = Vec::new();
    for number in 0..4 {
        let other = start(&Arc::default()).await;
        let mut participant = Participant::of(&other).unwrap();
        participant.plugin = format!("bench-{number}");
        participants.push(participant);
        others.push(other);
    }
    let chain = Dispatcher::builder(participants).unwrap().build();
    let raw = payload('x', SMALL);
    let typed: InputReceivePayload = raw.decode().unwrap();
    let (mut ours, mut floors) = (Vec::new(), Vec::new());
    for _ in 0..SAMPLES {
        const RUNS: u32 = 300;
        // Each of the same processes in its turn: to ask another is to wake another.
        let begun = Instant::now();
        for other in others.iter().cycle().take(RUNS as usize) {
            ruled(other, raw.clone(), Decision::Continue).await;
        }
        floors.push(begun.elapsed() / RUNS);
        let begun = Instant::now();
        for _ in 0..RUNS {
            let outcome = chain.dispatch::<InputReceive>(typed.clone()).await;
            assert!(!outcome.unwrap().changed);
        }
        ours.push(begun.elapsed() / RUNS);
    }
    times(
        table,
        "chain of four, to one of its rulings",
        &mut ours,
        &mut floors,
        Allowed::AtMost(4.4),
    );
    for other in others {
        other.shutdown().await;
    }
}

/// A stream as fast as the sidecar can, against lines in batches of the same size.
async fn streams(table: &mut Table, sidecar: &Sidecar, counted: &Counted) {
    const SAMPLES: u64 = 7;
    let line = format!(
        r#"{{"jsonrpc":"2.0","method":"extension/provider/stream/chunk","params":{{"streamId":"stream-1","seq":100000,"chunk":{{"type":"text","text":"{}"}}}}}}"#,
        "x".repeat(CHUNK_TEXT)
    );
    let (mut ours, mut floors, mut singles) = (Vec::new(), Vec::new(), Vec::new());
    for sample in 0..SAMPLES {
        floors.push(lines_take(&line, BATCH));
        singles.push(lines_take(&line, 0));

        counted.last.store(0, Ordering::Relaxed);
        let begun = Instant::now();
        let open = format!(
            r#"{{"streamId":"stream-{sample}","providerRef":"plugin/bench/flood","seqBase":1,"request":{{"messages":[],"tools":[],"maxTokens":1}}}}"#
        );
        let open: StreamOpenParams = decode_str(&open).unwrap();
        sidecar.open_stream(&open).await.unwrap();
        let ended = tokio::time::timeout(PATIENCE, counted.ended.notified());
        ended.await.unwrap();
        ours.push(begun.elapsed());
        assert_eq!(counted.last.load(Ordering::Relaxed), CHUNKS);
        assert!(!counted.wrong.load(Ordering::Relaxed));
    }
    let ours = median(&mut ours);
    let rate = |time: Duration| CHUNKS as f64 / time.as_secs_f64();
    for (what, floor, allowed) in [
        (
            "200,000 chunks, to joined lines",
            &mut floors,
            Allowed::AtLeast(0.35),
        ),
        (
            "200,000 chunks, to single lines",
            &mut singles,
            Allowed::Any,
        ),
    ] {
        let floor = median(floor);
        let measured = format!(
            "{:.0} to {:.0} k lines/s",
            rate(ours) / 1e3,
            rate(floor) / 1e3
        );
        table.row(what, &measured, Some(rate(ours) / rate(floor)), allowed);
    }
}

/// How long the floor takes for all lines.
fn lines_take(line: &str, room: usize) -> Duration {
    let mut raw = Raw::start(&["lines", &CHUNKS.to_string(), &room.to_string(), line]);
    let begun = Instant::now();
    raw.input.write_all(b"x").unwrap();
    let mut read = 0;
    while raw.read() > 0 {
        read += 1;
    }
    let time = begun.elapsed();
    assert_eq!(read, CHUNKS);
    raw.end();
    time
}

/// Many calls at once: each is answered.
async fn in_flight(table: &mut Table, sidecar: &Sidecar) {
    const CALLS: u64 = 64_000;
    let begun = Instant::now();
    many(sidecar, CALLS).await;
    let each = begun.elapsed().as_secs_f64() * 1e6 / CALLS as f64;
    let measured = format!("{CALLS} of {CALLS}, {each:.1} us each");
    table.row(
        "32 in flight, answered",
        &measured,
        Some(1.0),
        Allowed::AtLeast(1.0),
    );
}

/// Makes so many calls, 32 at a time; every one must be answered.
async fn many(sidecar: &Sidecar, calls: u64) {
    let payload = payload('x', SMALL);
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..IN_FLIGHT {
        let (sidecar, payload) = (sidecar.clone(), payload.clone());
        callers.spawn(async move {
            for _ in 0..calls / IN_FLIGHT {
                ruled(&sidecar, payload.clone(), Decision::Continue).await;
            }
        });
    }
    while let Some(caller) = callers.join_next().await {
        caller.unwrap();
    }
}

/// A million calls: the memory of both sides stays what it was after the first tenth.
async fn soak(table: &mut Table, sidecar: &Sidecar) {
    many(sidecar, SOAK / 10).await;
    let before = [memory(), memory_of(sidecar).await];
    many(sidecar, SOAK - SOAK / 10).await;
    let after = [memory(), memory_of(sidecar).await];
    for (side, ([before, _], [after, _])) in ["host", "sidecar"]
        .iter()
        .zip(before.iter().zip(&after).map(|(a, b)| (*a, *b)))
    {
        let measured = format!("{before} kB to {after} kB");
        let grown = after.saturating_sub(before) as f64 / SOAK_GROWTH as f64;
        let what = format!("a million calls, growth of the {side}");
        table.row(&what, &measured, Some(grown), Allowed::AtMost(1.0));
    }
}

async fn memory_of(sidecar: &Sidecar) -> [u64; 2] {
    let action = "memory".to_owned().try_into().unwrap();
    let session = SessionId::new("bench").unwrap();
    let params = UiActionParams::new(action, session, Generation::new(1));
    let message = sidecar.action(&params).await.unwrap().message.unwrap();
    let (now, peak) = message.split_once(' ').unwrap();
    [now, peak].map(|number| number.parse().unwrap())
}

async fn peaks(table: &mut Table, sidecar: &Sidecar, what: &str, most: u64) {
    for (side, [_, peak]) in [("host", memory()), ("sidecar", memory_of(sidecar).await)] {
        table.row(
            &format!("{what}, {side}"),
            &format!("{:.1} of {} MiB", peak as f64 / 1_024.0, most / 1_024),
            Some(peak as f64 / most as f64),
            Allowed::AtMost(1.0),
        );
    }
}

/// The largest payload by reference, against hashing and encoding its bytes once.
async fn largest(table: &mut Table, sidecar: &Sidecar) {
    let payload = payload(
        'x',
        usize::try_from(limits::CONTENT_REF_OBJECT_BYTES).unwrap(),
    );
    let (mut ours, mut floors) = (Vec::new(), Vec::new());
    for _ in 0..LARGEST_TIMES {
        let begun = Instant::now();
        let digest = sha2::Sha256::digest(payload.as_str().as_bytes());
        let text = BASE64_STANDARD.encode(payload.as_str());
        floors.push(begun.elapsed());
        std::hint::black_box((digest, text));
        let payload = payload.clone();
        let begun = Instant::now();
        ruled(sidecar, payload, Decision::Continue).await;
        ours.push(begun.elapsed());
    }
    times(
        table,
        "ruling, 8 MiB by reference",
        &mut ours,
        &mut floors,
        Allowed::AtMost(6.0),
    );
}
