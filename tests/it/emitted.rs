//! What is emitted compiles, is formatted, has sound documentation, and breaks no caller as it grows.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use extension_protocol_gen::{
    cli,
    compat::{self, Verdict},
    compile,
    contract::Contract,
    emit,
    source::{self, Source},
};
use reasonix_extension_tests::{copy, workspace};

/// A folder that stays from run to run, so that dependencies are compiled once.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Runs cargo on a crate that stands alone, with the versions of this workspace.
fn cargo(krate: &Path, arguments: &[&str]) -> Output {
    fs::copy(workspace().join("Cargo.lock"), krate.join("Cargo.lock")).unwrap();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("target");
    Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(krate)
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_NET_OFFLINE", "true")
        .env("RUSTFLAGS", "-D warnings")
        .env("RUSTDOCFLAGS", "-D warnings")
        .output()
        .unwrap()
}

#[track_caller]
fn succeeds(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{errors}");
    text
}

/// Generates from the definitions below `root`; the package stands alone.
fn generate(root: &Path) -> PathBuf {
    assert_eq!(
        cli::generate(root, &mut cli::Output::default()),
        cli::Outcome::Clean
    );
    let package = root.join("generated");
    let manifest = package.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text + "\n[workspace]\n").unwrap();
    package
}

#[test]
fn a_crate_of_every_shape_compiles_is_formatted_and_documented() {
    let root = folder("shapes");
    copy(&workspace().join("tests/fixtures/shapes"), &root).unwrap();
    let package = generate(&root);
    succeeds(&cargo(&package, &["test", "--quiet"]));
    succeeds(&cargo(&package, &["doc", "--quiet", "--no-deps"]));
    succeeds(&cargo(&package, &["fmt", "--check"]));

    // And so is the least that a protocol can be.
    let root = folder("minimal");
    copy(&workspace().join("tests/fixtures/minimal"), &root).unwrap();
    let minimal = generate(&root);
    succeeds(&cargo(&minimal, &["test", "--quiet"]));
    succeeds(&cargo(&minimal, &["doc", "--quiet", "--no-deps"]));
    succeeds(&cargo(&minimal, &["fmt", "--check"]));

    let listed = succeeds(&cargo(&package, &["package", "--list", "--allow-dirty"]));
    for needed in [
        "Cargo.toml",
        "README.md",
        "schema.generated.json",
        "payloads.generated.json",
        "src/lib.rs",
    ] {
        assert!(
            listed.lines().any(|line| line == needed),
            "{needed} in\n{listed}"
        );
    }
}

#[test]
fn prose_reaches_documentation_and_nothing_else() {
    // The sample has prose that tries to get out of its host; the same sample with plain prose must
    // be the same crate but for documentation.
    let sources = source::read(&workspace().join("tests/fixtures/shapes")).unwrap();
    let plain: Vec<Source> = sources
        .iter()
        .map(|source| {
            let text: Vec<String> = source
                .text()
                .lines()
                .map(|line| match line.split_once("doc = \"") {
                    Some((before, _)) if source.path.ends_with("prose.toml") => {
                        let end = if line.ends_with('}') { " }" } else { "" };
                        format!("{before}doc = \"Plain.\"{end}")
                    }
                    _ => line.to_owned(),
                })
                .collect();
            Source::new(source.path.clone(), text.join("\n").as_bytes())
        })
        .collect();
    let code = |sources: &[Source]| {
        let model = compile(sources).unwrap();
        let mut code = String::new();
        for artifact in emit::rust::emit(&model) {
            let text = String::from_utf8(artifact.bytes).unwrap();
            let is_doc = |line: &&str| {
                let line = line.trim_start();
                line.starts_with("///") || line.starts_with("//!")
            };
            if Path::new(&artifact.path)
                .extension()
                .is_some_and(|kind| kind == "rs")
            {
                code.extend(text.lines().filter(|line| !is_doc(line)));
            }
        }
        code
    };
    assert!(code(&sources) == code(&plain));
}

#[test]
fn emitted_code_reads_like_written_code() {
    let sources = source::read(&workspace().join("tests/fixtures/shapes")).unwrap();
    let artifacts = emit::rust::emit(&compile(&sources).unwrap());
    for path in [
        "src/payloads/documents.rs",
        "src/codec/documents.rs",
        "src/hooks.rs",
    ] {
        let artifact = artifacts
            .iter()
            .find(|artifact| artifact.path == format!("generated/{path}"))
            .unwrap();
        let text = String::from_utf8(artifact.bytes.clone()).unwrap();
        insta::with_settings!({prepend_module_to_snapshot => false, omit_expression => true}, {
            insta::assert_snapshot!(path.replace('/', "-"), text);
        });
    }
}

#[test]
fn prose_keeps_the_index_sound() {
    let sources = source::read(&workspace().join("tests/fixtures/shapes")).unwrap();
    let index = emit::markdown::emit(&compile(&sources).unwrap());
    crate::prose::is_sound_markdown(&String::from_utf8(index.bytes).unwrap());
}

#[test]
fn a_caller_notices_nothing_when_the_contract_grows() {
    let root = folder("growth");
    copy(&workspace().join("schema"), &root.join("schema")).unwrap();
    copy(
        &workspace().join("tests/fixtures/downstream"),
        &root.join("downstream"),
    )
    .unwrap();
    let downstream = root.join("downstream");
    generate(&root);
    succeeds(&cargo(&downstream, &["test", "--quiet"]));
    let contract = || {
        let model = compile(&source::read(&root).unwrap()).unwrap();
        Contract::of(&model).unwrap()
    };
    let before = contract();

    let grow = |file: &str, after: &str, line: &str| {
        let path = root.join("schema/v1").join(file);
        let text = fs::read_to_string(&path).unwrap();
        let (before, rest) = text
            .split_once(after)
            .unwrap_or_else(|| panic!("`{after}` in {file}"));
        fs::write(path, format!("{before}{after}\n{line}{rest}")).unwrap();
    };
    let optional = "extra = { type = \"number\", optional = true, doc = \"More.\" }";
    // To types with positional arguments, with a struct of required members, and with none.
    for (file, table) in [
        ("types/lifecycle.toml", "[types.ShutdownParams.fields]"),
        ("types/lifecycle.toml", "[types.ShutdownResult.fields]"),
        ("types/intercept.toml", "[types.InterceptResult.fields]"),
        ("types/provider.toml", "[types.ProviderChunk.fields]"),
        ("types/provider.toml", "[types.StreamChunkParams.fields]"),
        ("types/content.toml", "[types.ContentReadResult.fields]"),
        ("types/ui.toml", "[types.UIActionResult.fields]"),
        ("payloads/hooks.toml", "[types.ToolBeforePayload.fields]"),
        ("payloads/ui.toml", "[types.UIStatusPayload.fields]"),
    ] {
        grow(file, table, optional);
    }
    grow(
        "types/lifecycle.toml",
        "[types.InitializedParams]\ndoc = \"Says nothing beyond that the handshake is done.\"",
        &format!("[types.InitializedParams.fields]\n{optional}\n"),
    );
    grow(
        "types/provider.toml",
        "[enums.ChunkType.values]",
        "image = \"A picture.\"",
    );
    grow(
        "types/intercept.toml",
        "[enums.Decision.values]",
        "defer = \"Later.\"",
    );
    grow(
        "types/content.toml",
        "[enums.ContentEncoding.values]",
        "gzip = \"Packed.\"",
    );
    grow(
        "errors.toml",
        "# The frozen errors. Reason, code and message are values on the wire.",
        "[errors.too_busy]\ncode = -32000\nretryable = true\nmessage = \"Too busy.\"\ndoc = \"Too busy.\"\n",
    );
    grow(
        "hooks.toml",
        "# The hook points, their timeouts and the replacement slots.",
        "[hooks.\"tool.error\"]\npayload = \"ToolAfterPayload\"\ntimeout = \"fast\"\ndecisions = [\"continue\"]\nadopts = []\ndoc = \"A tool failed.\"\n",
    );
    grow(
        "methods.toml",
        "# The methods. Examples tell one story: plugin `demo` in session `sess-1`.",
        "[methods.\"extension/ping\"]\ndirection = \"host_to_extension_request\"\nclass = \"lifecycle\"\nparams = \"InitializedParams\"\nresult = \"ShutdownResult\"\ndoc = \"Asks for a sign of life.\"\nexample = '{}'\nresult_example = '{\"accepted\":true}'\n",
    );
    generate(&root);
    let changed = fs::read_to_string(root.join("generated/schema.generated.json")).unwrap();
    assert!(changed.contains("extension/ping") && changed.contains("\"image\""));
    // What callers do not notice is what the stability contract permits.
    let comparison = compat::compare(&before, &contract());
    assert_eq!(comparison.changes.len(), 16);
    for change in &comparison.changes {
        assert!(matches!(change.verdict, Verdict::Allowed(_)), "{change:#?}");
    }
    succeeds(&cargo(&downstream, &["test", "--quiet"]));
}
