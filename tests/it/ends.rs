//! Processes that end, or are ended, at a bad moment; and what a host has grown by in its life.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    process::{Child, Command, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use reasonix_extension_host::{Generation, Notice, Services, State};
use reasonix_extension_protocol::types::StreamOpenParams;
use serde_json::json;

use crate::live::{Heard, launch, lives, session, start, start_of, until};

/// What a process that is told nothing more may still take.
const SOON: Duration = Duration::from_secs(10);

/// The processes whose parent is this one.
fn children_of(parent: u32) -> Vec<String> {
    let mut children = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let status = fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        if status
            .lines()
            .any(|line| *line == format!("PPid:\t{parent}"))
        {
            children.push(entry.file_name().into_string().unwrap());
        }
    }
    children
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn no_sidecar_outlives_a_host_that_is_killed() {
    // In the middle of a stream, deaf to the end of its input, and in the middle of nothing.
    for mode in ["honest", "ignores-the-end", "proceeds"] {
        let mut host = Command::new(env!("CARGO_BIN_EXE_host"))
            .args(["hold", mode])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(host.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "held\n");
        let sidecars = children_of(host.id());
        assert_eq!(sidecars.len(), 1, "{mode}");
        host.kill().unwrap();
        host.wait().unwrap();
        let begun = Instant::now();
        until("the sidecar is gone", || {
            !sidecars.iter().any(|pid| lives(pid))
        })
        .await;
        assert!(begun.elapsed() < Duration::from_secs(2), "{mode}");
    }
}

/// Kilobytes at the peak and grown by, and children left, of a host that lives through a mode.
fn survived(mode: &str, calls: u64) -> [u64; 3] {
    let output = Command::new(env!("CARGO_BIN_EXE_host"))
        .args(["survive", mode, &calls.to_string()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{mode}: {output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let numbers: Vec<u64> = text
        .split_whitespace()
        .map(|n| n.parse().unwrap())
        .collect();
    numbers.try_into().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn no_sidecar_costs_its_host_memory_or_processes() {
    // Two of the longest frames, and as much again.
    const MOST: u64 = 64 * 1_024;
    for mode in [
        "floods",
        "both-full",
        "garbage",
        "too-long",
        "stderr-flood",
        "splits",
        "twice",
        "unknown-id",
        "dies-in-a-frame",
        "closes-stdout",
    ] {
        let [peak, _, children] = survived(mode, 100);
        assert!(peak < MOST, "{mode}: {peak} kB");
        assert_eq!(children, 0, "{mode}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn many_calls_leave_nothing_behind() {
    let [peak, grown, children] = survived("honest", 40_000);
    assert!(peak < 32 * 1_024, "{peak} kB");
    // Noise of the allocator.
    assert!(grown < 1_024, "{grown} kB");
    assert_eq!(children, 0);
}

/// A sidecar of the SDK under a host that is a shell: it writes what it has and reads at leisure.
fn shell() -> Child {
    Command::new(env!("CARGO_BIN_EXE_sidecar"))
        .arg("honest")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// What a host says first, and then these texts to be ruled on.
fn asked(texts: &[String]) -> String {
    let session = json!({"sessionId":"s","workspaceRoot":"/w","generation":1});
    let capabilities = json!({"protocolVersion":"1","uiHost":"headless","contentRefs":true});
    let params = json!({"protocolId":"reasonix.extension.v1","protocolVersion":"1","manifest":{},"session":session,"capabilities":capabilities});
    let mut lines = vec![
        json!({"jsonrpc":"2.0","id":0,"method":"extension/initialize","params":params}),
        json!({"jsonrpc":"2.0","method":"extension/initialized","params":{}}),
    ];
    for (index, text) in texts.iter().enumerate() {
        let seq = index + 1;
        let params =
            json!({"event":"input.receive","seq":seq,"payload":{"text":text},"timeoutMillis":5000});
        lines
            .push(json!({"jsonrpc":"2.0","id":seq,"method":"extension/intercept","params":params}));
    }
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    lines.join("\n") + "\n"
}

#[test]
fn whatever_was_asked_before_the_end_is_answered() {
    let texts: Vec<String> = (0..20).map(|number| format!("echo {number}")).collect();
    let asked = asked(&texts);
    for _ in 0..200 {
        let mut sidecar = shell();
        sidecar
            .stdin
            .take()
            .unwrap()
            .write_all(asked.as_bytes())
            .unwrap();
        let output = sidecar.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let answers = String::from_utf8(output.stdout).unwrap();
        assert_eq!(answers.lines().count(), 21, "{answers}");
    }
}

#[test]
fn a_large_answer_leaves_whole_before_the_process_does() {
    let text = format!("echo {}", "a".repeat(300_000));
    let mut sidecar = shell();
    let asked = asked(&[text]);
    // It takes more than the pipe holds, so it is written while the answer waits to be read.
    let mut input = sidecar.stdin.take().unwrap();
    input.write_all(asked.as_bytes()).unwrap();
    drop(input);
    let mut output = sidecar.stdout.take().unwrap();
    let mut read = Vec::new();
    let mut page = [0; 2_048];
    loop {
        thread::sleep(Duration::from_millis(5));
        match output.read(&mut page).unwrap() {
            0 => break,
            bytes => read.extend_from_slice(&page[..bytes]),
        }
    }
    assert!(sidecar.wait().unwrap().success());
    let answers = String::from_utf8(read).unwrap();
    let last = answers.lines().last().unwrap();
    assert!(last.contains(&"A".repeat(300_000)), "{} bytes", last.len());
}

#[tokio::test]
async fn eight_that_do_not_end_are_ended_together() {
    let heard: Arc<dyn Services> = Arc::new(Heard::default());
    let launches = (0..8).map(|number| {
        let mode = ["ignores-shutdown", "stays", "spins", "ignores-the-end"][number % 4];
        let mut launch = launch(mode);
        launch.name = format!("slow-{number}");
        launch
    });
    let generation = Generation::start(launches, &session(), &heard)
        .await
        .unwrap();
    let sidecars: Vec<_> = generation.sidecars().cloned().collect();
    assert_eq!(sidecars.len(), 8);
    let begun = Instant::now();
    generation.shutdown().await;
    assert!(
        begun.elapsed() < Duration::from_secs(7),
        "{:?}",
        begun.elapsed()
    );
    // Ending twice is ending once.
    generation.shutdown().await;
    assert!(
        sidecars
            .iter()
            .all(|sidecar| sidecar.state() == State::Stopped)
    );
}

#[tokio::test]
async fn what_stands_in_one_write_is_heard_in_its_order() {
    for mode in ["one-write", "chunks-first"] {
        let (sidecar, heard) = start(mode).await;
        for number in 0..500 {
            let open = json!({
                "streamId": format!("s{number}"), "providerRef": "plugin/honest/echo", "seqBase": 1,
                "request": {"messages": [], "tools": [], "maxTokens": 0},
            });
            let open: StreamOpenParams = serde_json::from_value(open).unwrap();
            sidecar.open_stream(&open).await.unwrap();
            until("the end", || heard.ends.lock().unwrap().len() == number + 1).await;
            let mut chunks = heard.chunks.lock().unwrap();
            assert_eq!(
                std::mem::take(&mut *chunks),
                ("abc".to_owned(), 3),
                "{mode}"
            );
        }
    }
}

#[tokio::test]
async fn a_secret_that_is_written_in_pieces_is_no_less_secret() {
    let heard = Arc::new(Heard::default());
    let sidecar = start_of(launch("secret-in-pieces"), &heard).await.unwrap();
    tokio::time::timeout(SOON, sidecar.ended()).await.unwrap();
    until("the notice", || !heard.notices.lock().unwrap().is_empty()).await;
    let notices = format!("{:?}", heard.notices.lock().unwrap());
    assert!(notices.contains("Bearer"), "{notices}");
    let secret = "sk-test-A1b2C3d4E5f6G7h8";
    for part in secret.as_bytes().windows(8) {
        let part = std::str::from_utf8(part).unwrap();
        assert!(!notices.contains(part), "{notices}");
    }
    assert!(matches!(
        heard.notices.lock().unwrap().as_slice(),
        [Notice::Crashed { .. }]
    ));
}
