//! The end that holds: values with their limits, pinned while a call needs them.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use reasonix_extension_protocol::{
    ErrorReason, Externalizable, RawJson,
    limits::{CONTENT_REF_CHUNK_BYTES, CONTENT_REF_OBJECT_BYTES, EXTERNALIZE_FIELD_BYTES},
    types::{
        ContentEncoding, ContentReadParams, ContentReadResult, ContentReadResultRequired,
        ContentRef, ExternalizedField, InterceptResult, JsonPointer, Sha256,
    },
};

use super::{digest, random_name};
use crate::RpcError;

/// Values that are kept at most. What a running call needs does not count.
const MAX_OBJECTS: usize = 64;
/// Bytes that are kept at most, beside what running calls need: a few of the largest values.
const MAX_BYTES: u64 = 4 * CONTENT_REF_OBJECT_BYTES;

/// The values of one connection.
#[derive(Clone, Debug, Default)]
pub struct ContentStore(Arc<Mutex<Objects>>);

#[derive(Debug, Default)]
struct Objects {
    /// Oldest first.
    kept: VecDeque<Object>,
}

#[derive(Debug)]
struct Object {
    reference: ContentRef,
    value: Arc<RawJson>,
    sha256: Sha256,
    pins: usize,
}

/// A payload as it travels, and what keeps it there.
#[derive(Debug)]
pub struct Outgoing {
    /// The payload, or `null` in its place.
    pub payload: Externalizable<RawJson>,
    /// What describes it, if it travels by reference.
    pub externalized: Option<Vec<ExternalizedField>>,
    /// The value stays at hand while this lives.
    pub pin: Option<Pin>,
}

/// Keeps a value while a call may need it; with the last pin of a call the value is gone.
#[derive(Debug)]
pub struct Pin {
    store: ContentStore,
    reference: ContentRef,
    /// Whether the value goes with the pin, or stays until others push it out.
    frees: bool,
}

impl Pin {
    /// The value stays when the pin goes, until others push it out: for what nobody answers.
    pub fn release(mut self) {
        self.frees = false;
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        let mut objects = self.store.lock();
        if let Some(object) = objects
            .kept
            .iter_mut()
            .find(|object| object.reference == self.reference)
        {
            object.pins -= 1;
            if object.pins == 0 && self.frees {
                objects
                    .kept
                    .retain(|object| object.reference != self.reference);
            }
        }
        objects.evict();
    }
}

impl ContentStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, Objects> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a payload fit its frame: beyond
    /// [`EXTERNALIZE_FIELD_BYTES`] it is kept here and travels by reference. `pointer` is where it stands in
    /// the params.
    ///
    /// # Errors
    ///
    /// `frame_too_large`, when it has more than [`CONTENT_REF_OBJECT_BYTES`].
    pub fn externalize(&self, payload: RawJson, pointer: &str) -> Result<Outgoing, RpcError> {
        let bytes = payload.as_str().len() as u64;
        if bytes <= EXTERNALIZE_FIELD_BYTES {
            return Ok(Outgoing {
                payload: Externalizable::Inline(payload),
                externalized: None,
                pin: None,
            });
        }
        if bytes > CONTENT_REF_OBJECT_BYTES {
            let text = format!(
                "the payload has {bytes} bytes; {CONTENT_REF_OBJECT_BYTES} can travel by reference"
            );
            return Err(RpcError::because(ErrorReason::FrameTooLarge, text));
        }
        let sha256 = Sha256::new(digest(payload.as_str().as_bytes())).map_err(internal)?;
        let reference = random_reference()?;
        let field = ExternalizedField::new(
            JsonPointer::new(pointer).map_err(internal)?,
            reference.clone(),
            bytes,
            sha256.clone(),
        );
        let mut objects = self.lock();
        objects.kept.push_back(Object {
            reference: reference.clone(),
            value: Arc::new(payload),
            sha256,
            pins: 1,
        });
        objects.evict();
        drop(objects);
        Ok(Outgoing {
            payload: Externalizable::Null,
            externalized: Some(vec![field]),
            pin: Some(Pin {
                store: self.clone(),
                reference,
                frees: true,
            }),
        })
    }

    /// A page of a value.
    ///
    /// # Errors
    ///
    /// `content_ref_expired`, when the value is not at hand or the offset lies outside it.
    pub fn read(&self, params: &ContentReadParams) -> Result<ContentReadResult, RpcError> {
        let found = {
            let objects = self.lock();
            let object = objects
                .kept
                .iter()
                .find(|object| object.reference == params.content_ref);
            object.map(|object| (object.value.clone(), object.sha256.clone()))
        };
        let expired = || RpcError::new(ErrorReason::ContentRefExpired);
        let (value, sha256) = found.ok_or_else(expired)?;
        let text = value.as_str();
        let offset = usize::try_from(params.offset).map_err(|_| expired())?;
        let rest = text.as_bytes().get(offset..).ok_or_else(expired)?;
        let page = usize::try_from(CONTENT_REF_CHUNK_BYTES)
            .map_or(rest.len(), |page| page.min(rest.len()));
        let (page, behind) = rest.split_at(page);
        let mut result = ContentReadResult::from(ContentReadResultRequired {
            content_ref: params.content_ref.clone(),
            offset: params.offset,
            data_base64: BASE64_STANDARD.encode(page),
            encoding: ContentEncoding::Utf8,
            total_bytes: text.len() as u64,
            sha256,
        });
        if !behind.is_empty() {
            result.next_offset = Some((offset + page.len()) as u64);
        }
        Ok(result)
    }

    /// The replacement of a ruling, if it has one. By reference it may only name a value of this store.
    ///
    /// # Errors
    ///
    /// `protocol_error`, when what describes it is not right.
    pub fn replacement(&self, result: &InterceptResult) -> Result<Option<RawJson>, RpcError> {
        let broken = |why: &str| {
            RpcError::because(ErrorReason::ProtocolError, format!("the replacement {why}"))
        };
        let fields = result.externalized.as_deref().unwrap_or_default();
        match (&result.replacement, fields) {
            (Some(Externalizable::Inline(replacement)), []) => Ok(Some(replacement.clone())),
            (None, []) => Ok(None),
            (None | Some(Externalizable::Null), [field])
                if field.json_pointer.as_str() == "/replacement" =>
            {
                let objects = self.lock();
                let object = objects
                    .kept
                    .iter()
                    .find(|object| object.reference == field.content_ref)
                    .ok_or_else(|| broken("names a value that this host does not hold"))?;
                if field.total_bytes != object.value.as_str().len() as u64
                    || field.sha256 != object.sha256
                {
                    return Err(broken(
                        "says another size or another hash than its value has",
                    ));
                }
                let value = object.value.clone();
                drop(objects);
                Ok(Some(Arc::unwrap_or_clone(value)))
            }
            _ => Err(broken(
                "stands inline and by reference, or is described more than once",
            )),
        }
    }

    /// Values that are kept, and their bytes.
    pub fn usage(&self) -> (usize, usize) {
        let objects = self.lock();
        let bytes = objects
            .kept
            .iter()
            .map(|object| object.value.as_str().len())
            .sum();
        (objects.kept.len(), bytes)
    }
}

impl Objects {
    /// Lets go of the oldest that nobody needs, until the rest is within bounds.
    fn evict(&mut self) {
        loop {
            let loose = || self.kept.iter().filter(|object| object.pins == 0);
            let bytes: u64 = loose()
                .map(|object| object.value.as_str().len() as u64)
                .sum();
            if loose().count() <= MAX_OBJECTS && bytes <= MAX_BYTES {
                return;
            }
            let Some(oldest) = self.kept.iter().position(|object| object.pins == 0) else {
                return;
            };
            self.kept.remove(oldest);
        }
    }
}

fn internal(error: impl std::fmt::Display) -> RpcError {
    RpcError::because(ErrorReason::Internal, error.to_string())
}

/// A reference that nobody can guess.
fn random_reference() -> Result<ContentRef, RpcError> {
    ContentRef::new(random_name("content_")?).map_err(internal)
}

#[cfg(test)]
mod tests;
