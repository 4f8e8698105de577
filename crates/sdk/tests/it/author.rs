//! What an author may rely on, through the host in memory that ships for them.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use reasonix_extension_sdk::{
    ErrorReason, Extension, Externalizable, HandlerError, MAX_CALLBACKS, RawJson, RpcError, Ruling,
    hooks::{InputReceive, PermissionDecision, SessionStart, ToolBefore},
    limits::{CONTENT_REF_CHUNK_BYTES, EXTERNALIZE_FIELD_BYTES},
    methods::Intercept,
    payloads::{
        HostDecision, InputReceivePayload, PermissionDecisionPayload, SessionPayload, SessionPhase,
        ToolBeforePayload, UiRequestPayload, UiStatusPayload,
    },
    testing::{TestError, TestHost},
    types::{
        ContentRef, Decision, ExternalizedField, InterceptParams, InterceptResult, JsonPointer,
        ProviderDescriptor, ProviderMessage, ProviderRef, ProviderRequest, Sha256, SurfaceId,
        UiActionResult, UiPublishParamsDocument, UiRequestKind, UiRequestResult, UiSubmitResult,
    },
};
use tokio::sync::Notify;

fn input(text: &str) -> InputReceivePayload {
    InputReceivePayload::new().with_text(text)
}

fn bare() -> Extension {
    Extension::new("tested", "1.2.3")
}

/// The reason and the text of a refusal.
fn refused<T: std::fmt::Debug>(outcome: Result<T, TestError>) -> (ErrorReason, String) {
    match outcome {
        Err(TestError::Refused { reason, message }) => (reason, message),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_ruling_comes_back_as_the_handler_gave_it() {
    let extension = bare()
        .on::<InputReceive, _, _>(|received, _| async move {
            Ok(match received.text.as_str() {
                "stop" => Ruling::block("not today"),
                "change" => Ruling::replace(input("changed")),
                _ => Ruling::proceed(),
            })
        })
        .on::<PermissionDecision, _, _>(|asked, _| async move {
            Ok(if asked.read_only {
                Ruling::allow()
            } else {
                Ruling::deny("it writes")
            })
        });
    let host = TestHost::start(extension).await.unwrap();
    assert_eq!(host.declared().name.as_str(), "tested");
    assert_eq!(
        host.declared().subscriptions.as_deref(),
        Some(
            ["input.receive", "permission.decision"]
                .map(String::from)
                .as_slice()
        )
    );
    let mut rulings = Vec::new();
    for text in ["stop", "change", "go on"] {
        let ruling = host.intercept::<InputReceive>(&input(text)).await.unwrap();
        rulings.push((
            ruling.decision(),
            ruling.reason().map(str::to_owned),
            ruling.replacement().map(|payload| payload.text.clone()),
        ));
    }
    assert_eq!(
        rulings,
        [
            (Decision::Block, Some("not today".to_owned()), None),
            (Decision::Replace, None, Some("changed".to_owned())),
            (Decision::Continue, None, None),
        ]
    );
    for (read_only, decision) in [(true, Decision::Allow), (false, Decision::Deny)] {
        let asked = PermissionDecisionPayload::new(HostDecision::Deny).with_read_only(read_only);
        let ruling = host.intercept::<PermissionDecision>(&asked).await.unwrap();
        assert_eq!(ruling.decision(), decision);
    }
    // Nothing rules here.
    let call = ToolBeforePayload::new().with_name("bash");
    let ruling = host.intercept::<ToolBefore>(&call).await.unwrap();
    assert_eq!(ruling.decision(), Decision::Continue);
    host.shutdown().await.unwrap();
}

#[tokio::test]
async fn one_handler_may_rule_at_every_point_that_has_none() {
    let extension = bare()
        .on::<InputReceive, _, _>(|_, _| async { Ok(Ruling::block("mine")) })
        .on_any(|point, payload, _| async move {
            assert!(payload.as_str().contains("bash"));
            Ok(InterceptResult::new(Decision::Block).with_reason(point.as_str()))
        });
    let host = TestHost::start(extension).await.unwrap();
    let ruling = host.intercept::<InputReceive>(&input("")).await.unwrap();
    assert_eq!(ruling.reason(), Some("mine"));
    let call = ToolBeforePayload::new().with_name("bash");
    let ruling = host.intercept::<ToolBefore>(&call).await.unwrap();
    assert_eq!(ruling.reason(), Some("tool.before"));
}

#[tokio::test]
async fn large_values_arrive_whole_both_ways() {
    let extension = bare().on::<InputReceive, _, _>(|received, _| async move {
        let text: String = received.text.chars().rev().collect();
        Ok(Ruling::replace(input(&text)))
    });
    let host = TestHost::start(extension).await.unwrap();
    let around = r#"{"text":""}"#.len();
    // The edges of what travels by reference, and of pages, which cut a character of three bytes.
    for bytes in [
        100,
        EXTERNALIZE_FIELD_BYTES,
        EXTERNALIZE_FIELD_BYTES + 1,
        CONTENT_REF_CHUNK_BYTES,
        CONTENT_REF_CHUNK_BYTES + 1,
        3 * CONTENT_REF_CHUNK_BYTES + 1,
    ] {
        let room = usize::try_from(bytes).unwrap() - around;
        let text = "€".repeat(room / 3) + &"x".repeat(room % 3);
        let ruling = host.intercept::<InputReceive>(&input(&text)).await.unwrap();
        let reversed: String = text.chars().rev().collect();
        assert!(
            ruling
                .replacement()
                .is_some_and(|payload| payload.text == reversed),
            "{bytes}"
        );
    }
}

#[tokio::test]
async fn what_a_handler_cannot_be_given_is_refused_with_its_reason() {
    let extension =
        bare().on::<InputReceive, _, _>(|_, _| async { panic!("nothing is to be handled") });
    let host = TestHost::start(extension).await.unwrap();
    let ask = async |payload, field: Option<ExternalizedField>| {
        let point = reasonix_extension_sdk::HookPoint::InputReceive;
        let mut params = InterceptParams::new(point, 1, payload, 1_000);
        params.externalized = field.map(|field| vec![field]);
        let error = host
            .peer()
            .call::<Intercept>(&params, Duration::from_secs(10))
            .await
            .unwrap_err();
        error.reason()
    };
    let gone = |pointer: &str| {
        ExternalizedField::new(
            JsonPointer::new(pointer).unwrap(),
            ContentRef::new("content_000000000000000000000000").unwrap(),
            70_000,
            Sha256::new("0".repeat(64)).unwrap(),
        )
    };
    let inline = |json: &str| Externalizable::Inline(RawJson::parse(json).unwrap());
    assert_eq!(
        ask(Externalizable::Null, Some(gone("/payload"))).await,
        ErrorReason::ContentRefExpired
    );
    assert_eq!(
        ask(Externalizable::Null, Some(gone("/replacement"))).await,
        ErrorReason::InvalidParams
    );
    assert_eq!(
        ask(Externalizable::Null, None).await,
        ErrorReason::InvalidParams
    );
    assert_eq!(
        ask(inline(r#"{"text":7}"#), None).await,
        ErrorReason::InvalidParams
    );
    assert_eq!(
        ask(inline(r#"{"text":"a","more":1}"#), None).await,
        ErrorReason::InvalidParams
    );
}

#[tokio::test]
async fn a_failure_of_a_handler_costs_its_call_alone() {
    let extension = bare().on::<InputReceive, _, _>(|received, _| async move {
        match received.text.as_str() {
            "panic" => panic!("on purpose"),
            "error" => Err(HandlerError::new("no luck")),
            "std" => Err("x".parse::<u8>().unwrap_err().into()),
            "reason" => {
                let text = "nothing is declared";
                Err(RpcError::because(ErrorReason::CapabilityNotDeclared, text).into())
            }
            _ => Ok(Ruling::proceed()),
        }
    });
    let host = TestHost::start(extension).await.unwrap();
    for (text, reason, message) in [
        ("error", ErrorReason::Internal, "no luck"),
        (
            "std",
            ErrorReason::Internal,
            "invalid digit found in string",
        ),
        (
            "reason",
            ErrorReason::CapabilityNotDeclared,
            "nothing is declared",
        ),
    ] {
        let outcome = host.intercept::<InputReceive>(&input(text)).await;
        assert_eq!(refused(outcome), (reason, message.to_owned()));
    }
    let outcome = host.intercept::<InputReceive>(&input("panic")).await;
    assert_eq!(refused(outcome).0, ErrorReason::Internal);
    let ruling = host.intercept::<InputReceive>(&input("")).await.unwrap();
    assert_eq!(ruling.decision(), Decision::Continue);
    host.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_ruling_that_takes_too_long_is_dropped_and_told() {
    /// Counts that it was dropped.
    struct Dropped(Arc<AtomicUsize>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let dropped = Arc::new(AtomicUsize::new(0));
    let extension = bare().on::<InputReceive, _, _>({
        let dropped = dropped.clone();
        move |_, _| {
            let guard = Dropped(dropped.clone());
            async move {
                std::future::pending::<()>().await;
                drop(guard);
                Ok(Ruling::proceed())
            }
        }
    });
    let host = TestHost::start(extension).await.unwrap();
    let outcome = host
        .intercept_within::<InputReceive>(&input(""), Duration::from_millis(20))
        .await;
    assert_eq!(refused(outcome).0, ErrorReason::InterceptTimeout);
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn so_many_callbacks_run_at_once_and_the_next_waits_for_its_turn() {
    let running = Arc::new(AtomicUsize::new(0));
    let go = Arc::new(Notify::new());
    let extension = bare().on::<InputReceive, _, _>({
        let (running, go) = (running.clone(), go.clone());
        move |_, _| {
            let (running, go) = (running.clone(), go.clone());
            async move {
                running.fetch_add(1, Ordering::SeqCst);
                go.notified().await;
                Ok(Ruling::proceed())
            }
        }
    });
    let host = Arc::new(TestHost::start(extension).await.unwrap());
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..=MAX_CALLBACKS {
        let host = host.clone();
        calls.spawn(async move {
            let within = Duration::from_mins(1);
            let input = input("");
            let ruling = host.intercept_within::<InputReceive>(&input, within);
            assert_eq!(ruling.await.unwrap().decision(), Decision::Continue);
        });
    }
    while running.load(Ordering::SeqCst) < MAX_CALLBACKS {
        tokio::task::yield_now().await;
    }
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(running.load(Ordering::SeqCst), MAX_CALLBACKS);
    for _ in 0..=MAX_CALLBACKS {
        go.notify_one();
        calls.join_next().await.unwrap().unwrap();
    }
    assert_eq!(running.load(Ordering::SeqCst), MAX_CALLBACKS + 1);
}

#[tokio::test]
async fn whoever_gets_its_turn_too_late_is_not_run() {
    let ran = Arc::new(AtomicUsize::new(0));
    let extension = bare().on::<InputReceive, _, _>({
        let ran = ran.clone();
        move |_, _| {
            ran.fetch_add(1, Ordering::SeqCst);
            std::future::pending()
        }
    });
    let host = Arc::new(TestHost::start(extension).await.unwrap());
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..2 * MAX_CALLBACKS {
        let host = host.clone();
        calls.spawn(async move {
            let within = Duration::from_millis(100);
            let outcome = host
                .intercept_within::<InputReceive>(&input(""), within)
                .await;
            assert_eq!(refused(outcome).0, ErrorReason::InterceptTimeout);
        });
    }
    while let Some(call) = calls.join_next().await {
        call.unwrap();
    }
    assert_eq!(ran.load(Ordering::SeqCst), MAX_CALLBACKS);
}

#[tokio::test]
async fn observers_run_in_order_and_a_panic_costs_one_event() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let done = Arc::new(Notify::new());
    let extension = bare()
        .observe::<InputReceive, _, _>({
            let (heard, done) = (heard.clone(), done.clone());
            move |received, _| {
                let (heard, done) = (heard.clone(), done.clone());
                async move {
                    assert_ne!(received.text, "panic", "on purpose");
                    // Whoever comes later must not overtake.
                    tokio::task::yield_now().await;
                    heard.lock().unwrap().push(received.text.len());
                    if received.text == "last" {
                        done.notify_one();
                    }
                }
            }
        })
        .on_resources_changed({
            let heard = heard.clone();
            move |paths, _| {
                heard.lock().unwrap().push(paths.len());
                std::future::ready(())
            }
        });
    let host = TestHost::start(extension).await.unwrap();
    let large = "x".repeat(100_000);
    for text in ["a", "panic", &large] {
        host.observe::<InputReceive>(&input(text)).await.unwrap();
    }
    host.resources_changed(["a.md", "b.md"]).await.unwrap();
    host.observe::<InputReceive>(&input("last")).await.unwrap();
    done.notified().await;
    assert_eq!(*heard.lock().unwrap(), [1, 100_000, 2, 4]);
}

#[tokio::test]
async fn surfaces_questions_actions_and_forms_go_through() {
    let extension = bare()
        .observe::<SessionStart, _, _>(|session, host| async move {
            let status =
                UiStatusPayload::new("ready".try_into().unwrap()).with_detail(session.session_path);
            host.publish(
                SurfaceId::new("status").unwrap(),
                &UiPublishParamsDocument::Status(status),
            )
            .await
            .unwrap();
        })
        .action("greet", "Greet", |action, host| async move {
            let question = UiRequestPayload::new(Vec::new()).with_message("Sure?");
            let surface = SurfaceId::new("sure")?;
            let answer = host.ask(surface, UiRequestKind::Confirm, &question).await?;
            let who = action
                .args
                .unwrap_or_default()
                .remove("who")
                .unwrap_or_default();
            Ok(UiActionResult::new(!answer.cancelled).with_message(who))
        })
        .on_submit(|form, _| async move { Ok(UiSubmitResult::new(form.values.len() == 1)) });
    let host = TestHost::start_answering(extension, |question| {
        assert_eq!(question.surface_id.as_str(), "sure");
        UiRequestResult::new(false)
    })
    .await
    .unwrap();
    let session = SessionPayload::new(SessionPhase::Start).with_session_path("/s.jsonl");
    host.observe::<SessionStart>(&session).await.unwrap();
    let surface = host.published().await.unwrap();
    assert_eq!(surface.surface_id.as_str(), "status");
    assert_eq!(surface.session_id, host.session().session_id);
    assert!(surface.payload.as_str().contains("/s.jsonl"));

    let result = host.action("greet", [("who", "you")]).await.unwrap();
    assert_eq!(
        (result.accepted, result.message.as_deref()),
        (true, Some("you"))
    );
    let none: [(&str, &str); 0] = [];
    let outcome = host.action("nothing", none).await;
    assert_eq!(refused(outcome).0, ErrorReason::InvalidParams);

    let values = BTreeMap::from([("a".to_owned(), RawJson::parse("true").unwrap())]);
    let result = host
        .submit(SurfaceId::new("form").unwrap(), values)
        .await
        .unwrap();
    assert!(result.accepted);
}

fn request(text: &str) -> ProviderRequest {
    let message = ProviderMessage::new().with_content(Externalizable::Inline(text.to_owned()));
    ProviderRequest::new(vec![message], Vec::new(), 100)
}

fn model() -> ProviderRef {
    ProviderRef::new("plugin/tested/echo").unwrap()
}

fn provider(dropped: &Arc<Notify>) -> Extension {
    /// Tells that the producer is gone.
    struct Tell(Arc<Notify>);
    impl Drop for Tell {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    let dropped = dropped.clone();
    bare().provider(ProviderDescriptor::new(model()), move |open, sink, _| {
        let tell = Tell(dropped.clone());
        async move {
            let _tell = tell;
            let [message] = open.request.messages.as_slice() else {
                return Err(HandlerError::new("one message"));
            };
            let text = message
                .content
                .clone()
                .and_then(Externalizable::into_inline);
            match text.as_deref() {
                Some("fail") => {
                    sink.text("so far").await?;
                    Err(HandlerError::new("the model is gone"))
                }
                Some("panic") => panic!("on purpose"),
                Some("for ever") => {
                    sink.text("once").await?;
                    std::future::pending().await
                }
                text => {
                    for word in text.unwrap_or_default().split_inclusive(' ') {
                        sink.text(word).await?;
                    }
                    Ok(())
                }
            }
        }
    })
}

#[tokio::test]
async fn a_stream_ends_once_however_it_ends() {
    let dropped = Arc::new(Notify::new());
    let host = TestHost::start(provider(&dropped)).await.unwrap();
    assert_eq!(host.catalog().await.unwrap().len(), 1);

    let mut stream = host
        .stream(model(), request("one two three"))
        .await
        .unwrap();
    assert_eq!(stream.text().await.unwrap(), "one two three");
    let end = stream.end().unwrap();
    assert_eq!(
        (end.last_seq, end.interrupted, end.error.as_deref()),
        (3, None, None)
    );
    // It is over: there is nothing to cancel.
    assert!(!stream.cancel().await.unwrap());

    let mut stream = host.stream(model(), request("fail")).await.unwrap();
    let outcome = stream.text().await;
    assert_eq!(
        refused(outcome),
        (ErrorReason::ProviderFailed, "the model is gone".to_owned())
    );
    assert_eq!(stream.end().unwrap().last_seq, 1);

    let mut stream = host.stream(model(), request("panic")).await.unwrap();
    assert_eq!(refused(stream.text().await).1, "the provider panicked");

    let other = ProviderRef::new("plugin/tested/other").unwrap();
    let outcome = host.stream(other, request("")).await;
    assert_eq!(refused(outcome).0, ErrorReason::ProviderFailed);
}

#[tokio::test]
async fn a_cancelled_stream_drops_its_producer_and_ends_interrupted() {
    let dropped = Arc::new(Notify::new());
    let host = TestHost::start(provider(&dropped)).await.unwrap();
    let mut stream = host.stream(model(), request("for ever")).await.unwrap();
    assert!(stream.next().await.unwrap().is_some());
    assert!(stream.cancel().await.unwrap());
    dropped.notified().await;
    assert!(stream.next().await.unwrap().is_none());
    let end = stream.end().unwrap();
    assert_eq!((end.last_seq, end.interrupted), (1, Some(true)));
    assert!(!stream.cancel().await.unwrap());
    host.shutdown().await.unwrap();
}

#[tokio::test]
async fn an_extension_may_clean_up_within_the_time_that_it_is_given() {
    let stopped = Arc::new(Mutex::new(None));
    let extension = bare().on_stop({
        let stopped = stopped.clone();
        move |within| {
            *stopped.lock().unwrap() = Some(within);
            std::future::ready(())
        }
    });
    let host = TestHost::start(extension).await.unwrap();
    host.shutdown().await.unwrap();
    assert_eq!(*stopped.lock().unwrap(), Some(Duration::from_secs(5)));
}

#[tokio::test(start_paused = true)]
async fn cleaning_up_for_ever_does_not_hold_the_end() {
    let extension = bare().on_stop(|_| std::future::pending());
    let host = TestHost::start(extension).await.unwrap();
    let begun = tokio::time::Instant::now();
    host.shutdown().await.unwrap();
    assert_eq!(begun.elapsed().as_secs(), 5);
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let cases = [
        (Extension::new("", "1"), "the name of the extension"),
        (Extension::new("x", " "), "the version of the extension"),
        (
            bare().action("No Good", "", |_, _| async {
                Ok(UiActionResult::new(true))
            }),
            "the action `No Good`",
        ),
        (
            bare().on_start(|_| Err(HandlerError::new("the licence has run out"))),
            "the licence has run out",
        ),
    ];
    for (extension, why) in cases {
        match TestHost::start(extension).await {
            Err(TestError::NotStarted(text)) => assert!(text.contains(why), "{text}"),
            other => panic!("{why}: {other:?}"),
        }
    }
}
