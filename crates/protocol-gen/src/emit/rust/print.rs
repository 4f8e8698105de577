//! From tokens to text, item by item, as rustfmt would leave it.
//!
//! prettyplease prints whole files without blank lines between items and in time that bends with
//! their size, so items are printed one by one and joined. What it prints is a fixed point of
//! rustfmt at default settings after two mends: a blank line after each method, and derives on one
//! line where they fit.

use std::fmt::Write as _;

use proc_macro2::TokenStream;
use quote::quote;

use crate::model::Doc;
use crate::prose::{self, Links};

/// Prints one item.
pub(crate) fn item(tokens: TokenStream) -> String {
    let file: syn::File = syn::parse2(tokens).expect("the emitter makes whole items");
    let printed = prettyplease::unparse(&file);
    let lines: Vec<&str> = printed.trim_end().lines().collect();
    let mut out = String::with_capacity(printed.len() + 64);
    let mut at = 0;
    while let Some(&line) = lines.get(at) {
        let mended = mend(line, lines.get(at + 1..).unwrap_or_default());
        let (text, taken) = mended.unwrap_or_else(|| (line.to_owned(), 0));
        out.push_str(&text);
        out.push('\n');
        at += 1 + taken;
        let next = lines.get(at).copied().unwrap_or_default();
        if line == "    }" && next != "}" && !next.is_empty() {
            out.push('\n');
        }
    }
    out
}

/// Columns within which rustfmt keeps an array on one line.
const ARRAY_WIDTH: usize = 60;
/// Columns within which rustfmt keeps the members of a struct expression on one line.
const STRUCT_WIDTH: usize = 18;
/// Columns up to which rustfmt takes an element of an array for short, and packs several on a line.
const SHORT_ELEMENT: usize = 10;

/// What rustfmt makes of a line, where that differs, and how many of the lines after it are in it.
fn mend(line: &str, after: &[&str]) -> Option<(String, usize)> {
    let indent = line.len() - line.trim_start().len();
    // A derive or a signature that was broken and fits on one line.
    let opens = line == "#[derive(" || (line.trim_start().contains("fn ") && line.ends_with('('));
    if opens {
        let closing = format!("{})", " ".repeat(indent));
        let end = after.iter().position(|line| line.starts_with(&closing))?;
        let parts: Vec<&str> = after.get(..end)?.iter().map(|part| part.trim()).collect();
        let inner = parts.join(" ");
        let tail = after.get(end)?.trim_start();
        let joined = format!("{line}{}{tail}", inner.trim_end_matches(','));
        let fits = joined.len() <= MAX_COLUMNS;
        return (fits || line == "#[derive(").then_some((joined, end + 1));
    }
    // Patterns that were broken and fit on one line.
    let alternatives = after
        .iter()
        .take_while(|line| line.trim_start().starts_with("| "))
        .count();
    if alternatives > 0
        && !line.trim_start().starts_with("| ")
        && let Some((last, rest)) = after.get(..alternatives).and_then(<[&str]>::split_last)
        && let Some((pattern, body)) = last.split_once(" => ")
    {
        let mut patterns = line.to_owned();
        for part in rest.iter().copied().chain([pattern]) {
            patterns.push(' ');
            patterns.push_str(part.trim());
        }
        let whole = format!("{patterns} => {body}");
        if whole.len() <= MAX_COLUMNS {
            return Some((whole, alternatives));
        }
        let opened = format!("{patterns} => {{");
        let expression = body.strip_suffix(',')?;
        let pad = " ".repeat(indent);
        let block = format!("{opened}\n{pad}    {expression}\n{pad}}}");
        return (opened.len() <= MAX_COLUMNS).then_some((block, alternatives));
    }
    // A call with one argument that was broken and fits on one line.
    if let (true, [argument, close, ..]) = (line.ends_with("= Some("), after)
        && close.trim() == ");"
    {
        let joined = format!("{line}{});", argument.trim().trim_end_matches(','));
        return (joined.len() <= MAX_COLUMNS).then_some((joined, 2));
    }
    // An arm whose array was put in a block.
    if let (Some(left), Some(&"&[")) = (
        line.strip_suffix("=> {"),
        after.first().map(|line| line.trim()).as_ref(),
    ) {
        let end = after.iter().position(|line| line.trim() == "]")?;
        let pad = " ".repeat(indent);
        let mut text = format!("{left}=> &[\n");
        for element in after.get(1..end)? {
            let _ = writeln!(text, "{pad}    {}", element.trim());
        }
        let _ = write!(text, "{pad}],");
        return Some((text, end + 2));
    }
    // An arm whose expression was put in a block and fits on one line.
    if let (Some(left), [expression, close, ..]) = (line.strip_suffix("=> {"), after)
        && close.trim() == "}"
        && !expression.trim_end().ends_with([';', '{', '(', ','])
    {
        let joined = format!("{left}=> {},", expression.trim());
        return (joined.len() <= MAX_COLUMNS).then_some((joined, 2));
    }
    // A constant that is too long for one line.
    if line.len() > MAX_COLUMNS
        && line.trim_start().starts_with("pub const")
        && let Some((left, right)) = line.split_once(" = ")
    {
        return Some((format!("{left} =\n{}{right}", " ".repeat(indent + 4)), 0));
    }
    // An array that was broken and fits on one line.
    if line.ends_with("&[") {
        let end = after
            .iter()
            .position(|line| line.trim_start().starts_with(']'))?;
        let parts: Vec<&str> = after.get(..end)?.iter().map(|part| part.trim()).collect();
        let inner = parts.join(" ");
        let inner = inner.trim_end_matches(',');
        let joined = format!("{line}{inner}{}", after.get(end)?.trim_start());
        let fits = inner.len() <= ARRAY_WIDTH && joined.len() <= MAX_COLUMNS;
        return fits.then_some((joined, end + 1));
    }
    // A struct expression that is too wide for one line.
    if let Some(inner) = line
        .trim_start()
        .strip_prefix("Self { ")
        .and_then(|rest| rest.strip_suffix(" }"))
        && inner.len() > STRUCT_WIDTH
    {
        let pad = " ".repeat(indent);
        let mut text = format!("{pad}Self {{\n");
        for member in inner.split(", ") {
            let _ = writeln!(text, "{pad}    {member},");
        }
        text.push_str(&pad);
        text.push('}');
        return Some((text, 0));
    }
    // An array that is too wide for one line.
    if let Some((left, rest)) = line.split_once("&[")
        && let Some((inner, tail)) = rest.rsplit_once(']')
        && !inner.is_empty()
        && !inner.contains(['[', '('])
        && inner.len() > ARRAY_WIDTH
    {
        let pad = " ".repeat(indent + 4);
        let elements: Vec<&str> = inner.split(", ").collect();
        let mut text = format!("{left}&[\n");
        if elements
            .iter()
            .all(|element| element.len() <= SHORT_ELEMENT)
        {
            let mut row = pad.clone();
            for element in elements {
                if row.len() + element.len() + 1 > MAX_COLUMNS {
                    text.push_str(row.trim_end());
                    text.push('\n');
                    row.clone_from(&pad);
                }
                row.push_str(element);
                row.push_str(", ");
            }
            text.push_str(row.trim_end());
            text.push('\n');
        } else {
            for element in elements {
                let _ = writeln!(text, "{pad}{element},");
            }
        }
        let _ = write!(text, "{}]{tail}", " ".repeat(indent));
        return Some((text, 0));
    }
    None
}

/// Documentation attributes: each line of prose as one.
pub(crate) fn doc_attributes(lines: &[String]) -> TokenStream {
    let attributes = lines.iter().map(|line| {
        let text = if line.is_empty() {
            String::new()
        } else {
            format!(" {line}")
        };
        quote!(#[doc = #text])
    });
    quote!(#(#attributes)*)
}

/// Documentation of an item: prose, then further paragraphs of Markdown.
pub(crate) fn documented(doc: &Doc, links: Links<'_>, more: &[String]) -> TokenStream {
    let mut lines = prose::lines(doc, links);
    for paragraph in more {
        lines.push(String::new());
        lines.extend(paragraph.lines().map(str::to_owned));
    }
    doc_attributes(&lines)
}

/// Module documentation: `//!` lines.
pub(crate) fn module_doc(lines: &[String]) -> String {
    let mut out = String::new();
    for line in lines {
        out.push_str("//!");
        if !line.is_empty() {
            out.push(' ');
            out.push_str(line);
        }
        out.push('\n');
    }
    out
}

/// A number as people write it: `262_144`.
pub(crate) fn number(value: i128) -> TokenStream {
    let digits = value.unsigned_abs().to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        let left = digits.len() - index;
        if index > 0 && left.is_multiple_of(3) && digits.len() > 4 {
            grouped.push('_');
        }
        grouped.push(digit);
    }
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{grouped}")
        .parse()
        .expect("digits are a literal")
}

/// `use` lines, sorted as rustfmt sorts them: one a path, in the groups std, crate.
pub(crate) fn uses(groups: &[Vec<(String, Vec<String>)>]) -> String {
    let mut out = String::new();
    for group in groups {
        let mut lines = Vec::new();
        for (path, names) in group {
            let line = use_of("use", path, names.clone());
            if !line.is_empty() {
                lines.push(line);
            }
        }
        if lines.is_empty() {
            continue;
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out.extend(lines);
    }
    out
}

/// One `use` of names below a path, sorted and broken as rustfmt does; nothing for no names.
pub(crate) fn use_of(keyword: &str, path: &str, mut names: Vec<String>) -> String {
    names.sort_by_key(|name| use_key(name));
    names.dedup();
    match names.as_slice() {
        [] => String::new(),
        [one] => format!("{keyword} {path}::{one};\n"),
        _ => use_list(keyword, path, &names),
    }
}

/// One `use` of the crate: names at its root, and names below modules of it.
pub(crate) fn nested_use(root: Vec<String>, nested: &[(&str, Vec<String>)]) -> String {
    let mut names = root;
    for (path, inner) in nested {
        let mut inner = inner.clone();
        inner.sort_by_key(|name| use_key(name));
        match inner.as_slice() {
            [] => {}
            [one] => names.push(format!("{path}::{one}")),
            _ => names.push(format!("{path}::{{{}}}", inner.join(", "))),
        }
    }
    names.sort_by_key(|name| use_key(name));
    names.dedup();
    match names.as_slice() {
        [] => String::new(),
        [one] => format!("use crate::{one};\n"),
        _ => {
            let flat = format!("use crate::{{{}}};\n", names.join(", "));
            // rustfmt puts nested lists on lines of their own, and packs what stands between them.
            if flat.trim_end().len() <= USE_COLUMNS && !names.iter().any(|name| name.contains('{'))
            {
                return flat;
            }
            let mut out = String::from("use crate::{\n");
            let mut line = String::new();
            for name in &names {
                let piece = if name.contains('{') {
                    nested_lines(name)
                } else {
                    format!("{name},")
                };
                let fits = 4 + line.len() + 1 + piece.len() <= USE_LINE_COLUMNS;
                // Names pack; beside a nested list, paths stand alone.
                let nested = names.iter().any(|name| name.contains('{'));
                let alone = nested && (name.contains("::") || line.contains("::"));
                if !line.is_empty() && (!fits || alone) {
                    let _ = writeln!(out, "    {line}");
                    line.clear();
                }
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(&piece);
            }
            let _ = writeln!(out, "    {line}\n}};");
            out
        }
    }
}

/// `path::{A, B},`, broken where it is too long.
fn nested_lines(nested: &str) -> String {
    if 4 + nested.len() < USE_COLUMNS {
        return format!("{nested},");
    }
    let (path, list) = nested.split_once('{').unwrap_or((nested, ""));
    let mut out = format!("{path}{{\n");
    let mut line = String::new();
    for name in list.trim_end_matches('}').split(", ") {
        let piece = format!("{name},");
        if !line.is_empty() && 8 + line.len() + 1 + piece.len() > USE_LINE_COLUMNS {
            let _ = writeln!(out, "        {line}");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&piece);
    }
    let _ = write!(out, "        {line}\n    }},");
    out
}

/// In a list, modules stand behind types: edition 2024 sorts by version, small letters last.
fn use_key(name: &str) -> (bool, Vec<(u8, u64, String)>) {
    let first = name.split("::").next().unwrap_or(name);
    let small = first.starts_with(|c: char| c.is_ascii_lowercase());
    (small, version_key(first))
}

/// Columns that a line of code may have.
const MAX_COLUMNS: usize = 100;
/// Columns within which rustfmt keeps a list of names in a `use` on one line.
const USE_COLUMNS: usize = 98;
/// Columns of a line within such a list.
const USE_LINE_COLUMNS: usize = 99;

fn use_list(keyword: &str, path: &str, names: &[String]) -> String {
    let one_line = format!("{keyword} {path}::{{{}}};\n", names.join(", "));
    if one_line.trim_end().len() <= USE_COLUMNS {
        return one_line;
    }
    let mut out = format!("{keyword} {path}::{{\n");
    let mut line = String::new();
    for name in names {
        let piece = format!("{name},");
        if !line.is_empty() && 4 + line.len() + 1 + piece.len() > USE_LINE_COLUMNS {
            let _ = writeln!(out, "    {line}");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&piece);
    }
    let _ = writeln!(out, "    {line}\n}};");
    out
}

/// The order of edition 2024: small letters before capitals within a list is by kind, and digits
/// compare as numbers.
fn version_key(name: &str) -> Vec<(u8, u64, String)> {
    let mut key = Vec::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let digits = first.is_ascii_digit();
        let end = rest
            .find(|c: char| c.is_ascii_digit() != digits)
            .unwrap_or(rest.len());
        let (part, tail) = rest.split_at(end);
        if digits {
            key.push((0, part.parse().unwrap_or(u64::MAX), part.to_owned()));
        } else {
            key.push((1, 0, part.to_owned()));
        }
        rest = tail;
    }
    key
}
