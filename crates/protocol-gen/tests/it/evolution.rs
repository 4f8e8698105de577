//! A maintainer's day: what may grow grows, and every other edit of the definitions is refused with the
//! rule that it breaks. Callers that must not notice are compiled by the tests of the whole workspace.

use std::{collections::BTreeSet, fmt::Write as _};

use extension_protocol_gen::compat::Kind;
use serde_json::Value;

use crate::workspace::Workspace;

/// A file of definitions, a text that stands in it once, and what takes its place. With `…` in the
/// text, everything from the part before it up to the part after it is meant.
type Edit = (&'static str, &'static str, &'static str);

const PROTOCOL: &str = "protocol.toml";
const METHODS: &str = "methods.toml";
const ERRORS: &str = "errors.toml";
const HOOKS: &str = "hooks.toml";
const CONTENT: &str = "types/content.toml";
const INTERCEPT: &str = "types/intercept.toml";
const LIFECYCLE: &str = "types/lifecycle.toml";
const PROVIDER: &str = "types/provider.toml";
const UI: &str = "types/ui.toml";
const PAYLOADS: &str = "payloads/hooks.toml";

/// What a major version permits, one edit each.
const PERMITTED: &[(Kind, &[Edit])] = &[
    (
        Kind::MemberAdded,
        &[(
            LIFECYCLE,
            "[types.ShutdownResult.fields]\n",
            "[types.ShutdownResult.fields]\nnote = { type = \"string\", optional = true, doc = \"Why.\" }\n",
        )],
    ),
    (
        Kind::ValueAdded,
        &[(
            PROVIDER,
            "[enums.ChunkType.values]\n",
            "[enums.ChunkType.values]\nimage = \"A picture.\"\n",
        )],
    ),
    (
        Kind::MethodAdded,
        &[
            (
                METHODS,
                "[methods.\"extension/initialized\"]\n",
                "[methods.\"extension/ping\"]\ndirection = \"host_to_extension_request\"\n\
                 class = \"lifecycle\"\nparams = \"PingParams\"\nresult = \"ShutdownResult\"\n\
                 doc = \"Asks for a sign of life.\"\nexample = '{}'\n\
                 result_example = '{\"accepted\":true}'\n\n[methods.\"extension/initialized\"]\n",
            ),
            (
                LIFECYCLE,
                "[types.InitializedParams]\n",
                "[types.PingParams]\ndoc = \"Says nothing.\"\n\n[types.InitializedParams]\n",
            ),
        ],
    ),
    (
        Kind::ErrorAdded,
        &[(
            ERRORS,
            "[errors.internal]\n",
            "[errors.too_busy]\ncode = -32000\nretryable = true\nmessage = \"Too busy.\"\n\
             doc = \"Too busy.\"\n\n[errors.internal]\n",
        )],
    ),
    (
        Kind::HookAdded,
        &[(
            HOOKS,
            "[hooks.\"tool.before\"]\n",
            "[hooks.\"tool.error\"]\npayload = \"ToolAfterPayload\"\ntimeout = \"fast\"\n\
             decisions = [\"continue\"]\nadopts = []\ndoc = \"A tool failed.\"\n\n\
             [hooks.\"tool.before\"]\n",
        )],
    ),
    (
        Kind::SlotAdded,
        &[(
            HOOKS,
            "[slots.context]\n",
            "[slots.memory]\ndoc = \"What is remembered.\"\n\n[slots.context]\n",
        )],
    ),
];

/// What no message and no published document shows: only Rust callers notice.
const UNSEEN: &[(Kind, &[Edit])] = &[(
    Kind::SharedName,
    &[(
        LIFECYCLE,
        "workspaceRoot = { type = \"NonBlank\"",
        "workspaceRoot = { type = \"SessionId\"",
    )],
)];

/// What a major version forbids, one edit for each kind of change.
const FORBIDDEN: &[(Kind, &[Edit])] = &[
    (
        Kind::ProtocolTitle,
        &[(PROTOCOL, "Protocol v1\"\nmajor", "Protocol One\"\nmajor")],
    ),
    (
        Kind::PayloadsId,
        &[(
            PROTOCOL,
            "id = \"reasonix.extension.v1.payloads\"",
            "id = \"reasonix.extension.v1.documents\"",
        )],
    ),
    (
        Kind::PayloadsTitle,
        &[(
            PROTOCOL,
            "Protocol v1 payloads\"",
            "Protocol v1 documents\"",
        )],
    ),
    (
        Kind::TypeRenamed,
        &[
            (
                LIFECYCLE,
                "type = \"HostCapabilities\"",
                "type = \"HostFeatures\"",
            ),
            (
                LIFECYCLE,
                "[types.HostCapabilities]\n",
                "[types.HostFeatures]\n",
            ),
            (
                LIFECYCLE,
                "[types.HostCapabilities.fields]",
                "[types.HostFeatures.fields]",
            ),
        ],
    ),
    (
        Kind::MemberAdded,
        &[(
            PROVIDER,
            "[types.ProviderResponseFormat.fields]\n",
            "[types.ProviderResponseFormat.fields]\nname = { type = \"string\", doc = \"Name.\" }\n",
        )],
    ),
    (
        Kind::MemberRemoved,
        &[(
            PROVIDER,
            "argChars = { type = \"i64\", min = 0, optional = true, doc = \"Characters of arguments received so far. At least 0.\" }\n",
            "",
        )],
    ),
    (
        Kind::Required,
        &[(
            PROVIDER,
            "lastSeq = { type = \"i64\", min = 0, doc",
            "lastSeq = { type = \"i64\", min = 0, optional = true, doc",
        )],
    ),
    (
        Kind::ValueType,
        &[(
            PROVIDER,
            "vision = { type = \"bool\"",
            "vision = { type = \"string\"",
        )],
    ),
    (
        Kind::Bound,
        &[(
            LIFECYCLE,
            "timeoutMillis = { type = \"i64\", min = 0",
            "timeoutMillis = { type = \"i64\", min = 1",
        )],
    ),
    (
        Kind::Blank,
        &[(
            PROVIDER,
            "finishReason = { type = \"string\", optional",
            "finishReason = { type = \"NonBlank\", optional",
        )],
    ),
    (
        Kind::Width,
        &[(
            PROVIDER,
            "seqBase = { type = \"i64\", min = 0",
            "seqBase = { type = \"u64\", min = 0",
        )],
    ),
    (
        Kind::Spelling,
        &[(
            CONTENT,
            "sha256 = { type = \"Sha256\", doc = \"Hash of its JSON text.\"",
            "sha256 = { type = \"string\", doc = \"Hash of its JSON text.\"",
        )],
    ),
    (
        Kind::Absence,
        &[(
            PAYLOADS,
            "guidance = { type = \"string\", absent_is_zero = true",
            "guidance = { type = \"string\", optional = true",
        )],
    ),
    (
        Kind::Externalizable,
        &[(
            PROVIDER,
            "optional = true, externalizable = true, doc = \"What is said.\"",
            "optional = true, doc = \"What is said.\"",
        )],
    ),
    (
        Kind::Documents,
        &[
            (
                UI,
                "notification = \"UINotificationPayload\"",
                "notification = \"UIStatusPayload\"",
            ),
            (
                "payloads/ui.toml",
                "[types.UICardPayload.fields]\n",
                "[types.UICardPayload.fields]\nlater = { type = \"UINotificationPayload\", optional = true, doc = \"Later.\" }\n",
            ),
        ],
    ),
    (
        Kind::ValueRemoved,
        &[(PROVIDER, "provider_interrupted = \"It was cut off.\"\n", "")],
    ),
    (
        Kind::RuleAdded,
        &[(
            PROVIDER,
            "[types.ProviderUsage]\n",
            "[[types.ProviderChunk.rules]]\nwhen = { type = \"text\" }\nrequires = [\"text\"]\n\
             doc = \"`text` is there where `type` is `text`.\"\n\n[types.ProviderUsage]\n",
        )],
    ),
    (
        Kind::RuleRemoved,
        &[(
            PROVIDER,
            "[[types.ProviderChunk.rules]]\nwhen = { type = \"usage\" }\nrequires = [\"usage\"]\n\
             doc = \"`usage` is there where `type` is `usage`.\"\n",
            "",
        )],
    ),
    (
        Kind::Direction,
        &[(
            METHODS,
            "rust = \"Initialized\"\ndirection = \"host_to_extension_notification\"",
            "rust = \"Initialized\"\ndirection = \"extension_to_host_notification\"",
        )],
    ),
    (
        Kind::Class,
        &[(
            METHODS,
            "rust = \"StreamCancel\"\ndirection = \"host_to_extension_request\"\nclass = \"provider\"",
            "rust = \"StreamCancel\"\ndirection = \"host_to_extension_request\"\nclass = \"lifecycle\"",
        )],
    ),
    (
        Kind::ErrorCode,
        &[(ERRORS, "code = -32603", "code = -32099")],
    ),
    (
        Kind::ErrorMessage,
        &[(
            ERRORS,
            "message = \"An internal extension protocol error occurred.\"",
            "message = \"Something went wrong.\"",
        )],
    ),
    (
        Kind::ErrorRetryable,
        &[(
            ERRORS,
            "code = -32603\nretryable = true",
            "code = -32603\nretryable = false",
        )],
    ),
    (
        Kind::LimitAdded,
        &[(
            PROTOCOL,
            "[limits.frameBytes]\n",
            "[limits.pathBytes]\nvalue = 4_096\nunit = \"bytes\"\ndoc = \"The longest path.\"\n\n\
             [limits.frameBytes]\n",
        )],
    ),
    (
        Kind::LimitValue,
        &[(PROTOCOL, "value = 262_144", "value = 524_288")],
    ),
    (
        Kind::LimitUnit,
        &[(
            PROTOCOL,
            "value = 262_144\nunit = \"bytes\"",
            "value = 262_144\nunit = \"characters\"",
        )],
    ),
    (
        Kind::HookFixed,
        &[(HOOKS, "fixed = { phase = \"start\" }\n", "")],
    ),
    (
        Kind::HookPayload,
        &[
            (
                HOOKS,
                "[hooks.\"agent.before_start\"]\npayload = \"AgentBeforeStartPayload\"",
                "[hooks.\"agent.before_start\"]\npayload = \"FrontendEventPayload\"",
            ),
            (
                HOOKS,
                "[hooks.\"agent.before_start\".replacement]\nnon_empty = [\"sessionId\"]\n",
                "",
            ),
            (
                PAYLOADS,
                "[types.FrontendEventPayload.fields]\n",
                "[types.FrontendEventPayload.fields]\nbefore = { type = \"AgentBeforeStartPayload\", optional = true, doc = \"Before.\" }\n",
            ),
        ],
    ),
    (
        Kind::Replacement,
        &[(
            HOOKS,
            "[hooks.\"input.receive\".replacement]\nnon_empty = [\"text\"]\n",
            "",
        )],
    ),
    (
        Kind::HookTimeout,
        &[(
            HOOKS,
            "payload = \"ToolBeforePayload\"\ntimeout = \"fast\"",
            "payload = \"ToolBeforePayload\"\ntimeout = \"slow\"",
        )],
    ),
    (
        Kind::HookSlot,
        &[(
            HOOKS,
            "payload = \"ToolBeforePayload\"\ntimeout = \"fast\"",
            "payload = \"ToolBeforePayload\"\ntimeout = \"fast\"\nslot = \"permission\"",
        )],
    ),
    (
        Kind::Decisions,
        &[(
            HOOKS,
            "payload = \"ToolBeforePayload\"\ntimeout = \"fast\"\ndecisions = [\"block\", \"continue\", \"replace\"]",
            "payload = \"ToolBeforePayload\"\ntimeout = \"fast\"\ndecisions = [\"continue\", \"replace\"]",
        )],
    ),
    (
        Kind::Adopts,
        &[(
            HOOKS,
            "adopts = [\"arguments\", \"name\"]",
            "adopts = [\"arguments\"]",
        )],
    ),
    (
        Kind::Timeout,
        &[(HOOKS, "millis = 5_000", "millis = 50_000")],
    ),
    (
        Kind::SlotParameter,
        &[(HOOKS, "parameter = \"ref\"", "parameter = \"model\"")],
    ),
    (
        Kind::MethodRemoved,
        &[
            (
                METHODS,
                "[methods.\"extension/resources/changed\"]…[methods.\"extension/provider/catalog\"]",
                "",
            ),
            (
                INTERCEPT,
                "[types.ResourcesChangedParams]…Paths of the files.\" }",
                "",
            ),
        ],
    ),
    (
        Kind::Params,
        &[
            (
                METHODS,
                "params = \"ProviderCatalogParams\"",
                "params = \"InitializedParams\"",
            ),
            (PROVIDER, "[types.ProviderCatalogParams]\n…[types", ""),
        ],
    ),
    (
        Kind::ResultType,
        &[
            (
                METHODS,
                "result = \"StreamCancelResult\"…result_example = '{ \"cancelled\": true }'",
                "result = \"ShutdownResult\"\ndoc = \"Stops a stream.\"\nexample = '{ \"streamId\": \"x\" }'\n\
             result_example = '{ \"accepted\": true }'",
            ),
            (PROVIDER, "[types.StreamCancelResult]\n…is not.\" }", ""),
        ],
    ),
    (
        Kind::ErrorRemoved,
        &[(ERRORS, "[errors.internal]…[errors.unsupported_version]", "")],
    ),
    (
        Kind::ErrorData,
        &[
            (
                PROTOCOL,
                "error_data = \"ErrorData\"",
                "error_data = \"ErrorTerms\"",
            ),
            (
                "payloads/errors.toml",
                "[types.ErrorData]\n",
                "[types.ErrorTerms]\n",
            ),
            (
                "payloads/errors.toml",
                "[types.ErrorData.fields]\n",
                "[types.ErrorTerms.fields]\nmore = { type = \"ErrorData\", optional = true, doc = \"More.\" }\n",
            ),
            (
                "payloads/errors.toml",
                "action = { type = \"string\", optional = true, doc = \"What a person can do about it.\" }\n",
                "action = { type = \"string\", optional = true, doc = \"What a person can do about it.\" }\n\n[types.ErrorData]\ndoc = \"What stands in the `data` of a JSON-RPC error of this protocol.\"\n[types.ErrorData.fields]\nreason = { type = \"ErrorReason\", doc = \"Why.\" }\nretryable = { type = \"bool\", doc = \"Whether the same call may succeed later.\" }\naction = { type = \"string\", optional = true, doc = \"What to do.\" }\n",
            ),
        ],
    ),
    (
        Kind::LimitRemoved,
        &[
            (PROTOCOL, "[limits.contentRefObjectBytes]…# Diagrams", ""),
            (
                CONTENT,
                "At least 0, at most `contentRefObjectBytes`.",
                "At least 0.",
            ),
        ],
    ),
    (
        Kind::HookRemoved,
        &[(
            HOOKS,
            "[hooks.\"session.rotate\"]…[hooks.\"frontend.event\"]",
            "",
        )],
    ),
    (
        Kind::SlotRemoved,
        &[
            (HOOKS, "[slots.frontend_events]\n…[slots.tool]", ""),
            (HOOKS, "slot = \"frontend_events\"\n", ""),
        ],
    ),
];

/// Kinds that no edit of the definitions can make, and why.
const NOT_BY_DEFINITIONS: &[(Kind, &str)] = &[
    (
        Kind::TypeAdded,
        "definitions refuse a type that nothing uses",
    ),
    (
        Kind::TypeRemoved,
        "definitions refuse a type that nothing uses",
    ),
    (
        Kind::PayloadsDocument,
        "without it no hook has a payload; the tests of comparing cover it",
    ),
];

/// What makes another major version, to which the rules of this one do not apply.
const ANOTHER_MAJOR: &[Edit] = &[
    (
        PROTOCOL,
        "id = \"reasonix.extension.v1\"",
        "id = \"reasonix.extension.v2\"",
    ),
    (PROTOCOL, "major = 1", "major = 2"),
    (
        PROVIDER,
        "[types.ProviderResponseFormat.fields]\n",
        "[types.ProviderResponseFormat.fields]\nname = { type = \"string\", doc = \"Name.\" }\n",
    ),
];

/// Definitions with edits, which are taken back at the end.
fn edited<T>(workspace: &Workspace, edits: &[Edit], run: impl FnOnce() -> T) -> T {
    let path = |file: &str| format!("schema/v1/{file}");
    let files: BTreeSet<&str> = edits.iter().map(|(file, ..)| *file).collect();
    let before: Vec<(&str, String)> = files
        .into_iter()
        .map(|file| (file, workspace.read(&path(file))))
        .collect();
    for (file, from, to) in edits {
        if let Some((start, end)) = from.split_once('…') {
            let text = workspace.read(&path(file));
            let between = text
                .split_once(start)
                .and_then(|(_, rest)| rest.split_once(end))
                .map_or_else(|| panic!("{from:?} in {file}"), |(between, _)| between);
            // The next table stays, where one ends the cut.
            let end = if end.starts_with(['[', '#']) { "" } else { end };
            workspace.edit(&path(file), &format!("{start}{between}{end}"), to);
        } else {
            workspace.edit(&path(file), from, to);
        }
    }
    let result = run();
    for (file, text) in before {
        std::fs::write(workspace.path(&path(file)), text).unwrap();
    }
    result
}

/// Every change that a comparison with the newest release finds.
fn changes(workspace: &Workspace, code: i32) -> Vec<Value> {
    let (out, _) = workspace.run(&["compat", "--format", "json", "--no-witnesses"], code);
    let report: Value = serde_json::from_str(&out).unwrap();
    report.get("changes").unwrap().as_array().unwrap().clone()
}

#[test]
fn what_may_grow_grows() {
    let workspace = Workspace::new();
    let mut told = String::new();
    for (kind, edits) in PERMITTED {
        edited(&workspace, edits, || {
            let changes = changes(&workspace, 0);
            assert!(
                changes.iter().any(|change| change["kind"] == kind.as_str())
                    && changes.iter().all(|change| change["verdict"] == "allowed"),
                "{changes:#?}"
            );
            let (out, _) = workspace.run(&["compat"], 0);
            writeln!(told, "## {}\n{out}", kind.as_str()).unwrap();
        });
    }
    insta::assert_snapshot!(told);
    let all: Vec<Edit> = PERMITTED
        .iter()
        .flat_map(|(_, edits)| edits.iter().copied())
        .collect();
    edited(&workspace, &all, || {
        workspace.run(&["check"], 1);
        workspace.run(&["generate"], 0);
        workspace.run(&["check"], 0);
        workspace.run(&["release", "1.1.0"], 0);
        workspace.run(&["check"], 0);
    });
}

#[test]
fn whatever_else_is_edited_is_refused_with_the_rule_that_it_breaks() {
    let workspace = Workspace::new();
    let mut told = String::new();
    let mut covered = BTreeSet::new();
    for (kind, edits) in FORBIDDEN {
        covered.insert(*kind);
        edited(&workspace, edits, || {
            let changes = changes(&workspace, 4);
            assert!(
                changes
                    .iter()
                    .any(|change| change["kind"] == kind.as_str()
                        && change["verdict"] == "forbidden"),
                "{}: {changes:#?}",
                kind.as_str()
            );
            let (out, _) = workspace.run(&["compat"], 4);
            let (_, out) = out.split_once("\n\n").unwrap();
            writeln!(told, "## {}\n{out}", kind.as_str()).unwrap();
        });
    }
    insta::assert_snapshot!(told);
    for (kind, edits) in UNSEEN {
        covered.insert(*kind);
        edited(&workspace, edits, || {
            let changes = changes(&workspace, 0);
            assert!(
                changes
                    .iter()
                    .all(|change| change["kind"] == kind.as_str() && change["verdict"] == "unseen"),
                "{changes:#?}"
            );
        });
    }
    edited(&workspace, ANOTHER_MAJOR, || {
        let changes = changes(&workspace, 0);
        for kind in [Kind::ProtocolId, Kind::ProtocolMajor, Kind::MemberAdded] {
            covered.insert(kind);
            assert!(
                changes
                    .iter()
                    .any(|change| change["kind"] == kind.as_str() && change["verdict"] == "major"),
                "{changes:#?}"
            );
        }
    });
    edited(
        &workspace,
        &[(
            LIFECYCLE,
            "[types.InitializedParams]\n",
            "[types.Unused]\ndoc = \"Unused.\"\n\n[types.InitializedParams]\n",
        )],
        || workspace.run(&["compat"], 3),
    );
    covered.extend(PERMITTED.iter().map(|(kind, _)| *kind));
    covered.extend(NOT_BY_DEFINITIONS.iter().map(|(kind, _)| *kind));
    let missing: Vec<&Kind> = Kind::ALL
        .iter()
        .filter(|kind| !covered.contains(kind))
        .collect();
    assert!(missing.is_empty(), "no edit makes {missing:?}");
}

#[test]
fn a_place_in_the_definitions_is_annotated() {
    let workspace = Workspace::new();
    let edits: &[Edit] = &[(
        LIFECYCLE,
        "timeoutMillis = { type = \"i64\", min = 0",
        "timeoutMillis = { type = \"i64\", min = 1",
    )];
    edited(&workspace, edits, || {
        let (out, _) = workspace.run(&["compat", "--format", "github"], 4);
        insta::assert_snapshot!("github", out);
        let (out, _) = workspace.run(&["compat", "--format", "markdown"], 4);
        insta::assert_snapshot!("markdown", out);
    });
}

#[test]
fn the_page_about_it_shows_what_the_commands_print() {
    let workspace = Workspace::new();
    let page = workspace.read("docs/evolving-the-protocol.md");
    let (_, edit) = page.split_once("```diff\n").unwrap();
    let (edit, _) = edit.split_once("```").unwrap();
    let (before, added): (Vec<&str>, Vec<&str>) =
        edit.lines().partition(|line| line.starts_with(' '));
    let lines = |lines: &[&str]| {
        let lines: Vec<&str> = lines.iter().filter_map(|line| line.get(1..)).collect();
        lines.join("\n") + "\n"
    };
    let before = lines(&before);
    workspace.edit(
        "schema/v1/types/ui.toml",
        &before,
        &format!("{before}{}", lines(&added)),
    );
    for arguments in [&["compat"][..], &["generate"], &["release", "1.1.0"]] {
        let (out, _) = workspace.run(arguments, 0);
        for line in out.lines() {
            // The page leaves out the day, which moves, and the counts, which say nothing new.
            let moves = line.starts_with("recorded ") || line.contains(" artifacts: ");
            assert!(moves || page.contains(line), "{line}");
        }
    }
    workspace.run(&["verify", "generated"], 0);
    workspace.run(
        &[
            "compat",
            "--against",
            "release:1.0.0",
            "--format",
            "markdown",
        ],
        0,
    );
}
