//! What holds between the members of a type.

/// Whether the rules of a type hold.
pub(crate) fn holds<T>(
    value: &T,
    check: impl FnOnce(&T) -> Result<(), &'static str>,
) -> Result<(), &'static str> {
    check(value)
}

/// One rule: what must hold, and what to say where it does not.
pub(crate) fn rule(holds: bool, text: &'static str) -> Result<(), &'static str> {
    if holds { Ok(()) } else { Err(text) }
}
