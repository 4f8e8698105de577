//! Prose of definitions, and how to show it in rustdoc and Markdown exactly as it was written.
//!
//! Of all markup, prose has code spans, paragraphs (a blank line), `- ` lists and code blocks
//! (fenced or indented). Everything else is text: what a Markdown reader would take for markup is
//! escaped, so prose can neither break nor leave its host. Code blocks get the language `text`, so
//! that none becomes a documentation test, and end with their prose.

use crate::model::Doc;

/// Columns at which prose is wrapped: with `///` and one level of indentation it stays below the
/// hundred that rustfmt allows.
pub(crate) const WIDTH: usize = 91;

/// Turns the content of a code span into a link, where it names something.
pub(crate) type Links<'a> = &'a dyn Fn(&str) -> Option<String>;

/// No links.
pub(crate) fn no_links(_: &str) -> Option<String> {
    None
}

/// Whether prose cannot have the character: it would not show, or would change how the text around
/// it shows.
pub(crate) fn is_forbidden(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
        || matches!(
            c,
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}' | '\u{feff}'
        )
}

/// The prose as lines of Markdown, wrapped.
pub(crate) fn lines(doc: &Doc, links: Links<'_>) -> Vec<String> {
    let mut out = Vec::new();
    for block in blocks(&doc.0) {
        if !out.is_empty() {
            out.push(String::new());
        }
        match block {
            Block::Paragraph(text) => wrap(&text, links, "", "", &mut out),
            Block::List(items) => {
                for item in items {
                    wrap(&item, links, "- ", "  ", &mut out);
                }
            }
            Block::Code(code) => {
                let fence = "`".repeat(longest_run(&code.join("\n")).max(2) + 1);
                out.push(format!("{fence}text"));
                out.extend(code);
                out.push(fence);
            }
        }
    }
    out
}

/// The prose on one line, for a cell of a Markdown table.
pub(crate) fn cell(doc: &Doc, links: Links<'_>) -> String {
    let parts: Vec<String> = blocks(&doc.0)
        .into_iter()
        .map(|block| match block {
            Block::Paragraph(text) => tokens(&text, links).join(" "),
            Block::List(items) => items
                .iter()
                .map(|item| format!("• {}", tokens(item, links).join(" ")))
                .collect::<Vec<_>>()
                .join("<br>"),
            Block::Code(code) => code
                .iter()
                .map(|line| {
                    if line.trim().is_empty() {
                        String::new()
                    } else {
                        span(line)
                    }
                })
                .collect::<Vec<_>>()
                .join("<br>"),
        })
        .collect();
    parts.join("<br>").replace('|', "\\|")
}

/// The first sentence of the prose, on one line of Markdown.
pub(crate) fn summary(doc: &Doc, links: Links<'_>) -> String {
    let first = blocks(&doc.0).into_iter().next();
    let Some(Block::Paragraph(text)) = first else {
        return cell(doc, links);
    };
    let mut sentence = Vec::new();
    for token in tokens(&text, links) {
        let ends = token.ends_with('.') && !matches!(token.as_str(), "e.g." | "i.e." | "etc.");
        sentence.push(token);
        if ends {
            break;
        }
    }
    sentence.join(" ")
}

/// Any text as literal Markdown on one line, for a cell of a table.
pub(crate) fn literal(text: &str) -> String {
    cell(
        &Doc(text.split_whitespace().collect::<Vec<_>>().join(" ")),
        &no_links,
    )
}

/// A code span that shows `text`, whatever backticks it has.
pub(crate) fn span(text: &str) -> String {
    let fence = "`".repeat(longest_run(text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{fence}{pad}{text}{pad}{fence}")
}

#[derive(Debug, PartialEq, Eq)]
enum Block {
    /// Text, its lines joined by spaces.
    Paragraph(String),
    /// Items, each as a paragraph.
    List(Vec<String>),
    /// Lines, as written.
    Code(Vec<String>),
}

fn blocks(text: &str) -> Vec<Block> {
    // A carriage return is a line end, as in CommonMark.
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut out: Vec<Block> = Vec::new();
    let mut fresh = true;
    let mut lines = text.lines().map(str::trim_end);
    while let Some(line) = lines.next() {
        let trimmed = line.trim_start();
        if trimmed.is_empty() {
            fresh = true;
            continue;
        }
        let indented = line.starts_with("    ") || line.starts_with('\t');
        if let Some(fence) = fence_of(trimmed).filter(|_| !indented) {
            let code = lines
                .by_ref()
                .take_while(|line| {
                    let line = line.trim();
                    !(line.len() >= fence.len()
                        && line.starts_with(&fence)
                        && line.chars().all(|c| fence.starts_with(c)))
                })
                .map(str::to_owned)
                .collect();
            out.push(Block::Code(code));
            fresh = true;
        } else if indented && (fresh || matches!(out.last(), Some(Block::Code(_)))) {
            let code = line.strip_prefix("    ").unwrap_or(trimmed).to_owned();
            match out.last_mut() {
                Some(Block::Code(lines)) if !fresh => lines.push(code),
                _ => out.push(Block::Code(vec![code])),
            }
            fresh = false;
        } else if let Some(item) = trimmed.strip_prefix("- ") {
            match out.last_mut() {
                Some(Block::List(items)) => items.push(item.trim().to_owned()),
                _ => out.push(Block::List(vec![item.trim().to_owned()])),
            }
            fresh = false;
        } else {
            match out.last_mut() {
                Some(Block::Paragraph(text)) if !fresh => {
                    text.push(' ');
                    text.push_str(trimmed);
                }
                Some(Block::List(items)) if !fresh || line.starts_with("  ") => {
                    if let Some(item) = items.last_mut() {
                        item.push(' ');
                        item.push_str(trimmed);
                    }
                }
                _ => out.push(Block::Paragraph(trimmed.to_owned())),
            }
            fresh = false;
        }
    }
    out
}

/// The run of backticks or tildes that opens a code block.
fn fence_of(line: &str) -> Option<String> {
    let first = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let run: String = line.chars().take_while(|&c| c == first).collect();
    let rest = line.strip_prefix(run.as_str())?;
    (run.len() >= 3 && !rest.contains('`')).then_some(run)
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

fn wrap(text: &str, links: Links<'_>, first: &str, next: &str, out: &mut Vec<String>) {
    let mut line = first.to_owned();
    let mut empty = true;
    for token in tokens(text, links) {
        if !empty && line.chars().count() + 1 + token.chars().count() > WIDTH {
            out.push(std::mem::replace(&mut line, next.to_owned()));
            empty = true;
        }
        if empty {
            line.push_str(&escape_start(&token));
        } else {
            line.push(' ');
            line.push_str(&token);
        }
        empty = false;
    }
    out.push(line);
}

/// The words of a paragraph as Markdown; a code span with its punctuation is one.
fn tokens(text: &str, links: Links<'_>) -> Vec<String> {
    let mut out = Vec::new();
    let mut token = String::new();
    let mut rest = text;
    // What stands before decides whether an underscore could open emphasis.
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        if c == '`'
            && let Some((code, after)) = code_span(rest)
        {
            match links(code) {
                Some(link) => token.push_str(&link),
                None => token.push_str(&span(code)),
            }
            rest = after;
            before = '`';
            continue;
        }
        if let Some(url) = url(rest).filter(|_| !before.is_alphanumeric()) {
            token.push('<');
            token.push_str(url);
            token.push('>');
            before = url.chars().next_back().unwrap_or(' ');
            rest = rest.strip_prefix(url).unwrap_or_default();
            continue;
        }
        rest = rest.strip_prefix(c).unwrap_or_default();
        if c.is_whitespace() {
            if !token.is_empty() {
                out.push(std::mem::take(&mut token));
            }
        } else {
            if is_markup(c, before, rest) {
                token.push('\\');
            }
            token.push(c);
        }
        before = c;
    }
    if !token.is_empty() {
        out.push(token);
    }
    out
}

/// A code span at the start of `text`, and what follows it.
fn code_span(text: &str) -> Option<(&str, &str)> {
    let body = text.trim_start_matches('`');
    let fence = text.strip_suffix(body)?;
    let mut from = 0;
    loop {
        let start = from + body.get(from..)?.find(fence)?;
        let run = body.get(start..)?.len() - body.get(start..)?.trim_start_matches('`').len();
        if run == fence.len() {
            let code = body.get(..start)?;
            // One space on each side only keeps backticks apart.
            let code = code
                .strip_prefix(' ')
                .and_then(|code| code.strip_suffix(' '))
                .filter(|code| !code.trim().is_empty())
                .unwrap_or(code);
            return (!code.trim().is_empty())
                .then(|| (code, body.get(start + run..).unwrap_or("")));
        }
        from = start + run;
    }
}

/// A web address at the start of `text`, without the punctuation that ends the sentence.
fn url(text: &str) -> Option<&str> {
    if !(text.starts_with("https://") || text.starts_with("http://")) {
        return None;
    }
    let end = text
        .find(|c: char| c.is_whitespace() || matches!(c, '<' | '>' | '`' | '"' | '|' | '\\'))
        .unwrap_or(text.len());
    let url = text
        .get(..end)?
        .trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '\'', '*', '_']);
    (!url.ends_with("://")).then_some(url)
}

/// Whether a Markdown reader could take `c` for markup where it stands.
fn is_markup(c: char, before: char, rest: &str) -> bool {
    let after = rest.chars().next().unwrap_or(' ');
    match c {
        '\\' | '*' | '`' | '[' | ']' | '$' => true,
        '~' => before == '~' || after == '~',
        '_' => !(before.is_alphanumeric() && after.is_alphanumeric()),
        '<' => after.is_ascii_alphabetic() || matches!(after, '/' | '!' | '?'),
        '&' => after == '#' || after.is_ascii_alphabetic(),
        _ => false,
    }
}

/// Escapes what is markup only at the start of a line.
fn escape_start(token: &str) -> String {
    let digits = token.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0
        && let Some((number, rest)) = token.split_at_checked(digits)
        && matches!(rest, "." | ")")
    {
        return format!("{number}\\{rest}");
    }
    let bullet = matches!(token, "-" | "+");
    let rule = token.chars().all(|c| c == '-') || token.chars().all(|c| c == '=');
    if bullet || rule || token.starts_with(['#', '>', '|', ':']) {
        return format!("\\{token}");
    }
    token.to_owned()
}

#[cfg(test)]
mod tests {
    use super::{cell, lines, no_links, summary};
    use crate::model::Doc;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(lines(&Doc(text.to_owned()), &no_links), expected);
    }

    #[test]
    fn markup_that_prose_does_not_have_is_shown_as_written() {
        check("oops */ fn injected() {}", &["oops \\*/ fn injected() {}"]);
        check(
            "a <b>bold</b> &amp; [x](y)",
            &["a \\<b>bold\\</b> \\&amp; \\[x\\](y)"],
        );
        check("snake_case and _this_", &["snake_case and \\_this\\_"]);
        check("#[derive(Copy)]", &["\\#\\[derive(Copy)\\]"]);
        check("! not an inner doc", &["! not an inner doc"]);
        check("C:\\temp\\", &["C:\\\\temp\\\\"]);
        check(
            "say \"{name}\" or {} or {{",
            &["say \"{name}\" or {} or {{"],
        );
        check("a lone ` tick", &["a lone \\` tick"]);
        check("raw \"# string", &["raw \"# string"]);
    }

    #[test]
    fn a_line_end_of_any_kind_ends_a_line_and_a_blank_line_a_paragraph() {
        check("left\rright", &["left right"]);
        check("first\n/// second", &["first /// second"]);
        check("one\n\ntwo", &["one", "", "two"]);
    }

    #[test]
    fn code_blocks_are_text_and_end_with_their_prose() {
        check(
            "a\n\n```rust\nlet b: NotAType = 1;\n```\nb",
            &["a", "", "```text", "let b: NotAType = 1;", "```", "", "b"],
        );
        check("a\n\n    four", &["a", "", "```text", "four", "```"]);
        check("~~~\nopen ``` x", &["````text", "open ``` x", "````"]);
    }

    #[test]
    fn code_spans_and_addresses_are_kept_whole() {
        check("see ``a ` b``.", &["see ``a ` b``."]);
        check(
            "at https://example.org/a_b. Next",
            &["at <https://example.org/a_b>. Next"],
        );
    }

    #[test]
    fn a_list_keeps_its_items() {
        check(
            "Either:\n- one\n  more\n- two",
            &["Either:", "", "- one more", "- two"],
        );
        check("2020. was - a year", &["2020\\. was - a year"]);
    }

    #[test]
    fn a_cell_is_one_line_without_a_bare_bar() {
        let doc = Doc("LRS | GRS\na `tick|`\n\n- x\n- y\n\n    z | w".to_owned());
        assert_eq!(
            cell(&doc, &no_links),
            "LRS \\| GRS a `tick\\|`<br>• x<br>• y<br>`z \\| w`"
        );
    }

    #[test]
    fn a_summary_is_the_first_sentence() {
        let doc = Doc("One `a.b` thing. Two things.".to_owned());
        assert_eq!(summary(&doc, &no_links), "One `a.b` thing.");
    }
}
