//! Hexadecimal digits.

/// Whether a string is exactly `digits` lower-case hexadecimal digits.
pub(crate) fn is_lower_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}
