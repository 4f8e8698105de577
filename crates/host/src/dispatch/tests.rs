use std::{
    future::{pending, ready},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use proptest::prelude::*;
use reasonix_extension_protocol::{
    decode_str,
    hooks::{
        AgentBeforeStart, CompactionComplete, CompactionPrepare, ContextPrepare, FrontendEvent,
        InputReceive, PermissionDecision, ProviderRequest, ProviderResponse, SessionEnd,
        SessionLoad, SessionRotate, SessionSave, SessionStart, SystemPromptBuild, ToolAfter,
        ToolBefore,
    },
    payloads::{HostDecision, InputReceivePayload, PermissionDecisionPayload, ToolBeforePayload},
    types::InterceptResult,
};
use reasonix_extension_wire::BoxFuture;

use super::*;
use crate::{launch::Ruled, sidecar::FailureKind};

const SECRET: &str = "sk-test-A1b2C3d4E5f6G7h8";

type Answering = dyn Fn(HookPoint, &RawJson) -> BoxFuture<Result<Ruled, CallFailure>> + Send + Sync;

/// What stands for a sidecar.
struct Fake {
    answer: Box<Answering>,
    /// What it was asked with, and what it was told.
    asked: Mutex<Vec<String>>,
    told: Mutex<Vec<String>>,
    deaf: bool,
}

impl Client for Fake {
    fn intercept(
        &self,
        point: HookPoint,
        payload: RawJson,
    ) -> BoxFuture<Result<Ruled, CallFailure>> {
        self.asked.lock().unwrap().push(payload.as_str().to_owned());
        (self.answer)(point, &payload)
    }

    fn observe(&self, _point: HookPoint, payload: RawJson) -> bool {
        self.told.lock().unwrap().push(payload.as_str().to_owned());
        !self.deaf
    }
}

impl Fake {
    fn of(
        answer: impl Fn(HookPoint, &RawJson) -> BoxFuture<Result<Ruled, CallFailure>>
        + Send
        + Sync
        + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            answer: Box::new(answer),
            asked: Mutex::default(),
            told: Mutex::default(),
            deaf: false,
        })
    }

    /// One that always answers this: the members of an intercept result.
    fn answering(json: &str) -> Arc<Self> {
        let json = json.to_owned();
        Self::of(move |_, _| Box::pin(ready(Ok(ruled(&json)))))
    }

    fn failing() -> Arc<Self> {
        Self::of(|_, _| {
            Box::pin(ready(Err(CallFailure {
                plugin: "fake".to_owned(),
                kind: FailureKind::TimedOut(Duration::from_secs(5)),
            })))
        })
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }
}

fn ruled(json: &str) -> Ruled {
    let result: InterceptResult = decode_str(json).unwrap();
    let replacement = result.replacement.clone();
    Ruled {
        replacement: replacement.and_then(reasonix_extension_protocol::Externalizable::into_inline),
        result,
    }
}

/// One that takes part at every point.
fn everywhere(plugin: &str, client: Arc<Fake>) -> Participant {
    let mut participant = Participant::new(plugin, Some(client as Arc<dyn Client>));
    participant.points = HookPoint::ALL.to_vec();
    participant
}

fn owner(plugin: &str, slot: &str, client: Arc<Fake>) -> Participant {
    let mut participant = Participant::new(plugin, Some(client as Arc<dyn Client>));
    participant.slots = vec![slot.parse().unwrap()];
    participant
}

fn required(mut participant: Participant) -> Participant {
    participant.required = true;
    participant
}

type Heard = Arc<Mutex<Vec<Warning>>>;

fn dispatcher(participants: impl IntoIterator<Item = Participant>) -> (Dispatcher, Heard) {
    let heard = Heard::default();
    let hear = heard.clone();
    let dispatcher = Dispatcher::builder(participants)
        .unwrap()
        .on_warning(move |warning| hear.lock().unwrap().push(warning))
        .build();
    (dispatcher, heard)
}

fn input(text: &str) -> InputReceivePayload {
    InputReceivePayload::new().with_text(text)
}

fn permission(host: HostDecision) -> PermissionDecisionPayload {
    PermissionDecisionPayload::new(host).with_name("bash")
}

/// Each point with a payload, a replacement, and one that breaks a rule of the point or of its type.
const POINTS: &[(HookPoint, &str, &str, &str)] = &[
    (
        HookPoint::AgentBeforeStart,
        r#"{"sessionId":"a"}"#,
        r#"{"sessionId":"b"}"#,
        r#"{"sessionId":""}"#,
    ),
    (
        HookPoint::CompactionComplete,
        r#"{"summary":"a"}"#,
        r#"{"summary":"b"}"#,
        r#"{"summary":""}"#,
    ),
    (
        HookPoint::CompactionPrepare,
        r#"{"messages":[]}"#,
        r#"{"messages":[{"role":"user"}]}"#,
        r#"{"guidance":"b"}"#,
    ),
    (
        HookPoint::ContextPrepare,
        r#"{"messages":[{"role":"user"}]}"#,
        r#"{"messages":[]}"#,
        r#"{"messages":[{"role":"nobody"}]}"#,
    ),
    (
        HookPoint::FrontendEvent,
        r#"{"kind":"text","text":"a"}"#,
        r#"{"kind":"text","text":"b"}"#,
        r#"{"kind":"notice","text":"b"}"#,
    ),
    (
        HookPoint::InputReceive,
        r#"{"text":"a"}"#,
        r#"{"text":"b"}"#,
        r#"{"text":""}"#,
    ),
    (
        HookPoint::PermissionDecision,
        r#"{"name":"a","hostDecision":"deny"}"#,
        r#"{"name":"b","hostDecision":"allow"}"#,
        r#"{"name":"b","hostDecision":"allow","arguments":"[]"}"#,
    ),
    (
        HookPoint::ProviderRequest,
        r#"{"request":{"messages":[],"tools":[],"maxTokens":1}}"#,
        r#"{"request":{"messages":[],"tools":[],"maxTokens":2}}"#,
        r#"{"request":{"messages":[],"tools":[]}}"#,
    ),
    (
        HookPoint::ProviderResponse,
        r#"{"text":"a"}"#,
        r#"{"text":"b"}"#,
        "{}",
    ),
    (
        HookPoint::SessionEnd,
        r#"{"phase":"end"}"#,
        r#"{"phase":"end","sessionPath":"b"}"#,
        r#"{"phase":"start"}"#,
    ),
    (
        HookPoint::SessionLoad,
        r#"{"phase":"load"}"#,
        r#"{"phase":"load","sessionPath":"b"}"#,
        r#"{"phase":"save"}"#,
    ),
    (
        HookPoint::SessionRotate,
        r#"{"phase":"rotate"}"#,
        r#"{"phase":"rotate","sessionPath":"b"}"#,
        r#"{"phase":"save"}"#,
    ),
    (
        HookPoint::SessionSave,
        r#"{"phase":"save"}"#,
        r#"{"phase":"save","sessionPath":"b"}"#,
        r#"{"phase":"load"}"#,
    ),
    (
        HookPoint::SessionStart,
        r#"{"phase":"start"}"#,
        r#"{"phase":"start","sessionPath":"b"}"#,
        r#"{"phase":"end"}"#,
    ),
    (
        HookPoint::SystemPromptBuild,
        r#"{"workspaceRoot":"/a"}"#,
        r#"{"workspaceRoot":"/a","prompt":"b"}"#,
        r#"{"prompt":"b"}"#,
    ),
    (
        HookPoint::ToolAfter,
        r#"{"name":"a","result":"a"}"#,
        r#"{"name":"a","result":"b"}"#,
        r#"{"name":"","result":"b"}"#,
    ),
    (
        HookPoint::ToolBefore,
        r#"{"name":"a"}"#,
        r#"{"name":"b","arguments":"{}"}"#,
        r#"{"name":"b","arguments":"{} {}"}"#,
    ),
];

/// What a run of any point left, without its type.
#[derive(Debug)]
struct Left {
    payload: String,
    changed: bool,
    blocked: Option<Blocked>,
    permission: Option<Permission>,
    applied: Vec<String>,
}

async fn run<H: Hook>(dispatcher: &Dispatcher, payload: &str) -> Result<Left, DispatchError> {
    let payload = H::decode_payload(&RawJson::parse(payload).unwrap()).unwrap();
    let outcome = dispatcher.dispatch::<H>(payload).await?;
    Ok(Left {
        payload: RawJson::encode(&outcome.payload)
            .unwrap()
            .as_str()
            .to_owned(),
        changed: outcome.changed,
        blocked: outcome.blocked,
        permission: outcome.permission,
        applied: outcome.applied,
    })
}

/// Runs a point that is known by name alone.
async fn run_at(
    dispatcher: &Dispatcher,
    point: HookPoint,
    payload: &str,
) -> Result<Left, DispatchError> {
    macro_rules! points {
        ($($point:ident),*) => {
            match point {
                $(HookPoint::$point => run::<$point>(dispatcher, payload).await,)*
                _ => panic!("no such point"),
            }
        };
    }
    points!(
        AgentBeforeStart,
        CompactionComplete,
        CompactionPrepare,
        ContextPrepare,
        FrontendEvent,
        InputReceive,
        PermissionDecision,
        ProviderRequest,
        ProviderResponse,
        SessionEnd,
        SessionLoad,
        SessionRotate,
        SessionSave,
        SessionStart,
        SystemPromptBuild,
        ToolAfter,
        ToolBefore
    )
}

#[tokio::test]
async fn the_tests_know_every_point() {
    let known: Vec<HookPoint> = POINTS.iter().map(|(point, ..)| *point).collect();
    assert_eq!(known, HookPoint::ALL);
}

#[tokio::test]
async fn at_every_point_continue_changes_nothing() {
    for &(point, payload, ..) in POINTS {
        // What stands beside a `continue` says nothing.
        let fake = Fake::answering(r#"{"decision":"continue","reason":"why"}"#);
        let (dispatcher, heard) = dispatcher([everywhere("a", fake.clone())]);
        let left = run_at(&dispatcher, point, payload).await.unwrap();
        assert!(
            !left.changed && left.applied.is_empty() && left.blocked.is_none(),
            "{left:?}"
        );
        assert_eq!(fake.asked().len(), 1, "{point}");
        assert_eq!(fake.told(), fake.asked(), "{point}");
        assert_eq!(*heard.lock().unwrap(), []);
    }
}

#[tokio::test]
async fn at_every_point_a_block_stops_the_walk_and_its_reason_is_clean() {
    let json = format!(r#"{{"decision":"block","reason":"not with {SECRET} in it"}}"#);
    for &(point, payload, ..) in POINTS {
        let (first, second) = (
            Fake::answering(&json),
            Fake::answering(r#"{"decision":"continue"}"#),
        );
        let (dispatcher, heard) =
            dispatcher([everywhere("a", first), everywhere("b", second.clone())]);
        let left = run_at(&dispatcher, point, payload).await.unwrap();
        let blocked = left.blocked.unwrap();
        assert_eq!(blocked.plugin, "a");
        assert!(blocked.reason.starts_with("not with "), "{blocked:?}");
        assert!(!blocked.reason.contains(SECRET), "{blocked:?}");
        assert_eq!(second.asked().len(), 0);
        // It is told all the same.
        assert_eq!(second.told().len(), 1);
        assert_eq!(left.permission, None);
        assert_eq!(*heard.lock().unwrap(), []);
    }
}

#[tokio::test]
async fn at_every_point_a_replacement_changes_what_the_point_lets_it() {
    for &(point, payload, replacement, _) in POINTS {
        let json = format!(r#"{{"decision":"replace","replacement":{replacement}}}"#);
        let fake = Fake::answering(&json);
        let (dispatcher, heard) = dispatcher([everywhere("a", fake.clone())]);
        let left = run_at(&dispatcher, point, payload).await.unwrap();
        assert_eq!(left.applied, ["a"], "{point}");
        let value = |json: &str| serde_json::from_str::<serde_json::Value>(json).unwrap();
        let (mut expected, replacement) = (value(payload), value(replacement));
        for member in point.adopts() {
            expected[member] = replacement[member].clone();
        }
        let left_value = value(&left.payload);
        for (member, value) in expected.as_object().unwrap() {
            // What is absent reads as its zero, and is written out.
            if !value.is_null() {
                assert_eq!(left_value[member], *value, "{point}: {}", left.payload);
            }
        }
        assert_eq!(left.changed, !point.adopts().is_empty(), "{point}");
        // Observers see all of it.
        assert_eq!(value(&fake.told()[0]), replacement, "{point}");
        assert_eq!(*heard.lock().unwrap(), []);
    }
}

#[tokio::test]
async fn at_every_point_an_unsound_replacement_is_passed_over_or_fatal() {
    for &(point, payload, replacement, broken) in POINTS {
        let unknown = replacement.replacen('{', r#"{"unknown":1,"#, 1);
        for broken in [broken, &unknown, "[]"] {
            let json = format!(r#"{{"decision":"replace","replacement":{broken}}}"#);
            let optional = everywhere("a", Fake::answering(&json));
            let (with_optional, heard) = dispatcher([optional.clone()]);
            let left = run_at(&with_optional, point, payload).await.unwrap();
            assert!(
                !left.changed && left.applied.is_empty(),
                "{point}: {left:?}"
            );
            let heard = heard.lock().unwrap().clone();
            let [warning] = heard.as_slice() else {
                panic!("{point} with {broken}: {heard:?}")
            };
            assert_eq!(
                (warning.plugin.as_str(), warning.kind),
                ("a", WarningKind::Violation)
            );

            let (with_required, heard) = dispatcher([required(optional)]);
            let error = run_at(&with_required, point, payload).await.unwrap_err();
            assert!(
                matches!(&error, DispatchError::Violation { plugin, point: at, .. } if plugin == "a" && *at == point),
                "{error}"
            );
            assert_eq!(*heard.lock().unwrap(), []);
        }
    }
}

#[tokio::test]
async fn allow_and_deny_are_rulings_on_permissions_alone() {
    for &(point, payload, ..) in POINTS {
        for decision in ["allow", "deny"] {
            let fake = Fake::answering(&format!(r#"{{"decision":"{decision}"}}"#));
            let (optional, heard) = dispatcher([everywhere("a", fake.clone())]);
            let left = run_at(&optional, point, payload).await.unwrap();
            let legal = point == HookPoint::PermissionDecision;
            assert_eq!(left.permission.is_some(), legal, "{point}");
            assert_eq!(heard.lock().unwrap().len(), usize::from(!legal));
            let (fatal, _) = dispatcher([required(everywhere("a", fake))]);
            assert_eq!(
                run_at(&fatal, point, payload).await.is_ok(),
                legal,
                "{point}"
            );
        }
    }
}

#[tokio::test]
async fn a_replacement_without_a_payload_is_a_broken_rule() {
    let (dispatcher, heard) = dispatcher([everywhere(
        "a",
        Fake::answering(r#"{"decision":"replace"}"#),
    )]);
    let outcome = dispatcher
        .dispatch::<InputReceive>(input("x"))
        .await
        .unwrap();
    assert!(!outcome.changed);
    assert_eq!(heard.lock().unwrap().len(), 1);
}

/// One that puts its name behind the text.
fn appending(name: &'static str) -> Arc<Fake> {
    Fake::of(move |_, payload| {
        let payload: InputReceivePayload = payload.decode().unwrap();
        let json =
            serde_json::json!({"decision":"replace","replacement":{"text": payload.text + name}});
        Box::pin(ready(Ok(ruled(&json.to_string()))))
    })
}

#[tokio::test]
async fn the_chain_goes_by_priority_then_by_name_and_each_sees_what_was_left() {
    let mut participants = Vec::new();
    let mut fakes = Vec::new();
    for (name, priority) in [("zeta", 5), ("alpha", -3), ("mid", 0), ("beta", 0)] {
        let fake = appending(name);
        let mut participant = everywhere(name, fake.clone());
        // Twice is once.
        participant.points.extend(HookPoint::ALL);
        participant.priority = priority;
        participants.push(participant);
        fakes.push(fake);
    }
    let (dispatcher, _) = dispatcher(participants);
    let outcome = dispatcher
        .dispatch::<InputReceive>(input(""))
        .await
        .unwrap();
    assert_eq!(outcome.payload.text, "alphabetamidzeta");
    assert_eq!(outcome.applied, ["alpha", "beta", "mid", "zeta"]);
    assert_eq!(fakes[0].asked(), [r#"{"text":"alphabetamid"}"#]);
}

#[tokio::test]
async fn a_permission_against_the_host_is_recorded_and_no_other() {
    for (host, decision, allowed, recorded) in [
        (
            HostDecision::Deny,
            r#"{"decision":"allow","reason":"trusted"}"#,
            Some(true),
            true,
        ),
        (
            HostDecision::Allow,
            r#"{"decision":"allow"}"#,
            Some(true),
            false,
        ),
        (
            HostDecision::Allow,
            r#"{"decision":"deny","reason":"no"}"#,
            Some(false),
            false,
        ),
        (
            HostDecision::Deny,
            r#"{"decision":"continue"}"#,
            None,
            false,
        ),
    ] {
        let name = "a-long-plugin-name-2026";
        let (dispatcher, _) = dispatcher([everywhere(name, Fake::answering(decision))]);
        let outcome = dispatcher
            .dispatch::<PermissionDecision>(permission(host))
            .await
            .unwrap();
        assert_eq!(
            outcome.permission.map(|permission| permission.allowed),
            allowed
        );
        let audit = outcome
            .audit
            .map(|audit| (audit.plugin, audit.tool, audit.reason));
        let expected = (name.to_owned(), "bash".to_owned(), "trusted".to_owned());
        assert_eq!(audit, recorded.then_some(expected));
    }
}

#[tokio::test]
async fn the_first_ruling_on_a_permission_stands_and_the_owner_has_the_last_word() {
    let (allow, deny) = (
        r#"{"decision":"allow"}"#,
        r#"{"decision":"deny","reason":"mine"}"#,
    );
    let second = Fake::answering(deny);
    let (chain, _) = dispatcher([
        everywhere("a", Fake::answering(allow)),
        everywhere("b", second.clone()),
    ]);
    let outcome = chain
        .dispatch::<PermissionDecision>(permission(HostDecision::Deny))
        .await
        .unwrap();
    assert!(outcome.permission.unwrap().allowed);
    assert_eq!(second.asked().len(), 0);

    let (with_owner, _) = dispatcher([
        everywhere("a", Fake::answering(allow)),
        owner("o", "permission", Fake::answering(deny)),
    ]);
    let outcome = with_owner
        .dispatch::<PermissionDecision>(permission(HostDecision::Deny))
        .await
        .unwrap();
    let permission_ruling = outcome.permission.unwrap();
    assert_eq!(
        (
            permission_ruling.plugin.as_str(),
            permission_ruling.allowed,
            permission_ruling.reason.as_str()
        ),
        ("o", false, "mine")
    );
    assert_eq!(outcome.audit, None);

    // A block of the chain is not put to the owner.
    let last = Fake::answering(allow);
    let (blocked, _) = dispatcher([
        everywhere("a", Fake::answering(r#"{"decision":"block"}"#)),
        owner("o", "permission", last.clone()),
    ]);
    let outcome = blocked
        .dispatch::<PermissionDecision>(permission(HostDecision::Deny))
        .await
        .unwrap();
    assert!(outcome.blocked.is_some() && outcome.permission.is_none());
    assert_eq!(last.asked().len(), 0);
}

#[tokio::test]
async fn the_owner_of_a_slot_rules_last_and_its_failure_is_fatal() {
    let point = HookPoint::ContextPrepare;
    let payload = r#"{"messages":[{"role":"user"}]}"#;
    let replace = r#"{"decision":"replace","replacement":{"messages":[]}}"#;
    let fake = Fake::answering(replace);
    let mut both = owner("o", "context", fake.clone());
    both.points = vec![point];
    let (twice, _) = dispatcher([both]);
    let left = run_at(&twice, point, payload).await.unwrap();
    // As one of the chain, and then as the owner.
    assert_eq!(left.applied, ["o", "o"]);
    assert_eq!(fake.asked().len(), 2);
    assert_eq!(fake.told().len(), 1);

    for (answer, is) in [
        (
            Fake::answering(r#"{"decision":"block","reason":"no"}"#),
            "blocked",
        ),
        (Fake::answering(r#"{"decision":"allow"}"#), "rules"),
        (
            Fake::answering(r#"{"decision":"replace","replacement":{}}"#),
            "rules",
        ),
        (Fake::failing(), "did not answer"),
    ] {
        let (dispatcher, heard) = dispatcher([owner("o", "context", answer.clone())]);
        let error = run_at(&dispatcher, point, payload).await.unwrap_err();
        assert!(error.to_string().contains(is), "{error}");
        assert!(error.to_string().contains("`o`"), "{error}");
        // Nobody is told of what did not happen.
        assert_eq!(answer.told().len(), 0);
        assert_eq!(*heard.lock().unwrap(), []);
    }
    let (gone, _) = dispatcher([Participant {
        client: None,
        ..owner("o", "context", fake)
    }]);
    let error = run_at(&gone, point, payload).await.unwrap_err();
    assert_eq!(error.reason(), ErrorReason::ProviderInterrupted);
}

#[tokio::test]
async fn an_owner_is_required_at_every_point() {
    let mut participant = owner("o", "context", Fake::failing());
    participant.points = vec![HookPoint::InputReceive];
    let (dispatcher, heard) = dispatcher([participant]);
    let error = dispatcher
        .dispatch::<InputReceive>(input("x"))
        .await
        .unwrap_err();
    assert_eq!(error.reason(), ErrorReason::InterceptTimeout);
    assert_eq!(*heard.lock().unwrap(), []);
}

#[tokio::test]
async fn nothing_is_lost_because_the_owner_of_events_or_of_sessions_fails() {
    for (point, payload, slot) in [
        (
            HookPoint::FrontendEvent,
            r#"{"kind":"text","text":"a"}"#,
            "frontend_events",
        ),
        (
            HookPoint::SessionLoad,
            r#"{"phase":"load"}"#,
            "session_policy",
        ),
    ] {
        let (failing, heard) = dispatcher([owner("o", slot, Fake::failing())]);
        let left = run_at(&failing, point, payload).await.unwrap();
        assert!(!left.changed && left.blocked.is_none());
        assert_eq!(heard.lock().unwrap().len(), 1);

        let (blocking, heard) =
            dispatcher([owner("o", slot, Fake::answering(r#"{"decision":"block"}"#))]);
        let left = run_at(&blocking, point, payload).await.unwrap();
        // An event is hidden; what is loaded is loaded.
        let hidden = point == HookPoint::FrontendEvent;
        assert_eq!(left.blocked.is_some(), hidden, "{point}");
        assert_eq!(heard.lock().unwrap().len(), usize::from(!hidden));
    }
    // Elsewhere a session may be refused.
    let (blocking, _) = dispatcher([owner(
        "o",
        "session_policy",
        Fake::answering(r#"{"decision":"block"}"#),
    )]);
    assert!(
        run_at(&blocking, HookPoint::SessionSave, r#"{"phase":"save"}"#)
            .await
            .is_err()
    );
}

#[tokio::test]
async fn tools_and_models_have_owners_of_their_own() {
    let tool =
        Fake::answering(r#"{"decision":"replace","replacement":{"name":"bash","arguments":"{}"}}"#);
    let model = Fake::answering(r#"{"decision":"continue"}"#);
    let (dispatcher, _) = dispatcher([
        owner("t", "tool:bash", tool.clone()),
        owner("m", "provider:plugin/demo/echo/small", model.clone()),
    ]);
    for (name, asked) in [("bash", 1), ("other", 0)] {
        let call = ToolBeforePayload::new().with_name(name);
        let outcome = dispatcher.dispatch::<ToolBefore>(call).await.unwrap();
        assert_eq!(outcome.applied.len(), asked);
    }
    for reference in [
        None,
        Some("plugin/demo/echo/large"),
        Some("plugin/demo/echo/small"),
    ] {
        let payload =
            RawJson::parse(r#"{"request":{"messages":[],"tools":[],"maxTokens":1}}"#).unwrap();
        let payload = ProviderRequest::decode_payload(&payload).unwrap();
        let mut dispatch = dispatcher.at::<ProviderRequest>(payload);
        if let Some(reference) = reference {
            dispatch = dispatch.for_provider(reference);
        }
        dispatch.run().await.unwrap();
    }
    assert_eq!((tool.asked().len(), model.asked().len()), (1, 1));
}

#[test]
fn a_slot_has_one_owner_and_twice_is_once() {
    let fake = Fake::answering(r#"{"decision":"continue"}"#);
    let mut twice = owner("a", "context", fake.clone());
    twice.slots.push("context".parse().unwrap());
    assert!(Dispatcher::builder([twice.clone()]).is_ok());
    for others in [
        [twice.clone(), owner("b", "context", fake.clone())],
        [owner("b", "context", fake), twice],
    ] {
        let conflict = Dispatcher::builder(others).map(drop).unwrap_err();
        assert_eq!(
            (conflict.owner.as_str(), conflict.other.as_str()),
            ("a", "b")
        );
        assert!(conflict.to_string().contains("`context`"), "{conflict}");
    }
}

#[tokio::test]
async fn an_optional_failure_is_said_once_by_point_and_counted() {
    let text = format!("upstream said {SECRET}");
    let refusing = Fake::of(move |_, _| {
        let kind = FailureKind::Crashed(crate::redact::shown(&text));
        Box::pin(ready(Err(CallFailure {
            plugin: "a".to_owned(),
            kind,
        })))
    });
    let (dispatcher, heard) = dispatcher([everywhere("a", refusing)]);
    let mut runs = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let dispatcher = dispatcher.clone();
        runs.spawn(async move {
            dispatcher
                .dispatch::<InputReceive>(input("x"))
                .await
                .unwrap();
            dispatcher
                .dispatch::<ToolBefore>(ToolBeforePayload::new().with_name("x"))
                .await
                .unwrap();
        });
    }
    while let Some(run) = runs.join_next().await {
        run.unwrap();
    }
    let heard = heard.lock().unwrap();
    assert_eq!(heard.len(), 2, "{heard:?}");
    assert!(
        heard
            .iter()
            .all(|warning| warning.text.contains("`a`") && !warning.text.contains(SECRET))
    );
    let counts: Vec<u64> = dispatcher
        .warning_counts()
        .iter()
        .map(|(.., count)| *count)
        .collect();
    assert_eq!(counts, [16, 16]);
}

#[tokio::test]
async fn one_that_does_not_run_is_passed_over_or_missed() {
    let absent = |plugin: &str| Participant {
        points: vec![HookPoint::InputReceive],
        ..Participant::new(plugin, None)
    };
    let (optional, heard) = dispatcher([absent("a")]);
    optional.dispatch::<InputReceive>(input("x")).await.unwrap();
    assert_eq!(heard.lock().unwrap().len(), 1);
    let (fatal, _) = dispatcher([required(absent("a"))]);
    let error = fatal
        .dispatch::<InputReceive>(input("x"))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "`a` is required at `input.receive` and does not run"
    );
}

#[tokio::test]
async fn giving_up_is_nobodys_failure() {
    let hanging = Fake::of(|_, _| Box::pin(pending()));
    let (dispatcher, heard) = dispatcher([everywhere("a", hanging.clone())]);
    let run = dispatcher.dispatch::<InputReceive>(input("x"));
    assert!(
        tokio::time::timeout(Duration::from_millis(20), run)
            .await
            .is_err()
    );
    assert_eq!(hanging.asked().len(), 1);
    assert_eq!(hanging.told().len(), 0);
    assert_eq!(*heard.lock().unwrap(), []);
    assert_eq!(dispatcher.warning_counts(), []);
}

#[tokio::test]
async fn a_panic_is_a_failure_of_that_plugin() {
    let panicking = Fake::of(|_, _| panic!("on purpose"));
    let (dispatcher, heard) =
        dispatcher([everywhere("a", panicking), everywhere("b", appending("b"))]);
    let outcome = dispatcher
        .dispatch::<InputReceive>(input("x"))
        .await
        .unwrap();
    assert_eq!(outcome.payload.text, "xb");
    assert_eq!(heard.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_whole_chain_may_have_a_budget() {
    let hanging = || Fake::of(|_, _| Box::pin(pending()));
    let heard = Heard::default();
    let hear = heard.clone();
    let dispatcher = Dispatcher::builder([everywhere("a", hanging()), everywhere("b", hanging())])
        .unwrap()
        .budget(Duration::from_secs(7))
        .on_warning(move |warning| hear.lock().unwrap().push(warning))
        .build();
    let begun = tokio::time::Instant::now();
    dispatcher
        .dispatch::<InputReceive>(input("x"))
        .await
        .unwrap();
    assert!(
        begun.elapsed() < Duration::from_secs(8),
        "{:?}",
        begun.elapsed()
    );
    let heard = heard.lock().unwrap();
    assert_eq!(heard.len(), 2, "{heard:?}");
    assert!(
        heard[1]
            .text
            .contains("within the 7000 ms of the whole chain"),
        "{heard:?}"
    );
}

#[tokio::test]
async fn each_is_told_once_and_whoever_misses_it_is_warned_of() {
    let fakes: Vec<Arc<Fake>> = (0..3)
        .map(|_| Fake::answering(r#"{"decision":"continue"}"#))
        .collect();
    let deaf = Arc::new(Fake {
        answer: Box::new(|_, _| Box::pin(ready(Ok(ruled(r#"{"decision":"continue"}"#))))),
        asked: Mutex::default(),
        told: Mutex::default(),
        deaf: true,
    });
    let mut both = owner("a", "context", fakes[0].clone());
    both.points = vec![HookPoint::ContextPrepare];
    let (dispatcher, heard) = dispatcher([
        both,
        everywhere("b", fakes[1].clone()),
        everywhere("c", deaf.clone()),
        owner("d", "permission", fakes[2].clone()),
    ]);
    for _ in 0..2 {
        run_at(&dispatcher, HookPoint::ContextPrepare, r#"{"messages":[]}"#)
            .await
            .unwrap();
    }
    let told: Vec<usize> = fakes.iter().map(|fake| fake.told().len()).collect();
    assert_eq!(told, [2, 2, 0]);
    let heard = heard.lock().unwrap();
    assert!(
        matches!(heard.as_slice(), [Warning { kind: WarningKind::Missed, plugin, .. }] if plugin == "c"),
        "{heard:?}"
    );
}

#[tokio::test]
async fn a_run_can_be_explained() {
    let (dispatcher, _) = dispatcher([
        everywhere("a", appending("!")),
        everywhere("b", Fake::failing()),
        everywhere(
            "c",
            Fake::answering(r#"{"decision":"block","reason":"enough"}"#),
        ),
        everywhere("d", appending("?")),
    ]);
    let (outcome, explanation) = dispatcher.at::<InputReceive>(input("x")).explained().await;
    assert!(outcome.unwrap().blocked.is_some());
    let text = explanation.to_string();
    let times = regex_lite::Regex::new(r"\([0-9.]+ ms\)").unwrap();
    assert_eq!(
        times.replace_all(&text, "(time)"),
        "input.receive\n  a replaced the payload (time)\n    /text: \"x\" → \"x!\"\n  b failed: did not answer within 5000 ms (time)\n  c blocked: enough (time)\n  d was not asked: the ruling before it ended the walk\n  told: a, b, c, d"
    );
    let data = serde_json::to_value(&explanation).unwrap();
    assert_eq!(data["steps"][0]["changes"][0]["after"], "x!");
    assert_eq!(data["steps"][2]["verdict"]["blocked"], "enough");
}

#[tokio::test]
async fn without_extensions_nothing_is_asked_and_nothing_changes() {
    for dispatcher in [Dispatcher::none(), dispatcher([]).0] {
        assert!(HookPoint::ALL.iter().all(|point| !dispatcher.asks(*point)));
        let outcome = dispatcher
            .dispatch::<InputReceive>(input("x"))
            .await
            .unwrap();
        assert_eq!(outcome.payload, input("x"));
        assert!(!outcome.changed);
    }
}

/// What a plugin of the model does.
#[derive(Clone, Copy, Debug)]
enum Does {
    Continues,
    Appends,
    Blocks,
    BreaksRules,
    Fails,
}

/// The rules of the chain, as plainly as they can be written.
fn model(plugins: &[(i32, bool, Does)]) -> Result<(String, bool, usize), usize> {
    let mut order: Vec<usize> = (0..plugins.len()).collect();
    order.sort_by_key(|index| (plugins[*index].0, *index));
    let (mut text, mut warnings) = (String::new(), 0);
    for index in order {
        let (_, required, does) = plugins[index];
        match does {
            Does::Continues => {}
            Does::Appends => text.extend([index.to_string().as_str(), ","]),
            Does::Blocks => return Ok((text, true, warnings)),
            Does::BreaksRules | Does::Fails if required => return Err(index),
            Does::BreaksRules | Does::Fails => warnings += 1,
        }
    }
    Ok((text, false, warnings))
}

proptest! {
    #[test]
    fn any_chain_does_what_the_rules_say(
        plugins in prop::collection::vec((-2..3_i32, any::<bool>(), 0..5_u8), 0..6)
    ) {
        let plugins: Vec<(i32, bool, Does)> = plugins
            .into_iter()
            .map(|(priority, required, does)| {
                let all = [Does::Continues, Does::Appends, Does::Blocks, Does::BreaksRules, Does::Fails];
                (priority, required, all[usize::from(does)])
            })
            .collect();
        let asked = Arc::new(AtomicUsize::new(0));
        let participants: Vec<Participant> = plugins
            .iter()
            .enumerate()
            .map(|(index, (priority, required, does))| {
                let (does, asked) = (*does, asked.clone());
                let fake = Fake::of(move |_, payload| {
                    asked.fetch_add(1, Ordering::Relaxed);
                    let payload: InputReceivePayload = payload.decode().unwrap();
                    Box::pin(ready(match does {
                        Does::Continues => Ok(ruled(r#"{"decision":"continue"}"#)),
                        Does::Appends => Ok(ruled(&serde_json::json!({
                            "decision": "replace",
                            "replacement": {"text": format!("{}{index},", payload.text)},
                        }).to_string())),
                        Does::Blocks => Ok(ruled(r#"{"decision":"block"}"#)),
                        Does::BreaksRules => Ok(ruled(r#"{"decision":"deny"}"#)),
                        Does::Fails => Err(CallFailure {
                            plugin: index.to_string(),
                            kind: FailureKind::Stopped,
                        }),
                    }))
                });
                let mut participant = everywhere(&index.to_string(), fake);
                participant.priority = *priority;
                participant.required = *required;
                participant
            })
            .collect();
        let (dispatcher, heard) = dispatcher(participants);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let outcome = runtime.block_on(dispatcher.dispatch::<InputReceive>(input("")));
        match (outcome, model(&plugins)) {
            (Ok(outcome), Ok((text, blocked, warnings))) => {
                prop_assert_eq!(outcome.payload.text, text);
                prop_assert_eq!(outcome.blocked.is_some(), blocked);
                prop_assert_eq!(heard.lock().unwrap().len(), warnings);
            }
            (Err(error), Err(index)) => {
                let named = error.to_string().contains(&format!("`{index}`"));
                prop_assert!(named, "{}", error);
            }
            (outcome, model) => prop_assert!(false, "{:?} is not {:?}", outcome, model),
        }
    }
}
