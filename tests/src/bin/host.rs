//! A host for tests, as a process of its own: one that is killed, or whose memory is looked at.
//!
//! `host hold MODE` starts a sidecar in a mode of `sidecar`, says so, and waits. `host survive MODE CALLS`
//! asks it so often, ends it, and prints the peak of its own memory in kB, how much it has grown since the
//! first tenth of the calls, and how many children are left.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "what goes wrong here fails the test that started it"
)]

use std::{fs, sync::Arc, time::Duration};

use reasonix_extension_host::{Launch, NoServices, Program, START_BUDGET, Session, Sidecar};
use reasonix_extension_protocol::{
    HookPoint, RawJson, decode_str,
    types::{Generation, NonBlank, SessionContext, SessionId, StreamOpenParams, UiHost},
};

/// Calls at once.
const IN_FLIGHT: u64 = 32;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match *words.as_slice() {
        ["hold", mode] => {
            let sidecar = start(mode).await;
            if mode == "honest" {
                let open = r#"{"streamId":"s","providerRef":"plugin/honest/echo","seqBase":1,"request":{"messages":[{"role":"user","content":"wait"}],"tools":[],"maxTokens":0}}"#;
                let open: StreamOpenParams = decode_str(open).unwrap();
                sidecar.open_stream(&open).await.unwrap();
            }
            println!("held");
            std::future::pending::<()>().await;
        }
        ["survive", mode, calls] => survive(mode, calls.parse().unwrap()).await,
        _ => panic!("no such mode"),
    }
}

async fn start(mode: &str) -> Sidecar {
    let program = std::env::current_exe().unwrap().with_file_name("sidecar");
    let mut launch = Launch::new("honest", "1", Program::new(program, "/").with_args([mode]));
    launch.intercepts = vec![
        HookPoint::InputReceive,
        HookPoint::ToolBefore,
        HookPoint::SessionStart,
    ];
    launch.capabilities = vec!["providers".to_owned(), "ui".to_owned()];
    launch.timeout = Some(Duration::from_secs(5));
    let context = SessionContext::new(
        SessionId::new("s").unwrap(),
        NonBlank::new("/").unwrap(),
        Generation::new(1),
    );
    let session = Session::new(context, UiHost::Headless);
    let started = Sidecar::start(launch, &session, Arc::new(NoServices::new()), START_BUDGET);
    started.await.unwrap()
}

async fn survive(mode: &str, calls: u64) {
    let sidecar = start(mode).await;
    ask(&sidecar, calls / 10).await;
    let [before, _] = memory();
    ask(&sidecar, calls - calls / 10).await;
    let [after, _] = memory();
    sidecar.shutdown().await;
    let [_, peak] = memory();
    println!("{peak} {} {}", after.saturating_sub(before), children());
}

/// Asks so often; what the sidecar makes of it is another test's business.
async fn ask(sidecar: &Sidecar, calls: u64) {
    let payload = RawJson::parse(r#"{"text":"echo it"}"#).unwrap();
    let mut callers = tokio::task::JoinSet::new();
    for caller in 0..IN_FLIGHT {
        let (sidecar, payload) = (sidecar.clone(), payload.clone());
        let calls = (calls + caller) / IN_FLIGHT;
        callers.spawn(async move {
            for _ in 0..calls {
                let _ = sidecar
                    .intercept(HookPoint::InputReceive, payload.clone())
                    .await;
            }
        });
    }
    while let Some(caller) = callers.join_next().await {
        caller.unwrap();
    }
}

/// Memory of this process in kB, now and at its peak.
fn memory() -> [u64; 2] {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    ["VmRSS:", "VmHWM:"].map(|name| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.split_whitespace().next());
        number.and_then(|number| number.parse().ok()).unwrap_or(0)
    })
}

/// Children that are there, if only as zombies.
fn children() -> usize {
    let parent = format!("PPid:\t{}", std::process::id());
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|process| fs::read_to_string(process.path().join("status")).ok())
        .filter(|status| status.lines().any(|line| line == parent))
        .count()
}
