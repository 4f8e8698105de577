//! Starts a sidecar and does with it, once, everything that a host can do.
//!
//! ```text
//! host PROGRAM [ARG]...
//! ```
//!
//! The plugin is named after the last word, without its folder and its extension. It is granted every hook
//! point, models and actions.

use std::{
    collections::BTreeMap,
    error::Error,
    path::{Path, absolute},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use reasonix_extension_host::{
    BoxFuture, Launch, Notice, Program, RpcError, Ruled, START_BUDGET, Services, Session, Sidecar,
};
use reasonix_extension_protocol::{
    Externalizable, HookPoint, RawJson,
    payloads::{InputReceivePayload, SessionPayload, SessionPhase, ToolBeforePayload},
    types::{
        Decision, Generation, NonBlank, ProviderMessage, ProviderRequest, Role, SessionContext,
        SessionId, StreamChunkParams, StreamEndParams, StreamId, StreamOpenParams, SurfaceId,
        UiActionParams, UiHost, UiPublishParams, UiPublishResult, UiRequestParams, UiRequestResult,
        UiSubmitParams,
    },
};
use tokio::{sync::Notify, time::timeout};

/// Text that travels by reference: more than 65,536 bytes.
const LONG: usize = 100_000;

/// How long the sidecar may take with what nobody answers.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the host does for its sidecars: it prints what they say.
#[derive(Default)]
struct Printed {
    surface: Notify,
    stream_end: Notify,
}

impl Services for Printed {
    fn publish(
        &self,
        plugin: &str,
        params: UiPublishParams,
    ) -> BoxFuture<Result<UiPublishResult, RpcError>> {
        let (kind, payload) = (params.kind, params.payload.as_str());
        say(&format!("{plugin} shows a {kind}: {payload}"));
        self.surface.notify_one();
        Box::pin(std::future::ready(Ok(UiPublishResult::new(true))))
    }

    fn ask(
        &self,
        plugin: &str,
        params: UiRequestParams,
    ) -> BoxFuture<Result<UiRequestResult, RpcError>> {
        say(&format!("{plugin} asks: {}", params.payload.as_str()));
        Box::pin(std::future::ready(Ok(UiRequestResult::new(false))))
    }

    fn chunk(&self, plugin: &str, params: StreamChunkParams) -> BoxFuture<()> {
        let text = params.chunk.text.unwrap_or_default();
        say(&format!("{plugin} streams {}: {text:?}", params.seq));
        Box::pin(std::future::ready(()))
    }

    fn stream_end(&self, plugin: &str, params: StreamEndParams) -> BoxFuture<()> {
        say(&format!(
            "{plugin} ends its stream after {}",
            params.last_seq
        ));
        self.stream_end.notify_one();
        Box::pin(std::future::ready(()))
    }

    fn notice(&self, notice: Notice) {
        eprintln!("host: {notice:?}");
    }
}

#[expect(clippy::print_stdout, reason = "this is what it is for")]
fn say(line: &str) {
    println!("{line}");
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let Some(program) = words.next() else {
        eprintln!("usage: host PROGRAM [ARG]...");
        return ExitCode::from(2);
    };
    let args: Vec<_> = words.collect();
    let last = Path::new(args.last().unwrap_or(&program));
    let name = last.file_stem().unwrap_or_default().to_string_lossy();
    let tried = async {
        // Run as it stands, without a shell; a relative path is one of this folder.
        let program = Program::new(absolute(&program)?, absolute(".")?).with_args(args.clone());
        drive(grant(&name, program)).await
    };
    match tried.await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("host: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A plugin that may do everything.
fn grant(name: &str, program: Program) -> Launch {
    let mut launch = Launch::new(name, "1.0.0", program);
    launch.intercepts = HookPoint::ALL.to_vec();
    launch.capabilities = vec!["providers".to_owned(), "ui".to_owned()];
    launch
}

async fn drive(launch: Launch) -> Result<(), Box<dyn Error>> {
    let folder = NonBlank::new(launch.program.directory.to_string_lossy())?;
    let context = SessionContext::new(SessionId::new("example")?, folder, Generation::new(1));
    let session = Session::new(context.clone(), UiHost::Headless);
    let printed = Arc::new(Printed::default());
    let sidecar = Sidecar::start(launch, &session, printed.clone(), START_BUDGET).await?;
    let declared = sidecar.declared();
    say(&format!("{} {} is ready", declared.name, declared.version));

    let subscribed = |point: HookPoint| {
        let mut points = declared.subscriptions.iter().flatten();
        points.any(|declared| declared == point.as_str())
    };
    if subscribed(HookPoint::ToolBefore) {
        for command in ["ls", "rm -rf /"] {
            let call = ToolBeforePayload::new()
                .with_name("bash")
                .with_arguments(format!("{{\"command\":\"{command}\"}}"));
            let payload = RawJson::encode(&call)?;
            let ruled = sidecar.intercept(HookPoint::ToolBefore, payload).await?;
            say(&format!("`{command}`: {}", words_of(&ruled)));
        }
    }
    if subscribed(HookPoint::InputReceive) {
        for text in ["hello".to_owned(), "hello ".repeat(LONG / 6)] {
            let payload = RawJson::encode(&InputReceivePayload::new().with_text(text))?;
            let bytes = payload.as_str().len();
            let ruled = sidecar.intercept(HookPoint::InputReceive, payload).await?;
            say(&format!("input of {bytes} bytes: {}", words_of(&ruled)));
        }
    }
    if subscribed(HookPoint::SessionStart) {
        let started = SessionPayload::new(SessionPhase::Start).with_session_path("example.jsonl");
        sidecar.observe(HookPoint::SessionStart, RawJson::encode(&started)?);
        timeout(PATIENCE, printed.surface.notified()).await?;
    }
    let (id, generation) = (context.session_id, context.generation);
    for action in declared.ui_actions.iter().flatten() {
        let action = &action.action_id;
        let params = UiActionParams::new(action.clone(), id.clone(), generation);
        let result = sidecar.action(&params).await?;
        let message = result.message.unwrap_or_default();
        say(&format!("action `{action}`: {message}"));
        let surface = SurfaceId::new("form")?;
        let values = BTreeMap::from([("name".to_owned(), RawJson::parse("\"you\"")?)]);
        let form = UiSubmitParams::new(surface, id.clone(), generation, values);
        let taken = sidecar.submit(&form).await?.accepted;
        say(&format!(
            "form: {}",
            if taken { "taken" } else { "not taken" }
        ));
    }
    if declared.providers.is_some() {
        for (index, model) in sidecar.catalog().await?.providers.into_iter().enumerate() {
            let message = ProviderMessage::new()
                .with_role(Role::User)
                .with_content(Externalizable::Inline("one two".to_owned()));
            let request = ProviderRequest::new(vec![message], Vec::new(), 1_024);
            let stream = StreamId::new(format!("stream-{index}"))?;
            let open = StreamOpenParams::new(stream, model.ref_, request, 1);
            sidecar.open_stream(&open).await?;
            timeout(PATIENCE, printed.stream_end.notified()).await?;
        }
    }
    sidecar.shutdown().await;
    say(&format!("{} has ended", sidecar.name()));
    Ok(())
}

fn words_of(ruled: &Ruled) -> String {
    let reason = ruled.result.reason.as_deref().unwrap_or_default();
    match (ruled.result.decision, &ruled.replacement) {
        (Decision::Replace, Some(payload)) => {
            format!("replaced by {} bytes", payload.as_str().len())
        }
        (decision, _) if reason.is_empty() => decision.to_string(),
        (decision, _) => format!("{decision}, because {reason}"),
    }
}
