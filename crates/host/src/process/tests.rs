use std::time::Instant;

use tokio::io::AsyncWriteExt as _;

use super::*;

async fn shell(script: &str) -> (Process, Pipes) {
    let program = Program::new("/bin/sh", "/").with_args(["-c", script]);
    Process::start("test", &program).await.unwrap()
}

async fn output(mut pipes: Pipes) -> String {
    let mut text = String::new();
    pipes.stdout.read_to_string(&mut text).await.unwrap();
    text
}

fn lives(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[tokio::test]
async fn arguments_and_variables_arrive_byte_for_byte() {
    use std::os::unix::ffi::OsStringExt as _;

    let folder = tempfile::tempdir().unwrap();
    let command = folder.path().join("a script");
    std::fs::write(
        &command,
        "#!/bin/sh\npwd; for a; do printf '<%s>' \"$a\"; done; printf '%s' \"$ODD\"",
    )
    .unwrap();
    let mut permissions = std::fs::metadata(&command).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
    std::fs::set_permissions(&command, permissions).unwrap();
    let args = ["a b", "$HOME", "`id`", "&& rm", "*", "", "\"'", "ä"];
    let program = Program::new(&command, "/usr")
        .with_args(args)
        .with_env("ODD", OsString::from_vec(vec![b'x', 0xff]));
    let (process, mut pipes) = Process::start("test", &program).await.unwrap();
    let mut bytes = Vec::new();
    pipes.stdout.read_to_end(&mut bytes).await.unwrap();
    let mut expected = b"/usr\n".to_vec();
    for arg in args {
        expected.extend(format!("<{arg}>").bytes());
    }
    expected.extend([b'x', 0xff]);
    assert_eq!(bytes, expected);
    assert_eq!(status_words(process.exited().await), "exit status 0");
}

#[tokio::test]
async fn what_cannot_be_run_is_an_error_at_once() {
    let program = Program::new("/nowhere/at/all", "/");
    let error = Process::start("test", &program)
        .await
        .map(drop)
        .unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}

#[tokio::test]
async fn a_kill_reaches_the_whole_tree() {
    let (process, mut pipes) = shell(
        "trap '' TERM HUP; sleep 1000 & sh -c 'sleep 1000 & echo $!; wait' & echo $! $$; wait",
    )
    .await;
    let mut bytes = vec![0; 64];
    let mut text = String::new();
    while text.split_whitespace().count() < 3 {
        let read = pipes.stdout.read(&mut bytes).await.unwrap();
        text += std::str::from_utf8(&bytes[..read]).unwrap();
    }
    assert!(text.split_whitespace().all(lives), "{text}");
    assert!(process.kill_and_reap().await);
    assert_eq!(
        status_words(process.status().unwrap()),
        "killed by signal 9"
    );
    // The kernel may take a moment to end the others.
    let begun = Instant::now();
    while text.split_whitespace().any(lives) {
        assert!(begun.elapsed() < REAP, "{text}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // Its number is not used again.
    assert!(process.0.tree.lock().is_none());
}

#[tokio::test]
async fn what_a_process_leaves_behind_ends_with_it() {
    let (process, pipes) = shell("sleep 1000 & echo $!").await;
    // The grandchild holds the pipe: this would wait for it.
    let text = output(pipes).await;
    assert_eq!(status_words(process.exited().await), "exit status 0");
    let begun = Instant::now();
    while lives(text.trim()) {
        assert!(begun.elapsed() < REAP, "{text}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn a_process_that_nobody_holds_is_killed() {
    let (process, mut pipes) = shell("echo $$; sleep 1000").await;
    let mut bytes = [0; 32];
    let read = pipes.stdout.read(&mut bytes).await.unwrap();
    let pid = std::str::from_utf8(&bytes[..read])
        .unwrap()
        .trim()
        .to_owned();
    assert!(lives(&pid));
    drop(process);
    let begun = Instant::now();
    while lives(&pid) {
        assert!(begun.elapsed() < REAP);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn standard_error_is_drained_and_its_end_is_kept_without_credentials() {
    let script = "i=0; while [ $i -lt 4000 ]; do echo \"line $i api_key=sk-$i-abcdefghijklmnop\" >&2; i=$((i+1)); done; printf 'the end' >&2";
    let (process, pipes) = shell(script).await;
    assert_eq!(output(pipes).await, "");
    process.exited().await;
    let begun = Instant::now();
    while !process.stderr_tail().ends_with("the end") {
        assert!(begun.elapsed() < REAP);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let tail = process.stderr_tail();
    assert!(tail.starts_with("line "), "{tail}");
    assert!(tail.len() <= STDERR_TAIL && !tail.contains("abcdefgh"));
}

#[test]
fn a_tail_that_was_cut_begins_with_a_whole_line() {
    let mut tail = Tail::default();
    tail.push(b"short");
    assert_eq!(tail.text(), "short");
    tail.push(&[b'x'; STDERR_TAIL]);
    assert_eq!(tail.text(), "");
    tail.push(b"\nlast");
    assert_eq!(tail.text(), "last");
    for _ in 0..10 {
        tail.push(&[b'y'; STDERR_TAIL]);
    }
    assert!(tail.bytes.len() <= 2 * STDERR_TAIL);
}

#[tokio::test]
async fn thirty_five_starts_leave_nothing() {
    for _ in 0..35 {
        let (process, mut pipes) = shell("read x").await;
        let _ = pipes.stdin.write_all(b"x\n").await;
        assert_eq!(status_words(process.exited().await), "exit status 0");
    }
}
