//! Committed artifacts equal generated ones, and nothing can change without being noticed.

use std::{fs, num::NonZero, ops::Range, path::Path, thread};

use extension_protocol_gen::{
    artifact::{self, Plan, Report},
    cli, compile, emit,
    model::Model,
    releases::Releases,
    source::{self, Source},
};
use reasonix_extension_tests::{copy_of_artifacts, workspace};
use toml::de::{DeTable, DeValue};

/// What a person types to mend drift.
const MEND: &str = "cargo xtask codegen";

fn sources() -> Vec<Source> {
    source::read(workspace()).expect("the definitions can be read")
}

fn model() -> Model {
    let mut model = compile(&sources()).expect("the definitions are sound");
    let releases = Releases::read(workspace()).expect("the record of releases can be read");
    assert_eq!(releases.faults, [], "the record of releases is sound");
    releases.annotate(&mut model);
    model
}

fn report(root: &Path) -> Report {
    artifact::check(&plan(root)).expect("the folder can be read")
}

fn plan(root: &Path) -> Plan {
    cli::plan(root, &model()).expect("the artifacts have places")
}

#[test]
fn committed_artifacts_equal_generated_ones() {
    let report = report(workspace());
    assert!(report.is_clean(), "\n{}", report.to_text(MEND));
}

#[test]
fn a_change_of_any_byte_of_any_artifact_is_found_and_says_how_to_mend_it() {
    let folder = tempfile::tempdir().unwrap();
    copy_of_artifacts(folder.path()).unwrap();
    let plan = plan(folder.path());
    let report = || artifact::check(&plan).expect("the folder can be read");
    assert!(report().is_clean());

    let artifacts = emit::emit(&model());
    for artifact in &artifacts {
        let path = folder.path().join(&artifact.path);
        let last = artifact.bytes.len() - 1;
        for at in [0, last / 2, last] {
            let mut bytes = artifact.bytes.clone();
            bytes[at] ^= 1;
            fs::write(&path, &bytes).unwrap();
            let report = report();
            let found: Vec<&str> = report
                .findings
                .iter()
                .map(|found| found.path.as_str())
                .collect();
            assert_eq!(found, [artifact.path.as_str()], "byte {at}");
            let text = report.to_text(MEND);
            assert!(
                text.contains(&artifact.path) && text.contains(MEND),
                "{text}"
            );
        }
        fs::write(&path, &artifact.bytes).unwrap();
    }
    assert!(report().is_clean());
}

#[test]
fn other_line_ends_alone_are_named_as_such_with_what_mends_them() {
    let folder = tempfile::tempdir().unwrap();
    copy_of_artifacts(folder.path()).unwrap();
    let path = folder.path().join("generated/src/lib.rs");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace('\n', "\r\n")).unwrap();
    let report = report(folder.path()).to_text(MEND);
    assert!(
        report.contains("line end") && report.contains("autocrlf"),
        "{report}"
    );
}

/// Every value of a definition file: the place of its text, and what to write instead.
fn mutations(source: &Source) -> Vec<(Range<usize>, String)> {
    fn walk(table: &DeTable<'_>, text: &str, out: &mut Vec<(Range<usize>, String)>) {
        for value in table.values() {
            visit(value, text, out);
        }
    }
    fn visit(
        value: &toml::Spanned<DeValue<'_>>,
        text: &str,
        out: &mut Vec<(Range<usize>, String)>,
    ) {
        let span = value.span();
        let written = text.get(span.clone()).unwrap_or_default();
        match value.get_ref() {
            DeValue::String(_) => {
                let quotes = if written.starts_with("\"\"\"") || written.starts_with("'''") {
                    3
                } else {
                    1
                };
                let (body, close) = written.split_at(written.len() - quotes);
                out.push((span, format!("{body}x{close}")));
            }
            DeValue::Integer(_) => out.push((span, format!("{written}1"))),
            DeValue::Boolean(value) => out.push((span, (!value).to_string())),
            DeValue::Array(items) => items.iter().for_each(|item| visit(item, text, out)),
            DeValue::Table(table) => walk(table, text, out),
            DeValue::Float(_) | DeValue::Datetime(_) => panic!("definitions have none"),
        }
    }
    let mut out = Vec::new();
    let table = DeTable::parse(source.text()).expect("the definitions are TOML");
    walk(table.get_ref(), source.text(), &mut out);
    out
}

#[test]
fn a_change_of_any_value_or_doc_of_any_definition_is_found() {
    let sources = sources();
    let committed = emit::emit(&model());
    let changes: Vec<(usize, Range<usize>, String)> = sources
        .iter()
        .enumerate()
        .flat_map(|(file, source)| {
            mutations(source)
                .into_iter()
                .map(move |(span, written)| (file, span, written))
        })
        .collect();
    assert!(
        changes.len() > 900,
        "all values are tried, and there are many"
    );

    let is_found = |file: usize, span: &Range<usize>, written: &str| {
        let mut changed = sources.clone();
        let mut text = sources[file].text().to_owned();
        text.replace_range(span.clone(), written);
        changed[file] = Source::new(sources[file].path.clone(), text.as_bytes());
        // Definitions that are refused fail the check; others must lead to other bytes. The page for
        // people shows nearly all, so the crate is emitted only where it does not.
        compile(&changed).map_or(true, |model| {
            !committed.contains(&emit::markdown::emit(&model)) || emit::emit(&model) != committed
        })
    };
    let (sources, is_found) = (&sources, &is_found);
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        for share in changes.chunks(changes.len().div_ceil(workers)) {
            scope.spawn(move || {
                for (file, span, written) in share {
                    let source = &sources[*file];
                    let before = source.text().get(..span.start).unwrap_or_default();
                    let line = before.matches('\n').count() + 1;
                    assert!(
                        is_found(*file, span, written),
                        "{}:{line}: `{written}` changes no artifact",
                        source.path
                    );
                }
            });
        }
    });
}

#[test]
fn comments_and_spacing_of_definitions_reach_no_artifact() {
    let changed: Vec<Source> = sources()
        .into_iter()
        .map(|source| {
            let text = source.text().replace('\n', "\r\n") + "\r\n\r\n# A remark.\r\n";
            Source::new(source.path.clone(), text.as_bytes())
        })
        .collect();
    assert_eq!(
        emit::emit(&compile(&changed).unwrap()),
        emit::emit(&model())
    );
}

#[test]
fn another_folder_and_another_order_of_files_give_the_same_bytes() {
    let expected = emit::emit(&model());
    assert_eq!(emit::emit(&model()), expected, "twice in one process");

    let mut reversed = sources();
    reversed.reverse();
    assert_eq!(
        emit::emit(&compile(&reversed).unwrap()),
        expected,
        "files in another order"
    );

    // Another folder, from nothing.
    let folder = tempfile::tempdir().unwrap();
    copy_of_artifacts(folder.path()).unwrap();
    let mut output = cli::Output::default();
    for path in &expected {
        fs::remove_file(folder.path().join(&path.path)).unwrap();
    }
    assert_eq!(
        cli::generate(folder.path(), &mut output),
        cli::Outcome::Clean
    );
    for artifact in &expected {
        let written = fs::read(folder.path().join(&artifact.path)).unwrap();
        assert!(written == artifact.bytes, "{}", artifact.path);
    }
}

/// The first lines of a definition file, and its definitions, each with its sub-tables.
fn parts(source: &Source) -> (String, Vec<String>) {
    let mut head = String::new();
    let mut parts: Vec<(String, String)> = Vec::new();
    for line in source.text().lines() {
        // `types.A` of `[types.A]`, `[types.A.fields]` and `[[types.A.rules]]`.
        let table = line.strip_prefix('[').map(|rest| {
            let name = rest
                .trim_start_matches('[')
                .split(']')
                .next()
                .unwrap_or_default();
            let quoted = name.split('"').nth(1).map(|key| format!("\"{key}\""));
            let (section, key) = name.split_once('.').unwrap_or((name, ""));
            let key =
                quoted.unwrap_or_else(|| key.split('.').next().unwrap_or_default().to_owned());
            format!("{section}.{key}")
        });
        match (table, parts.last_mut()) {
            (Some(table), Some((last, text))) if *last == table => text.push_str(line),
            (Some(table), _) => parts.push((table, line.to_owned())),
            (None, Some((_, text))) => text.push_str(line),
            (None, None) => head.push_str(line),
        }
        let text = parts.last_mut().map_or(&mut head, |(_, text)| text);
        text.push('\n');
    }
    (head, parts.into_iter().map(|(_, text)| text).collect())
}

#[test]
fn how_definitions_are_spread_over_files_and_ordered_in_them_changes_no_byte() {
    let expected = emit::emit(&model());
    let mut reversed = Vec::new();
    let mut split = Vec::new();
    let mut renamed = Vec::new();
    for (index, source) in sources().iter().enumerate() {
        let (head, mut parts) = parts(source);
        for (half, name) in [(0, "a"), (1, "b")] {
            let own: Vec<&str> = parts
                .iter()
                .skip(half)
                .step_by(2)
                .map(String::as_str)
                .collect();
            let text = head.clone() + &own.concat();
            split.push(Source::new(
                format!("schema/v1/{index}{name}.toml"),
                text.as_bytes(),
            ));
        }
        parts.reverse();
        let text = head + &parts.concat();
        reversed.push(Source::new(source.path.clone(), text.as_bytes()));
        let path = format!("schema/v1/{}.toml", 99 - index);
        renamed.push(Source::new(path, source.text().as_bytes()));
    }
    for (what, sources) in [
        ("reversed", reversed),
        ("split", split),
        ("renamed", renamed),
    ] {
        let model = compile(&sources).unwrap_or_else(|faults| panic!("{what}: {faults:#?}"));
        assert!(emit::emit(&model) == expected, "{what}");
    }
}

#[test]
fn the_features_of_another_crate_in_the_build_change_no_byte() {
    // This package switches `preserve_order` on, and features unify: the generator that is linked
    // into this test has it too.
    let object: serde_json::Value = serde_json::from_str(r#"{"b":1,"a":2}"#).unwrap();
    assert_eq!(
        object.to_string(),
        r#"{"b":1,"a":2}"#,
        "`preserve_order` is on in this build"
    );
    let report = report(workspace());
    assert!(report.is_clean(), "\n{}", report.to_text(MEND));
}
