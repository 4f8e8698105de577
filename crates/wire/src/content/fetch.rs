//! The end that fetches: every page, counted and hashed.

use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use reasonix_extension_protocol::{
    RawJson, limits,
    methods::ContentRead,
    types::{ContentReadParams, ContentReadResult, ExternalizedField},
};

use sha2::Digest as _;

use super::hex;
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
    let mut value = Value {
        bytes: Vec::with_capacity(usize::try_from(field.total_bytes).unwrap_or_default()),
        hash: sha2::Sha256::new(),
        field,
    };
    let ask = async |offset| {
        let params = ContentReadParams::new(field.content_ref.clone(), offset);
        let page = peer.call::<ContentRead>(&params, within).await;
        page.map_err(|source| ContentError::Read {
            reference: field.content_ref.as_str().to_owned(),
            source,
        })
    };
    let mut asked = Some(ask(0).await?);
    while let Some(page) = asked.take() {
        let next = async {
            match page.next_offset {
                Some(offset) => ask(offset).await.map(Some),
                None => Ok(None),
            }
        };
        let taken = async {
            // The peer is asked before, so that both sides work at once.
            tokio::task::yield_now().await;
            value.append(&page).map_err(broken)
        };
        (asked, ()) = tokio::try_join!(next, taken)?;
    }
    let bytes = value.whole().map_err(broken)?;
    // Only the whole is text: a page may end within a character.
    let text = std::str::from_utf8(&bytes).map_err(|_| broken("it is not UTF-8".to_owned()))?;
    RawJson::parse(text).map_err(|error| broken(error.to_string()))
}

/// What has come of a value.
struct Value<'a> {
    bytes: Vec<u8>,
    hash: sha2::Sha256,
    field: &'a ExternalizedField,
}

impl Value<'_> {
    /// Appends a page, which must say where the next one begins if there is one.
    fn append(&mut self, page: &ContentReadResult) -> Result<(), String> {
        let field = self.field;
        let offset = self.bytes.len() as u64;
        if page.content_ref != field.content_ref || page.offset != offset {
            return Err("a page of something else came".to_owned());
        }
        if page.total_bytes != field.total_bytes || page.sha256 != field.sha256 {
            return Err("a page says another size or another hash".to_owned());
        }
        let room = usize::try_from(field.total_bytes - offset).unwrap_or(usize::MAX);
        let begin = self.bytes.len();
        BASE64_STANDARD
            .decode_vec(&page.data_base64, &mut self.bytes)
            .map_err(|error| format!("a page is not Base64: {error}"))?;
        let data = self.bytes.get(begin..).unwrap_or_default();
        if data.len() > room {
            return Err("it has more bytes than it says".to_owned());
        }
        self.hash.update(data);
        match page.next_offset {
            Some(next) if data.is_empty() || next != self.bytes.len() as u64 => {
                Err(format!("the page behind byte {next} does not follow"))
            }
            _ => Ok(()),
        }
    }

    /// All of it, once the last page has come.
    fn whole(self) -> Result<Vec<u8>, String> {
        let (bytes, total) = (self.bytes.len(), self.field.total_bytes);
        if bytes as u64 != total {
            return Err(format!("it has {bytes} bytes of {total}"));
        }
        if hex(&self.hash.finalize()) != self.field.sha256.as_str() {
            return Err("its hash is another".to_owned());
        }
        Ok(self.bytes)
    }
}
