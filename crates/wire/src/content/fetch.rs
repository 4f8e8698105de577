//! The end that fetches: every page, counted and hashed.

use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use reasonix_extension_protocol::{
    RawJson, limits,
    methods::ContentRead,
    types::{ContentReadParams, ContentReadResult, ExternalizedField},
};

use super::digest;
use crate::{CallError, Peer};

/// Why a value cannot be had.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContentError {
    /// The host refused to give a page, or did not answer.
    #[error("read `{reference}`: {source}")]
    Read {
        /// What was read.
        reference: String,
        /// Why it failed.
        source: CallError,
    },
    /// The pages are not what the reference promised.
    #[error("`{reference}` is not what was promised: {why}")]
    Broken {
        /// What was read.
        reference: String,
        /// What is wrong.
        why: String,
    },
}

/// Fetches a value from the peer that holds it; each page may take `within`.
///
/// # Errors
///
/// When the peer no longer holds it, or when what came is not what the descriptor says.
pub async fn fetch(
    peer: &Peer,
    field: &ExternalizedField,
    within: Duration,
) -> Result<RawJson, ContentError> {
    let broken = |why: String| ContentError::Broken {
        reference: field.content_ref.as_str().to_owned(),
        why,
    };
    if field.total_bytes > limits::CONTENT_REF_OBJECT_BYTES {
        return Err(broken(format!("it has {} bytes", field.total_bytes)));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(field.total_bytes).unwrap_or_default());
    loop {
        let offset = bytes.len() as u64;
        let params = ContentReadParams::new(field.content_ref.clone(), offset);
        let page = peer.call::<ContentRead>(&params, within).await;
        let page = page.map_err(|source| ContentError::Read {
            reference: field.content_ref.as_str().to_owned(),
            source,
        })?;
        let next = append(&mut bytes, &page, field).map_err(broken)?;
        if next.is_none() {
            break;
        }
    }
    if bytes.len() as u64 != field.total_bytes {
        return Err(broken(format!(
            "it has {} bytes of {}",
            bytes.len(),
            field.total_bytes
        )));
    }
    if digest(&bytes) != field.sha256.as_str() {
        return Err(broken("its hash is another".to_owned()));
    }
    // Only the whole is text: a page may end within a character.
    let text = std::str::from_utf8(&bytes).map_err(|_| broken("it is not UTF-8".to_owned()))?;
    RawJson::parse(text).map_err(|error| broken(error.to_string()))
}

/// Appends a page; gives where the next one begins, if there is one.
fn append(
    bytes: &mut Vec<u8>,
    page: &ContentReadResult,
    field: &ExternalizedField,
) -> Result<Option<u64>, String> {
    let offset = bytes.len() as u64;
    if page.content_ref != field.content_ref || page.offset != offset {
        return Err("a page of something else came".to_owned());
    }
    if page.total_bytes != field.total_bytes || page.sha256 != field.sha256 {
        return Err("a page says another size or another hash".to_owned());
    }
    let room = usize::try_from(field.total_bytes - offset).unwrap_or(usize::MAX);
    let data = BASE64_STANDARD
        .decode(&page.data_base64)
        .map_err(|error| format!("a page is not Base64: {error}"))?;
    if data.len() > room {
        return Err("it has more bytes than it says".to_owned());
    }
    bytes.extend_from_slice(&data);
    match page.next_offset {
        Some(next) if data.is_empty() || next != bytes.len() as u64 => {
            Err(format!("the page behind byte {next} does not follow"))
        }
        next => Ok(next),
    }
}
