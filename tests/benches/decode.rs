//! Decoding a small stream chunk: the strict types against plain serde on a lenient struct, in turns.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use reasonix_extension_protocol::{RawJson, decode, encode, types::StreamChunkParams};
use reasonix_extension_tests::bench::{Allowed, Table, median};
use serde::Deserialize;

/// A chunk with a text of 50 bytes: what a stream is made of.
const CHUNK: &str = r#"{"streamId":"es_0123456789abcdef01234567","seq":42,"chunk":{"type":"text","text":"fifty bytes of text, which is what a chunk carries."}}"#;

/// How many times as long strict decoding may take.
const BUDGET: f64 = 1.5;
/// Samples of each side: enough that bursts of a neighbour do not reach the median.
const SAMPLES: usize = 101;
/// Messages a sample: long enough for the clock.
const MESSAGES: u32 = 2_000;

/// What one would write by hand without a thought of strictness.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Lenient {
    stream_id: String,
    seq: u64,
    chunk: LenientChunk,
}

#[derive(Deserialize)]
struct LenientChunk {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
}

fn main() {
    let [strict, lenient] = medians([
        &|| {
            black_box(decode::<StreamChunkParams>(black_box(CHUNK.as_bytes())).is_ok());
        },
        &|| {
            let chunk = serde_json::from_slice::<Lenient>(black_box(CHUNK.as_bytes()));
            black_box(chunk.is_ok_and(|message| {
                message.seq == 42
                    && !message.stream_id.is_empty()
                    && message.chunk.kind == "text"
                    && message.chunk.text.is_some()
            }));
        },
    ]);
    let mut table = Table::default();
    row(
        &mut table,
        "decode a chunk, strict to lenient",
        strict,
        Some(lenient),
        Allowed::AtMost(BUDGET),
    );

    let message: StreamChunkParams = decode(CHUNK.as_bytes()).expect("the chunk is sound");
    let [encoding, _] = medians([
        &|| {
            black_box(encode(black_box(&message)).is_ok());
        },
        &|| {},
    ]);
    row(&mut table, "encode a chunk", encoding, None, Allowed::Any);

    let text = payload(10_000);
    let [strict, plain] = medians([
        &|| {
            black_box(RawJson::parse(black_box(&text)).is_ok());
        },
        &|| {
            let raw = serde_json::from_str::<Box<serde_json::value::RawValue>>(black_box(&text));
            black_box(raw.is_ok());
        },
    ]);
    row(
        &mut table,
        "10 KB of raw JSON, scanned to plain",
        strict,
        Some(plain),
        Allowed::Any,
    );

    assert!(
        table.met(),
        "strict decoding is slower than its budget of {BUDGET}"
    );
}

/// Prints a row of the times of one call.
fn row(table: &mut Table, what: &str, ours: Duration, floor: Option<Duration>, allowed: Allowed) {
    let ratio = floor.map(|floor| ours.as_secs_f64() / floor.as_secs_f64());
    let measured = match floor {
        Some(floor) => format!("{} ns to {} ns", ours.as_nanos(), floor.as_nanos()),
        None => format!("{} ns", ours.as_nanos()),
    };
    table.row(what, &measured, ratio, allowed);
}

/// The median time of one call of each, measured in turns.
fn medians(calls: [&dyn Fn(); 2]) -> [Duration; 2] {
    let mut samples = calls.map(|_| Vec::with_capacity(SAMPLES));
    for _ in 0..SAMPLES {
        for (call, samples) in calls.iter().zip(&mut samples) {
            let start = Instant::now();
            for _ in 0..MESSAGES {
                call();
            }
            samples.push(start.elapsed() / MESSAGES);
        }
    }
    samples.map(|mut samples| median(&mut samples))
}

/// JSON text of about `size` bytes, as a tool's arguments or a conversation would be.
fn payload(size: usize) -> String {
    let mut text = String::from("{\"messages\":[");
    while text.len() < size {
        if !text.ends_with('[') {
            text.push(',');
        }
        text.push_str(
            r#"{"role":"user","content":"What does this function do, and why does it return early?","n":[1,2,3]}"#,
        );
    }
    text.push_str("]}");
    text
}
