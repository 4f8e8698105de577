//! Whatever a peer sends, what it is answered is sound, no more than one answer a frame, and the connection
//! ends when the input does.
#![no_main]

use libfuzzer_sys::fuzz_target;
use reasonix_extension_protocol::{methods::Shutdown, types::ShutdownResult};
use reasonix_extension_wire::{Connection, MAX_UNSOUND, Options, Router};
use tokio::io::AsyncReadExt as _;

/// More than all answers to an input.
const PIPE: usize = 16 * 1_024 * 1_024;

fuzz_target!(|input: &[u8]| {
    let input = input.to_vec();
    let lines = input.split(|byte| *byte == b'\n').count();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let answers = runtime.block_on(async move {
        let router = Router::new()
            .on_request::<Shutdown, _, _>(|_, _| async { Ok(ShutdownResult::new(true)) });
        let (output, mut answers) = tokio::io::duplex(PIPE);
        let mut options = Options::default();
        options.answer_after_end = Some(std::time::Duration::from_secs(10));
        let connection = Connection::start(std::io::Cursor::new(input), output, router, options);
        connection.finished().await;
        let mut text = String::new();
        answers.read_to_string(&mut text).await.unwrap();
        text
    });
    assert!(answers.lines().count() <= lines);
    let mut unsound = 0;
    for answer in answers.lines() {
        let answer: serde_json::Value = serde_json::from_str(answer).unwrap();
        assert_eq!(answer["jsonrpc"], "2.0");
        assert!(answer.get("method").is_none());
        assert!(answer.get("result").is_some() != answer.get("error").is_some());
        unsound += usize::from(answer["id"].is_null());
    }
    assert!(unsound <= MAX_UNSOUND);
});
