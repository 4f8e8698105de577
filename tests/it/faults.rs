//! Sidecars that misbehave, one way each, and what the host makes of it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use reasonix_extension_host::{FailureKind, Notice, Stage, State};
use reasonix_extension_protocol::{ErrorReason, HookPoint};

use crate::live::{Heard, ask, input, launch, lives, start, start_of, until};

/// What no text of ours may hold.
const SECRET: &str = "A1b2C3d4E5f6G7h8";

#[tokio::test]
async fn a_start_that_fails_says_why_and_leaves_nothing() {
    for (mode, reason, why) in [
        (
            "dies-at-once",
            ErrorReason::ProviderInterrupted,
            "exit status 3",
        ),
        (
            "prints-first",
            ErrorReason::ProtocolError,
            "no frame: Welcome! token=****",
        ),
        (
            "logs-first",
            ErrorReason::ProtocolError,
            r#"no frame: {"level":"info","password":"****","api_key":"[redacted]"}"#,
        ),
        (
            "asks-early",
            ErrorReason::ProtocolError,
            "the peer sent `host/ui/publish` before it might",
        ),
        ("tells-early", ErrorReason::ProtocolError, "before it might"),
        (
            "version 2",
            ErrorReason::UnsupportedVersion,
            "major version 2",
        ),
        ("version x", ErrorReason::ProtocolError, "no major version"),
        (
            "refuses",
            ErrorReason::UnsupportedVersion,
            "it refused: no, token ****",
        ),
        (
            "undeclared",
            ErrorReason::CapabilityNotDeclared,
            "session.save",
        ),
    ] {
        let heard = Arc::new(Heard::default());
        let begun = Instant::now();
        let error = start_of(launch(mode), &heard).await.map(drop).unwrap_err();
        let text = error.to_string();
        assert_eq!(
            (error.stage, error.reason),
            (Stage::Handshake, reason),
            "{mode}: {text}"
        );
        assert!(
            text.contains(why) && !text.contains(SECRET) && !text.contains("swordfish"),
            "{mode}: {text}"
        );
        assert!(
            begun.elapsed() < Duration::from_secs(5),
            "{mode} took {:?}",
            begun.elapsed()
        );
        if mode == "dies-at-once" {
            assert!(text.contains("cannot start: api_key=****"), "{text}");
        }
        // It was never ready, so it is no crash.
        let notices = heard.notices.lock().unwrap();
        assert!(
            notices
                .iter()
                .all(|notice| matches!(notice, Notice::StrayLine { .. })),
            "{notices:?}"
        );
    }
}

#[tokio::test]
async fn what_cannot_be_run_fails_at_its_stage() {
    let heard = Arc::new(Heard::default());
    for (command, stage) in [("relative", Stage::Resolve), ("/nowhere", Stage::Spawn)] {
        let mut launch = launch("honest");
        launch.program.command = command.into();
        let error = start_of(launch, &heard).await.map(drop).unwrap_err();
        assert_eq!(error.stage, stage, "{error}");
    }
}

#[tokio::test]
async fn a_crash_fails_every_call_at_once_and_is_told_once() {
    let (sidecar, heard) = start("dies").await;
    let calls: Vec<_> = (0..10)
        .map(|_| {
            let sidecar = sidecar.clone();
            tokio::spawn(
                async move { sidecar.intercept(HookPoint::InputReceive, input("x")).await },
            )
        })
        .collect();
    for call in calls {
        let failure = call.await.unwrap().unwrap_err();
        assert_eq!(
            failure.reason(),
            ErrorReason::ProviderInterrupted,
            "{failure}"
        );
        assert!(matches!(failure.kind, FailureKind::Crashed(_)), "{failure}");
    }
    assert_eq!(sidecar.ended().await, State::Crashed);
    let begun = Instant::now();
    assert!(matches!(
        ask(&sidecar, "x").await,
        Err(FailureKind::Crashed(_))
    ));
    assert!(begun.elapsed() < Duration::from_millis(100));
    sidecar.shutdown().await;
    let notices = heard.notices.lock().unwrap();
    let [
        Notice::Crashed {
            plugin,
            why,
            stderr,
        },
    ] = notices.as_slice()
    else {
        panic!("{notices:?}")
    };
    assert_eq!(plugin, "honest");
    assert!(why.contains("exit status 7"), "{why}");
    assert!(stderr.contains("about to die, password=****"), "{stderr}");
}

#[tokio::test]
async fn these_end_the_sidecar() {
    for (mode, why) in [
        ("dies-in-a-frame", "exit status 0"),
        ("closes-stdout", "the peer closed the connection"),
        ("garbage", "more than 16 unsound frames"),
        ("too-long", "a frame of more than 8388608 bytes"),
    ] {
        let (sidecar, heard) = start(mode).await;
        let _ = ask(&sidecar, "x").await;
        assert_eq!(sidecar.ended().await, State::Crashed, "{mode}");
        until(mode, || {
            let notices = heard.notices.lock().unwrap();
            notices.iter().any(|notice| matches!(notice, Notice::Crashed { why: found, .. } if found.contains(why)))
        })
        .await;
    }
}

#[tokio::test]
async fn these_are_outlived() {
    for mode in [
        "twice",
        "unknown-id",
        "stray",
        "stderr-flood",
        "splits",
        "proceeds",
    ] {
        let (sidecar, heard) = start(mode).await;
        let expected = if mode == "splits" {
            "ä🦀€"
        } else {
            "continue"
        };
        for _ in 0..12 {
            assert_eq!(ask(&sidecar, "x").await.unwrap(), expected, "{mode}");
        }
        let notices = heard.notices.lock().unwrap();
        let strays = if mode == "stray" { 12 } else { 0 };
        assert_eq!(notices.len(), strays, "{notices:?}");
        assert!(!format!("{notices:?}").contains(SECRET), "{notices:?}");
    }
}

#[tokio::test]
async fn an_answer_that_breaks_the_contract_fails_its_call_alone() {
    let (sidecar, _heard) = start("unsound").await;
    for _ in 0..20 {
        let failure = ask(&sidecar, "x").await.unwrap_err();
        assert!(
            matches!(&failure, FailureKind::Unsound(ErrorReason::ProtocolError, text) if text.contains("/decision")),
            "{failure}"
        );
    }
    assert_eq!(sidecar.state(), State::Ready);
}

#[tokio::test]
async fn a_late_answer_rules_nothing() {
    let heard = Arc::new(Heard::default());
    let mut late = launch("late");
    late.timeout = Some(Duration::from_millis(300));
    let sidecar = start_of(late, &heard).await.unwrap();
    let begun = Instant::now();
    assert!(matches!(
        ask(&sidecar, "x").await,
        Err(FailureKind::TimedOut(_))
    ));
    assert!(begun.elapsed() < Duration::from_millis(650));
    tokio::time::sleep(Duration::from_millis(450)).await;
    for _ in 0..5 {
        assert_eq!(ask(&sidecar, "x").await.unwrap(), "continue");
    }
    assert_eq!(*heard.notices.lock().unwrap(), []);
}

#[tokio::test]
async fn both_pipes_full_is_no_deadlock() {
    let (sidecar, _heard) = start("both-full").await;
    let text = "x".repeat(60 * 1_024);
    let calls: Vec<_> = (0..200)
        .map(|_| {
            let (sidecar, text) = (sidecar.clone(), text.clone());
            tokio::spawn(async move { ask(&sidecar, &text).await })
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap(), "continue");
    }
}

#[tokio::test]
async fn a_sidecar_that_stops_reading_holds_nobody() {
    let heard = Arc::new(Heard::default());
    let mut stuck = launch("stops-reading");
    stuck.timeout = Some(Duration::from_millis(300));
    let sidecar = start_of(stuck, &heard).await.unwrap();
    assert_eq!(ask(&sidecar, "x").await.unwrap(), "continue");
    let text = "x".repeat(60 * 1_024);
    let begun = Instant::now();
    for _ in 0..4 {
        assert!(matches!(
            ask(&sidecar, &text).await,
            Err(FailureKind::TimedOut(_))
        ));
    }
    // Observation never waits.
    let payload = input(&text);
    let observed = Instant::now();
    let told = (0..1_000)
        .filter(|_| sidecar.observe(HookPoint::InputReceive, payload.clone()))
        .count();
    assert!(told <= 20, "{told}");
    assert!(observed.elapsed() < Duration::from_millis(500));
    assert!(begun.elapsed() < Duration::from_secs(4));
    let notices = heard.notices.lock().unwrap();
    assert!(
        matches!(notices.as_slice(), [Notice::MissedObservation { .. }]),
        "{notices:?}"
    );
}

#[tokio::test]
async fn an_end_is_bounded_whatever_the_sidecar_does() {
    let ends = ["ignores-shutdown", "stays", "ignores-the-end", "proceeds"].map(|mode| {
        tokio::spawn(async move {
            let (sidecar, heard) = start(mode).await;
            let begun = Instant::now();
            sidecar.shutdown().await;
            assert!(
                begun.elapsed() < Duration::from_secs(7),
                "{mode} took {:?}",
                begun.elapsed()
            );
            if mode == "proceeds" {
                assert!(
                    begun.elapsed() < Duration::from_secs(2),
                    "{:?}",
                    begun.elapsed()
                );
            }
            assert_eq!(sidecar.state(), State::Stopped);
            assert_eq!(*heard.notices.lock().unwrap(), []);
        })
    });
    for end in ends {
        end.await.unwrap();
    }
}

#[tokio::test]
async fn a_grandchild_that_holds_the_pipes_does_not_keep_the_connection() {
    let (sidecar, heard) = start("grandchild").await;
    let _ = ask(&sidecar, "exit").await;
    assert_eq!(sidecar.ended().await, State::Crashed);
    assert_eq!(heard.notices.lock().unwrap().len(), 1);
    let (sidecar, _heard) = start("grandchild").await;
    let child = ask(&sidecar, "stay").await.unwrap();
    assert!(lives(&child));
    sidecar.shutdown().await;
    until("the grandchild is gone", || !lives(&child)).await;
}
