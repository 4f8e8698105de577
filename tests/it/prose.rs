//! What is written for people is true: paths exist, commands exist, code blocks work.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use extension_protocol_gen::{compile, diagnostic, emit, source::Source};
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use reasonix_extension_protocol::{
    decode_str, limits, methods::MethodName, types::InterceptParams,
};
use reasonix_extension_tests::workspace;

/// Pages that people write, below the workspace.
const PAGES: &[&str] = &[
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "docs/evolving-the-protocol.md",
    "docs/sidecar.md",
    "docs/wire.md",
    "schema/README.md",
];

fn page(path: &str) -> String {
    fs::read_to_string(workspace().join(path)).unwrap()
}

/// Titles of the parts of a page, by the lines of its source.
fn headings(page: &str) -> impl Iterator<Item = String> {
    let titles = page.lines().filter(|line| line.starts_with('#'));
    titles.map(|line| line.trim_start_matches(['#', ' ']).to_owned())
}

/// Every code block of a language in a Markdown text.
fn code_blocks(markdown: &str, language: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    let mut open = false;
    for event in Parser::new(markdown) {
        if let Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) = &event {
            open = **info == *language;
            if open {
                blocks.push(String::new());
            }
        } else if let (Event::Text(text), true, Some(block)) = (&event, open, blocks.last_mut()) {
            block.push_str(text);
        } else if matches!(event, Event::End(TagEnd::CodeBlock)) {
            open = false;
        }
    }
    blocks
}

#[test]
fn what_pages_link_and_name_exists() {
    let tests = sources_of_tests();
    let tasks = xtasks();
    for path in PAGES {
        let text = page(path);
        let folder = workspace().join(path);
        let folder = folder.parent().unwrap();
        for event in Parser::new(&text) {
            if let Event::Start(Tag::Link { dest_url, .. }) = &event
                && !dest_url.contains("://")
            {
                let (file, part) = dest_url.split_once('#').unwrap_or((dest_url, ""));
                let target = match file {
                    "" => workspace().join(path),
                    file => folder.join(file),
                };
                assert!(target.exists(), "{path} links `{dest_url}`");
                if !part.is_empty() {
                    let target = fs::read_to_string(target).unwrap();
                    let known = headings(&target).any(|title| anchor(&title) == part);
                    assert!(known, "{path} links `{dest_url}`");
                }
            }
            let Event::Code(code) = &event else { continue };
            let rooted = [
                "crates/",
                "docs/",
                "generated/",
                "schema/",
                "tests/",
                "xtask/",
            ];
            if rooted.iter().any(|root| code.starts_with(root)) && !code.contains(['*', '<', ' ']) {
                assert!(workspace().join(&**code).exists(), "{path} names `{code}`");
            }
            // The name of a test is a sentence with many underscores.
            if code.matches('_').count() >= 4
                && code.bytes().all(|b| b == b'_' || b.is_ascii_lowercase())
            {
                assert!(
                    tests.contains(&format!("fn {code}()")),
                    "{path} names the test `{code}`"
                );
            }
            if let Some(task) = code.strip_prefix("cargo xtask ") {
                let task = task.split(' ').next().unwrap_or_default();
                assert!(tasks.contains(task), "{path} names `{code}`");
            }
        }
    }
}

fn sources_of_tests() -> String {
    fs::read_dir(workspace().join("tests/it"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "rs"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect()
}

/// The commands of `cargo xtask`, as its help names them.
fn xtasks() -> BTreeSet<String> {
    let main = page("xtask/src/main.rs");
    let (_, tasks) = main.split_once("enum Task {\n").unwrap();
    let (tasks, _) = tasks.split_once("\n}\n").unwrap();
    tasks
        .lines()
        .filter_map(|line| line.strip_prefix("    "))
        .filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()))
        .map(|line| line.trim_end_matches([' ', '{', ',']).to_ascii_lowercase())
        .chain(["--help".to_owned()])
        .collect()
}

#[test]
fn every_dependency_is_explained_and_nothing_else() {
    let manifest: toml::Table = page("Cargo.toml").parse().unwrap();
    let declared: BTreeSet<String> = manifest["workspace"]["dependencies"]
        .as_table()
        .unwrap()
        .keys()
        .map(|name| name.trim_end_matches("08").to_owned())
        .collect();
    let architecture = page("ARCHITECTURE.md");
    let (_, table) = architecture.split_once("## Dependencies").unwrap();
    let explained: BTreeSet<String> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next())
        .filter(|names| !matches!(*names, "crate" | "---"))
        .flat_map(|names| names.split(", "))
        .map(|name| {
            name.trim_end_matches(" 1")
                .trim_end_matches(" 0.8")
                .to_owned()
        })
        .collect();
    assert_eq!(declared, explained);
}

#[test]
fn the_blocks_of_the_vocabulary_are_one_sound_protocol() {
    let sources: Vec<Source> = code_blocks(&page("schema/README.md"), "toml")
        .iter()
        .enumerate()
        .map(|(index, block)| Source::new(format!("schema/v1/{index}.toml"), block.as_bytes()))
        .collect();
    assert!(sources.len() > 4);
    let model = compile(&sources).unwrap_or_else(|diagnostics| {
        panic!("{}", diagnostic::to_text(&diagnostics, &sources, false))
    });
    assert!(emit::emit(&model).len() > 20);
}

#[test]
fn every_key_and_every_diagnostic_is_in_the_vocabulary() {
    let text = page("schema/README.md");
    let schema: serde_json::Value =
        serde_json::from_str(&page("schema/definitions.generated.json")).unwrap();
    let mut keys = BTreeSet::new();
    for definition in schema["$defs"].as_object().unwrap().values() {
        keys.extend(
            definition["properties"]
                .as_object()
                .into_iter()
                .flat_map(|properties| properties.keys().cloned()),
        );
    }
    for key in keys {
        let named = [format!("`{key}`"), format!(".{key}`"), format!("`{key} ")];
        assert!(
            named.iter().any(|name| text.contains(name)),
            "the key `{key}`"
        );
    }
    for code in diagnostic::Code::ALL {
        let name = code.as_str();
        assert!(
            text.contains(&format!("`{name}`")),
            "the diagnostic `{name}`"
        );
    }
}

#[test]
fn the_example_of_the_readme_shows_what_the_crate_does() {
    let readme = page("README.md");
    let (_, section) = readme.split_once("## Use the crate\n").unwrap();
    let block = code_blocks(section, "rust").remove(0);
    // The same lines run in `readme_example`, below: this holds the two together.
    let (_, own) = include_str!("prose.rs")
        .split_once("fn readme_example() {\n")
        .unwrap();
    let (own, _) = own.split_once("\n}\n").unwrap();
    let own: Vec<&str> = own
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let shown: Vec<&str> = block
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    assert_eq!(shown, own);
}

#[test]
fn the_pages_show_what_generating_prints() {
    let mut sources = extension_protocol_gen::source::read(workspace()).unwrap();
    let artifacts = |sources: &[Source]| -> BTreeMap<String, Vec<u8>> {
        let model = compile(sources).unwrap();
        let artifacts = emit::emit(&model);
        artifacts
            .into_iter()
            .map(|of| (of.path, of.bytes))
            .collect()
    };
    let before = artifacts(&sources);
    // The edit that the pages show: a line below the fields of a type.
    let line = code_blocks(&page("README.md"), "toml").remove(0);
    let fields = "[types.UIActionResult.fields]\n";
    for source in &mut sources {
        let text = source.text().replace(fields, &format!("{fields}{line}"));
        *source = Source::new(source.path.clone(), text.as_bytes());
    }
    let after = artifacts(&sources);
    let changed: Vec<&str> = after
        .iter()
        .filter(|(path, bytes)| before.get(*path) != Some(bytes))
        .map(|(path, _)| path.as_str())
        .collect();
    let (count, updated) = (before.len(), changed.len());
    assert_eq!(count, after.len());
    assert!(updated > 3, "the line is in no type: {changed:?}");
    let summary = |updated: usize| {
        let unchanged = count - updated;
        format!(
            "{count} artifacts: 0 created, {updated} updated, {unchanged} unchanged, 0 removed\n"
        )
    };
    let printed: String = changed
        .iter()
        .map(|path| format!("updated {path}\n"))
        .chain([summary(updated)])
        .collect();
    let readme = page("README.md");
    for (path, text) in [
        ("README.md", &readme),
        (
            "docs/evolving-the-protocol.md",
            &page("docs/evolving-the-protocol.md"),
        ),
    ] {
        assert!(text.contains(&printed), "{path} lacks:\n{printed}");
    }
    for line in [
        summary(0),
        format!("error: {updated} generated files are out of date\n"),
    ] {
        assert!(readme.contains(&line), "README.md lacks: {line}");
    }
}

#[test]
fn the_table_of_bad_frames_is_that_of_the_code() {
    let code = page("crates/wire/src/message.rs");
    let rows: Vec<&str> = code
        .lines()
        .filter_map(|line| line.strip_prefix("//! "))
        .filter(|line| line.starts_with('|'))
        .collect();
    assert!(rows.len() > 8, "{rows:?}");
    let docs = page("docs/wire.md");
    let shown: Vec<&str> = docs.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(shown, rows);
}

#[test]
fn the_starter_of_the_readme_is_the_example_and_says_what_is_shown() {
    let readme = page("README.md");
    assert!(code_blocks(&readme, "rust").contains(&page("crates/sdk/examples/starter.rs")));
    let conversation = workspace().join("crates/sdk/examples/conversation.ndjson");
    let output = Command::new(env!("CARGO"))
        .args([
            "run",
            "--quiet",
            "-p",
            "reasonix-extension-sdk",
            "--example",
            "starter",
        ])
        .current_dir(workspace())
        .stdin(fs::File::open(conversation).unwrap())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let shown = code_blocks(&readme, "json");
    assert_eq!(shown, [String::from_utf8(output.stdout).unwrap()]);
}

#[test]
fn the_conversations_of_the_readme_are_what_its_commands_print() {
    let mut commands = 0;
    for block in code_blocks(&page("README.md"), "console") {
        // A line that ends with a backslash goes on in the next one.
        let block = block.replace("\\\n", "");
        for step in block.split("$ ").skip(1) {
            let (command, shown) = step.split_once('\n').unwrap();
            let output = Command::new("sh")
                .args(["-c", command])
                .current_dir(workspace())
                .output()
                .unwrap();
            assert!(output.status.success(), "{command}: {output:?}");
            assert_eq!(
                String::from_utf8(output.stdout).unwrap(),
                shown,
                "{command}"
            );
            commands += 1;
        }
    }
    assert_eq!(commands, 3);
}

#[test]
fn the_page_for_authors_says_what_the_contract_says() {
    let page = page("docs/sidecar.md");
    let blocks = code_blocks(&page, "json");
    assert_eq!(blocks.len(), 1);
    let params: InterceptParams = decode_str(&blocks[0]).unwrap();
    assert_eq!(params.externalized.unwrap().len(), 1);
    for number in [limits::FRAME_BYTES, limits::EXTERNALIZE_FIELD_BYTES] {
        assert!(page.contains(&grouped(number)), "{number}");
    }
    let mut methods = 0;
    for event in Parser::new(&page) {
        let Event::Code(code) = event else { continue };
        let ours = ["extension/", "host/"];
        if ours.iter().any(|prefix| code.starts_with(prefix)) {
            assert!(MethodName::from_wire(&code).is_some(), "{code}");
            methods += 1;
        }
    }
    assert!(methods > 10);
}

/// A number as prose writes it.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[test]
#[rustfmt::skip]
fn readme_example() {
    use reasonix_extension_protocol::{FaultKind, decode, encode, types::ShutdownParams};

    // One call decodes and checks. What the contract refuses is refused, with the place and the reason.
    let error = decode::<ShutdownParams>(br#"{"timeoutMillis":-1}"#).unwrap_err();
    assert_eq!(error.pointer(), "/timeoutMillis");
    assert_eq!(error.kind(), FaultKind::OutOfRange);

    // Required members are arguments, optional ones have setters, and new ones break no caller.
    let params = ShutdownParams::new(5_000);
    assert_eq!(encode(&params).unwrap(), br#"{"timeoutMillis":5000}"#);
}

#[test]
fn the_index_is_sound_markdown() {
    is_sound_markdown(&page("docs/EXTENSION_PROTOCOL.generated.md"));
}

/// Every row of a table has as many cells as its head, every link leads somewhere, and no HTML comes
/// out but what the index is made with.
pub(crate) fn is_sound_markdown(text: &str) {
    let mut anchors = BTreeSet::new();
    let mut links = BTreeSet::new();
    let mut heading: Option<String> = None;
    let mut cells = (0, 0);
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match &event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let title = heading.take().unwrap_or_default();
                anchors.insert(anchor(&title));
            }
            Event::Start(Tag::Link { dest_url, .. }) => {
                links.insert(dest_url.to_string());
            }
            Event::Start(Tag::TableHead | Tag::TableRow) => cells.1 = 0,
            Event::Start(Tag::TableCell) => cells.1 += 1,
            Event::End(TagEnd::TableHead) => cells.0 = cells.1,
            Event::End(TagEnd::TableRow) => assert_eq!(cells.0, cells.1, "cells of a row"),
            Event::InlineHtml(html) | Event::Html(html) => {
                if let Some(id) = html
                    .strip_prefix("<a id=\"")
                    .and_then(|rest| rest.split('"').next())
                {
                    anchors.insert(id.to_owned());
                }
                let known = ["<br>", "<a id=", "</a>", "<!-- @generated"];
                assert!(known.iter().any(|known| html.starts_with(known)), "{html}");
            }
            Event::Text(part) | Event::Code(part) => {
                if let Some(title) = &mut heading {
                    title.push_str(part);
                }
            }
            Event::Start(_)
            | Event::End(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_)
            | Event::SoftBreak
            | Event::HardBreak
            | Event::Rule
            | Event::TaskListMarker(_) => {}
        }
    }
    for link in links {
        if let Some(target) = link.strip_prefix('#') {
            assert!(anchors.contains(target), "`#{target}` leads nowhere");
        } else if !link.contains("://") {
            assert!(
                Path::new(&workspace().join("docs")).join(&link).exists(),
                "{link}"
            );
        }
    }
}

/// The anchor that code hosts make of a heading.
fn anchor(title: &str) -> String {
    title
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| {
            if c == ' ' {
                '-'
            } else {
                c.to_ascii_lowercase()
            }
        })
        .collect()
}
