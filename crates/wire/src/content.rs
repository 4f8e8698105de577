//! Content references, both ends: values that are too large for a frame are kept by the host and fetched
//! by the sidecar page by page. Knows no hook.
//!
//! See "Content references" of the protocol: a value of more than [`EXTERNALIZE_FIELD_BYTES`] travels as
//! `null`, and beside it stands what describes it: where it belongs, how it is called, how many bytes it
//! has, and their SHA-256.
//!
//! [`EXTERNALIZE_FIELD_BYTES`]: reasonix_extension_protocol::limits::EXTERNALIZE_FIELD_BYTES

mod fetch;
mod store;

use std::fmt::Write as _;

use sha2::Digest as _;

pub use self::{
    fetch::{ContentError, fetch},
    store::{ContentStore, Outgoing, Pin},
};

/// The SHA-256 of bytes as the protocol spells it.
fn digest(bytes: &[u8]) -> String {
    hex(&sha2::Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
