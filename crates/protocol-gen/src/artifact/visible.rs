//! Text of unknown origin made fit for a terminal: what would move the cursor, hide or reorder
//! text is shown as a sign. Knows characters; knows no file.

use std::{borrow::Cow, fmt::Write as _};

/// Shows control characters as their Unicode pictures and other invisible ones as `<U+202E>`.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        push_visible(&mut shown, c);
    }
    Cow::Owned(shown)
}

/// Like [`visible`], but keeps line feeds.
pub(crate) fn visible_lines(text: &str) -> Cow<'_, str> {
    if !text.contains(|c| c != '\n' && is_hidden(c)) {
        return Cow::Borrowed(text);
    }
    let lines: Vec<_> = text.split('\n').map(visible).collect();
    Cow::Owned(lines.join("\n"))
}

/// The part of `text` from the character `from` on, made visible, with `…` where something is
/// missing and a count of what is missing behind. Shows at most `columns` characters of the text.
pub(super) fn window(text: &str, from: usize, columns: usize) -> String {
    let mut shown = String::new();
    if from > 0 {
        shown.push('…');
    }
    let mut rest = text.chars().skip(from);
    for c in rest.by_ref().take(columns) {
        push_visible(&mut shown, c);
    }
    let missing = rest.count();
    if missing > 0 {
        // Writing to a string cannot fail.
        let _ = write!(shown, "… ({missing} more characters)");
    }
    shown
}

fn push_visible(shown: &mut String, c: char) {
    match u32::from(c) {
        code @ 0..0x20 => shown.push(char::from_u32(0x2400 + code).unwrap_or(c)),
        0x7F => shown.push('␡'),
        code if is_hidden(c) => {
            let _ = write!(shown, "<U+{code:04X}>");
        }
        _ => shown.push(c),
    }
}

/// Controls, line and paragraph separators, and what is invisible or changes the direction.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{A0}'
                | '\u{AD}'
                | '\u{61C}'
                | '\u{180E}'
                | '\u{200B}'..='\u{200F}'
                | '\u{2028}'..='\u{202E}'
                | '\u{2060}'..='\u{206F}'
                | '\u{FEFF}'
                | '\u{FFF9}'..='\u{FFFB}'
                | '\u{E0000}'..='\u{E007F}'
        )
}
