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

use reasonix_extension_protocol::ErrorReason;
use sha2::Digest as _;

use crate::RpcError;

pub use self::{
    fetch::{ContentError, fetch},
    store::{ContentStore, Outgoing, Pin},
};

/// Random bytes of a name: nobody guesses it, and no two are the same.
const NAME_BYTES: usize = 12;

/// A name that nobody can guess: the prefix, and 24 hexadecimal digits.
///
/// # Errors
///
/// `internal`, when the system has no random bytes.
pub fn random_name(prefix: &str) -> Result<String, RpcError> {
    let mut bytes = [0; NAME_BYTES];
    getrandom::fill(&mut bytes)
        .map_err(|error| RpcError::because(ErrorReason::Internal, error.to_string()))?;
    Ok(prefix.to_owned() + &hex(&bytes))
}

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
