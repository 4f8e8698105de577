use reasonix_extension_protocol::{HookPoint, decode_str, encode, types::*};

use super::*;
use crate::Program;

fn launch() -> Launch {
    let mut launch = Launch::new("demo", "1.0.0", Program::new("/bin/true", "/"));
    launch.intercepts = vec![HookPoint::ToolBefore, HookPoint::InputReceive];
    launch.replaces = vec!["tool:bash".to_owned()];
    launch.capabilities = vec![PROVIDERS.to_owned(), UI.to_owned()];
    launch
}

#[track_caller]
fn check_of(
    members: &str,
    change: impl Fn(&mut Launch),
    expected: Result<(), (ErrorReason, &str)>,
) {
    let version = if members.contains("protocolVersion") {
        ""
    } else {
        r#","protocolVersion":"1""#
    };
    let text =
        format!(r#"{{"name":"demo","version":"1","stateSchemaVersion":0{version}{members}}}"#);
    let mut launch = launch();
    change(&mut launch);
    let found = check(&launch, &decode_str(&text).unwrap());
    match (found, expected) {
        (Ok(()), Ok(())) => {}
        (Err(found), Err((reason, why))) => {
            assert_eq!(found.reason, reason);
            assert!(found.why.contains(why), "{}", found.why);
        }
        (found, expected) => panic!("{members}: {found:?}, expected {expected:?}"),
    }
}

#[test]
fn a_sidecar_may_be_what_its_manifest_allows_and_no_more() {
    use ErrorReason::{CapabilityNotDeclared as Undeclared, ProtocolError, UnsupportedVersion};

    let same = |_: &mut Launch| {};
    check_of("", same, Ok(()));
    let all = r#","subscriptions":["tool.before"],"replaces":["tool:bash"],"providers":[{"ref":"plugin/demo/m"}],"uiActions":[{"actionId":"go"}]"#;
    check_of(all, same, Ok(()));
    check_of(
        r#","subscriptions":["tool.after"]"#,
        same,
        Err((Undeclared, "tool.after")),
    );
    check_of(
        r#","replaces":["context"]"#,
        same,
        Err((Undeclared, "context")),
    );
    check_of(
        r#","providers":[{"ref":"plugin/other/m"}]"#,
        same,
        Err((Undeclared, "plugin/demo/")),
    );
    check_of(
        r#","providers":[{"ref":"plugin/demo/m"}]"#,
        |launch| launch.capabilities.clear(),
        Err((Undeclared, "providers")),
    );
    check_of(
        r#","uiActions":[{"actionId":"go"}]"#,
        |launch| launch.capabilities.clear(),
        Err((Undeclared, "`ui`")),
    );
    check_of(
        r#","protocolVersion":"2""#,
        same,
        Err((UnsupportedVersion, "major version 2")),
    );
    check_of(
        r#","protocolVersion":"one""#,
        same,
        Err((ProtocolError, "\"one\"")),
    );
    check_of(
        r#","protocolVersion":"1.0""#,
        same,
        Err((ProtocolError, "\"1.0\"")),
    );
}

#[test]
fn the_host_says_what_the_manifest_allows() {
    let context = SessionContext::new(
        SessionId::new("boot-3").unwrap(),
        NonBlank::new("/ws").unwrap(),
        Generation::new(3),
    );
    let params = params(&launch(), &Session::new(context, UiHost::Tui)).unwrap();
    let expected = r#"{"protocolId":"reasonix.extension.v1","protocolVersion":"1","manifest":{"intercepts":["tool.before","input.receive"],"replaces":["tool:bash"],"capabilities":["providers","ui"]},"session":{"sessionId":"boot-3","workspaceRoot":"/ws","generation":3},"capabilities":{"protocolVersion":"1","uiHost":"tui","contentRefs":true}}"#;
    assert_eq!(
        String::from_utf8(encode(&params).unwrap()).unwrap(),
        expected
    );
}
