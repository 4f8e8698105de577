//! Speed and memory, as ratios against floors and budgets of the same run. Knows commands only.
#![expect(
    clippy::cast_precision_loss,
    reason = "kilobytes of memory are far below 2^53"
)]

use std::{
    fmt::Write as _,
    fs,
    path::Path,
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use extension_protocol_gen::cli::Outcome;

use crate::cargo;

/// Time of a whole `check` over the definitions of the workspace, from a release build.
const CHECK_BUDGET: Duration = Duration::from_millis(50);
/// Peak memory of the same.
const CHECK_MEMORY_BUDGET_KB: u64 = 40_000;
/// Time of a whole `compat` over the contract of the workspace and one that lacks every optional member,
/// without and with witnesses.
const COMPAT_BUDGETS: [(Duration, &str, &str); 2] = [
    (
        Duration::from_millis(100),
        "--no-witnesses",
        "of the budget of 100 ms",
    ),
    (
        Duration::from_millis(500),
        "--format=text",
        "of the budget of 500 ms",
    ),
];
/// How often a command is run for its median: enough to step over a neighbour's burst.
const RUNS: u32 = 21;
/// Ten times the types may cost this many times the time: linear, with a fifth for noise.
const GROWTH_BUDGET: f64 = 12.0;
/// The same for a comparison, which does little beyond walking through memory: 1,000 types fit the caches
/// and 10,000 do not. What is quadratic costs 100.
const COMPAT_GROWTH_BUDGET: f64 = 20.0;
/// The sizes that growth is measured between.
const SIZES: [usize; 2] = [1_000, 10_000];

pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    let built = cargo(root)
        .args(["build", "--release", "--package", "extension-protocol-gen"])
        .status()
        .context("run cargo")?;
    ensure!(built.success(), "the release build failed");
    let generator = root.join("target/release/extension-protocol-gen");
    let generator = generator.to_str().context("the path is not UTF-8")?;
    let mut table = Table::default();

    // The floor: a process that does nothing.
    let floor = measured(RUNS, &["true"])?;
    let root_text = root.to_str().context("the path is not UTF-8")?;
    let check = measured(RUNS, &[generator, "check", "--root", root_text])?;
    table.row(
        "check, whole process",
        &format!("{:.1} ms", millis(check.time)),
        "of the budget of 50 ms",
        check.time.as_secs_f64() / CHECK_BUDGET.as_secs_f64(),
        1.0,
    );
    table.row(
        "check, peak memory",
        &format!("{:.1} MB", check.memory_kb as f64 / 1_000.0),
        "of the budget of 40 MB",
        check.memory_kb as f64 / CHECK_MEMORY_BUDGET_KB as f64,
        1.0,
    );
    let folder = tempfile::tempdir().context("make a folder")?;
    let older = without_optional_members(root, folder.path())?;
    for (budget, flag, of) in COMPAT_BUDGETS {
        let compat = measured(
            RUNS,
            &[
                generator,
                "compat",
                flag,
                "--root",
                root_text,
                "--against",
                &older,
            ],
        )?;
        table.row(
            &format!("compat {flag}, whole process"),
            &format!("{:.1} ms", millis(compat.time)),
            of,
            compat.time.as_secs_f64() / budget.as_secs_f64(),
            1.0,
        );
    }
    println!(
        "(floor: a process that does nothing takes {:.1} ms)\n",
        millis(floor.time)
    );

    let mut times = Vec::new();
    let mut compared = Vec::new();
    for size in SIZES {
        let place = folder.path().join(size.to_string());
        synthetic(&place, size)?;
        let place = place.to_str().context("the path is not UTF-8")?;
        // The first run writes; the later ones, which are measured, find nothing to write.
        ensure_runs(&[generator, "generate", "--root", place])?;
        let runs = if size > 1_000 { 3 } else { 7 };
        times.push(measured(runs, &[generator, "generate", "--root", place])?);
        let document = format!("{place}/generated/schema.generated.json");
        compared.push(measured(
            runs,
            &[generator, "compat", "--root", place, "--against", &document],
        )?);
    }
    let ([small, large], [compat_small, compat_large]) = (times.as_slice(), compared.as_slice())
    else {
        bail!("two sizes are measured");
    };
    table.row(
        "compat, 10,000 types to 1,000",
        &format!(
            "{:.0} ms to {:.0} ms",
            millis(compat_large.time),
            millis(compat_small.time)
        ),
        "times, of 20 allowed",
        compat_large.time.as_secs_f64() / compat_small.time.as_secs_f64(),
        COMPAT_GROWTH_BUDGET,
    );
    table.row(
        "generate, 10,000 types to 1,000",
        &format!(
            "{:.0} ms to {:.0} ms",
            millis(large.time),
            millis(small.time)
        ),
        "times, of 12 allowed",
        large.time.as_secs_f64() / small.time.as_secs_f64(),
        GROWTH_BUDGET,
    );
    table.row(
        "generate, 10,000 types, peak memory",
        &format!("{:.0} MB", large.memory_kb as f64 / 1_000.0),
        "(no budget)",
        0.0,
        f64::INFINITY,
    );
    println!("{}", table.text);

    let status = cargo(root)
        .args(["bench", "--quiet", "--package", "reasonix-extension-tests"])
        .status()
        .context("run cargo")?;
    Ok(if status.success() && !table.missed {
        ExitCode::SUCCESS
    } else {
        Outcome::Drift.into()
    })
}

/// The newest contract as it would be without its optional members, so that each is a change; gives its
/// path.
fn without_optional_members(root: &Path, folder: &Path) -> Result<String> {
    let path = root.join("generated/schema.generated.json");
    let text = fs::read_to_string(path).context("read the contract")?;
    let mut document: serde_json::Value =
        serde_json::from_str(&text).context("read the contract")?;
    let types = document
        .get_mut("$defs")
        .and_then(serde_json::Value::as_object_mut);
    for ty in types.context("the contract has types")?.values_mut() {
        let required = ty.get("required").cloned().unwrap_or_default();
        let required = required.as_array().cloned().unwrap_or_default();
        let members = ty
            .get_mut("properties")
            .and_then(serde_json::Value::as_object_mut);
        if let Some(members) = members {
            members.retain(|name, _| required.iter().any(|other| other == name));
        }
    }
    let path = folder.join("older.json");
    fs::write(&path, document.to_string()).context("write the older contract")?;
    path.to_str()
        .map(str::to_owned)
        .context("the path is not UTF-8")
}

#[derive(Default)]
struct Table {
    text: String,
    missed: bool,
}

impl Table {
    fn row(&mut self, what: &str, measured: &str, of: &str, ratio: f64, allowed: f64) {
        let verdict = if ratio <= allowed { "ok" } else { "MISSED" };
        self.missed |= ratio > allowed;
        let ratio = if allowed.is_finite() {
            format!("{ratio:.2}")
        } else {
            String::new()
        };
        let _ = writeln!(
            self.text,
            "{verdict:6} {what:38} {measured:24} {ratio:>6} {of}"
        );
    }
}

struct Measured {
    time: Duration,
    memory_kb: u64,
}

/// Measures in a process of its own, because the system counts the memory of children together.
fn measured(runs: u32, command: &[&str]) -> Result<Measured> {
    let output = Command::new(std::env::current_exe().context("find this program")?)
        .args(["measure", &runs.to_string()])
        .args(command)
        .output()
        .context("run this program")?;
    ensure!(
        output.status.success(),
        "measure `{}`: {}",
        command.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).context("read what was measured")?;
    let mut numbers = text.split_whitespace().map(str::parse::<u64>);
    let (Some(Ok(nanos)), Some(Ok(memory_kb))) = (numbers.next(), numbers.next()) else {
        bail!("`{text}` is no measurement");
    };
    Ok(Measured {
        time: Duration::from_nanos(nanos),
        memory_kb,
    })
}

/// Runs a command several times; prints the median time in nanoseconds and the peak memory in kB.
pub(crate) fn measure(runs: u32, command: &[String]) -> Result<ExitCode> {
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    let mut times = Vec::new();
    for _ in 0..runs {
        let start = Instant::now();
        ensure_runs(&command)?;
        times.push(start.elapsed());
    }
    times.sort();
    let median = times.get(times.len() / 2).context("at least one run")?;
    println!("{} {}", median.as_nanos(), peak_memory_kb()?);
    Ok(ExitCode::SUCCESS)
}

fn ensure_runs(command: &[&str]) -> Result<()> {
    let [program, arguments @ ..] = command else {
        bail!("no command");
    };
    let status = Command::new(program)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .with_context(|| format!("run `{program}`"))?;
    ensure!(status.success(), "`{}` failed: {status}", command.join(" "));
    Ok(())
}

#[cfg(unix)]
fn peak_memory_kb() -> Result<u64> {
    use nix::sys::resource::{UsageWho, getrusage};

    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).context("ask for the memory of children")?;
    let peak = u64::try_from(usage.max_rss()).context("memory is not negative")?;
    // Apple counts bytes where the others count kilobytes.
    Ok(if cfg!(target_vendor = "apple") {
        peak / 1_024
    } else {
        peak
    })
}

#[cfg(not(unix))]
fn peak_memory_kb() -> Result<u64> {
    Ok(0)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

/// Definitions of `size` types of six members each, every tenth of which refers to another type.
fn synthetic(root: &Path, size: usize) -> Result<()> {
    let folder = root.join("schema/v1");
    fs::create_dir_all(&folder).context("make a folder")?;
    let mut text = String::from(
        r#"
module = "wide"
[protocol]
id = "example.wide.v1"
title = "Example Wide v1"
major = 1
doc = "Many types."
[package]
name = "example-wide"
version = "0.1.0"
description = "Many types."
directory = "generated"
index = "docs/WIDE.generated.md"
[modules.wide]
order = 1
document = "contract"
doc = "Many types."
[classes.calls]
order = 1
doc = "Calls."
[methods."example/call"]
direction = "host_to_extension_request"
class = "calls"
params = "Root"
result = "Root"
doc = "Calls."
example = '{}'
result_example = '{}'
[scalars.Id]
type = "string"
non_blank = true
doc = "An id."
[enums.Kind]
doc = "A kind."
[enums.Kind.values]
one = "One."
two = "Two."
"#,
    );
    let mut fields = String::new();
    for index in 0..size {
        let other = if index.is_multiple_of(10) && index + 1 < size {
            format!("T{:05}", index + 1)
        } else {
            "bool".to_owned()
        };
        let _ = write!(
            text,
            r#"
[types.T{index:05}]
doc = "Type number {index}, which has members of every common shape."
[types.T{index:05}.fields]
id = {{ type = "Id", doc = "Which one it is." }}
kind = {{ type = "Kind", doc = "What kind it is." }}
count = {{ type = "i64", min = 0, doc = "How many there are. At least 0." }}
text = {{ type = "string", optional = true, doc = "What it says." }}
items = {{ type = "list<string>", optional = true, doc = "What it has." }}
other = {{ type = "{other}", optional = true, doc = "What it leads to." }}
"#
        );
        let _ = writeln!(
            fields,
            "m{index:05} = {{ type = \"T{index:05}\", optional = true, doc = \"Member {index}.\" }}"
        );
    }
    let _ = write!(
        text,
        "[types.Root]\ndoc = \"Has one of each.\"\n[types.Root.fields]\n{fields}"
    );
    fs::write(folder.join("wide.toml"), text).context("write definitions")
}
