//! Everything that an extension can do, once.

use std::{process::ExitCode, time::Duration};

use reasonix_extension_sdk::{
    Extension, Externalizable, HandlerError, Host, Ruling, StreamSink,
    hooks::{InputReceive, SessionStart, ToolBefore},
    payloads::{
        InputReceivePayload, SessionPayload, ToolBeforePayload, UiRequestPayload, UiStatusPayload,
    },
    types::{
        ProviderDescriptor, ProviderRef, StreamOpenParams, SurfaceId, UiActionParams,
        UiActionResult, UiPublishParamsDocument, UiRequestKind, UiSubmitResult,
    },
};

fn main() -> ExitCode {
    let model = match ProviderRef::new("plugin/full/echo") {
        Ok(reference) => ProviderDescriptor::new(reference).with_display_name("Echo"),
        Err(error) => {
            eprintln!("full: {error}");
            return ExitCode::FAILURE;
        }
    };
    Extension::new("full", "1.0.0")
        .on::<InputReceive, _, _>(greet)
        .on::<ToolBefore, _, _>(guard)
        .observe::<SessionStart, _, _>(show_start)
        .on_resources_changed(|paths, _host| async move {
            eprintln!("full: {} files have changed", paths.len());
        })
        .action("ask", "Ask me something", ask)
        .on_submit(|_form, _host| async { Ok(UiSubmitResult::new(true)) })
        .provider(model, echo)
        .on_stop(|within| async move {
            eprintln!("full: asked to stop within {} ms", within.as_millis());
        })
        .run()
}

/// Changes what the user has said.
#[expect(clippy::print_stdout, reason = "to show what becomes of it")]
async fn greet(
    input: InputReceivePayload,
    _host: Host,
) -> Result<Ruling<InputReceive>, HandlerError> {
    match input.text.as_str() {
        "panic" => panic!("asked to"),
        "fail" => Err(HandlerError::new("asked to")),
        "print" => {
            println!("this goes to standard error");
            Ok(Ruling::proceed())
        }
        "sleep" => {
            tokio::time::sleep(Duration::from_mins(1)).await;
            Ok(Ruling::proceed())
        }
        text if text.starts_with("hello") => {
            let payload = InputReceivePayload::new().with_text(format!("{text}, in full"));
            Ok(Ruling::replace(payload))
        }
        _ => Ok(Ruling::proceed()),
    }
}

/// Stops a tool call.
async fn guard(call: ToolBeforePayload, _host: Host) -> Result<Ruling<ToolBefore>, HandlerError> {
    if call.arguments.contains("rm -rf /") {
        return Ok(Ruling::block("this would delete everything"));
    }
    Ok(Ruling::proceed())
}

/// Shows that a session has started.
async fn show_start(session: SessionPayload, host: Host) {
    let status = async {
        let status = UiStatusPayload::new("ready".try_into()?).with_detail(session.session_path);
        let surface = SurfaceId::new("status")?;
        host.publish(surface, &UiPublishParamsDocument::Status(status))
            .await?;
        Ok::<_, HandlerError>(())
    };
    if let Err(error) = status.await {
        eprintln!("full: {error:?}");
    }
}

/// Asks the user when they invoke the action.
async fn ask(_action: UiActionParams, host: Host) -> Result<UiActionResult, HandlerError> {
    let question = UiRequestPayload::new(Vec::new()).with_message("Go on?");
    let answer = host
        .ask(SurfaceId::new("ask")?, UiRequestKind::Confirm, &question)
        .await?;
    let text = if answer.cancelled {
        "no answer"
    } else {
        "answered"
    };
    Ok(UiActionResult::new(true).with_message(text))
}

/// Serves a model that says what it was told, word by word.
async fn echo(open: StreamOpenParams, sink: StreamSink, _host: Host) -> Result<(), HandlerError> {
    for message in open.request.messages {
        let text = message.content.and_then(Externalizable::into_inline);
        for word in text.unwrap_or_default().split_inclusive(' ') {
            sink.text(word).await?;
        }
    }
    Ok(())
}
