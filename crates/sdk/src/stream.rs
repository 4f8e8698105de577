//! The answer of a model, chunk by chunk. Knows the order of chunks and the end of a stream.

use std::sync::Arc;

use reasonix_extension_protocol::{
    methods::{StreamChunk, StreamEnd},
    types::{ChunkType, ProviderChunk, StreamChunkParams, StreamEndParams, StreamId},
};
use reasonix_extension_wire::{CallError, Peer};
use tokio::sync::Mutex;

/// Where the chunks of one stream go. They are numbered and sent in the order of the calls; whoever sends
/// faster than the host reads waits.
#[derive(Clone, Debug)]
pub struct StreamSink(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    peer: Peer,
    stream: StreamId,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    next: u64,
    ended: bool,
}

/// Why a chunk was not sent.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SinkClosed {
    /// The host cancelled the stream, or it has ended.
    #[error("the stream has ended")]
    Ended,
    /// The chunk cannot be sent.
    #[error("send a chunk: {0}")]
    Send(#[from] CallError),
}

impl StreamSink {
    pub(crate) fn new(peer: Peer, stream: StreamId, seq_base: u64) -> Self {
        let state = Mutex::new(State {
            next: seq_base.max(1),
            ended: false,
        });
        Self(Arc::new(Shared {
            peer,
            stream,
            state,
        }))
    }

    /// Sends a piece of the text.
    ///
    /// # Errors
    ///
    /// When the stream has ended or the connection has.
    pub async fn text(&self, text: impl Into<String>) -> Result<(), SinkClosed> {
        self.send(ProviderChunk::new(ChunkType::Text).with_text(text))
            .await
    }

    /// Sends a piece of the reasoning.
    ///
    /// # Errors
    ///
    /// When the stream has ended or the connection has.
    pub async fn reasoning(&self, text: impl Into<String>) -> Result<(), SinkClosed> {
        self.send(ProviderChunk::new(ChunkType::Reasoning).with_text(text))
            .await
    }

    /// Sends a chunk of any kind.
    ///
    /// # Errors
    ///
    /// When the stream has ended or the connection has, or when the contract forbids the chunk.
    pub async fn send(&self, chunk: ProviderChunk) -> Result<(), SinkClosed> {
        let Shared {
            peer,
            stream,
            state,
        } = &*self.0;
        // Held while the chunk waits for room, so that numbers and places agree.
        let mut state = state.lock().await;
        if state.ended {
            return Err(SinkClosed::Ended);
        }
        let params = StreamChunkParams::new(stream.clone(), state.next, chunk);
        peer.notify::<StreamChunk>(&params).await?;
        state.next += 1;
        Ok(())
    }

    /// Ends the stream, once; false if it had ended before.
    pub(crate) async fn end(&self, error: Option<String>, interrupted: bool) -> bool {
        let Shared {
            peer,
            stream,
            state,
        } = &*self.0;
        let mut state = state.lock().await;
        if std::mem::replace(&mut state.ended, true) {
            return false;
        }
        let mut params = StreamEndParams::new(stream.clone(), state.next - 1);
        params.error = error;
        params.interrupted = interrupted.then_some(true);
        // There is nobody to tell if it cannot be sent.
        let _ = peer.notify::<StreamEnd>(&params).await;
        true
    }
}
