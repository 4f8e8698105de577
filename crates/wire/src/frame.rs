//! Bounded NDJSON frames over any byte stream. Knows bytes and limits; knows no JSON.

use bytes::{BufMut as _, Bytes, BytesMut};
use reasonix_extension_protocol::limits;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// The longest frame, its newline included, both ways.
pub const MAX_FRAME: usize = {
    assert!(limits::FRAME_BYTES <= 1 << 31, "a frame fits every `usize`");
    #[expect(clippy::cast_possible_truncation, reason = "asserted above")]
    let bytes = limits::FRAME_BYTES as usize;
    bytes
};

/// Bytes asked for in one read: what a pipe holds on Linux, so that one call empties it.
const READ: usize = 64 * 1_024;

/// Bytes that are allocated at once. Several reads share them, and so do the frames in them.
const BUFFER: usize = 4 * READ;

/// Why no more frames come.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// A frame is longer than [`MAX_FRAME`]. Frames before it were delivered; nothing behind it is read.
    #[error("a frame is longer than {MAX_FRAME} bytes")]
    TooLarge,
    /// The stream cannot be read.
    #[error("read from the peer")]
    Io(#[from] std::io::Error),
}

/// Cuts a stream of bytes into frames.
///
/// A frame ends with LF; space, tab, CR and LF around it are no part of it, and blank lines are no
/// frames. A last line without LF is a frame. No frame is copied: each is a view of the buffer that it was
/// read into, and at most [`MAX_FRAME`] bytes are ever read ahead.
#[derive(Debug)]
pub struct FrameReader<R> {
    input: R,
    buffer: BytesMut,
    /// Bytes at the start of the buffer that hold no LF.
    searched: usize,
    /// Bytes of the stream up to the end of the last frame.
    consumed: u64,
    ended: bool,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    /// Reads frames of a stream.
    pub fn new(input: R) -> Self {
        Self {
            input,
            buffer: BytesMut::new(),
            searched: 0,
            consumed: 0,
            ended: false,
        }
    }

    /// Bytes of the stream up to the end of the last frame, with what was passed over.
    pub(crate) fn consumed(&self) -> u64 {
        self.consumed
    }

    /// The next frame; `None` at the end of the stream. Nothing is lost if the future is dropped.
    ///
    /// # Errors
    ///
    /// When a frame is too long or the stream cannot be read; no frame comes after that.
    pub async fn next(&mut self) -> Result<Option<Bytes>, FrameError> {
        loop {
            while let Some(line) = self.buffered_line() {
                let frame = trimmed(&line);
                if !frame.is_empty() {
                    return Ok(Some(frame));
                }
            }
            // Without its LF, so one byte less.
            if self.buffer.len() >= MAX_FRAME {
                self.stop();
                return Err(FrameError::TooLarge);
            }
            if self.ended {
                self.consumed += self.buffer.len() as u64;
                let frame = trimmed(&self.buffer.split().freeze());
                self.searched = 0;
                return Ok((!frame.is_empty()).then_some(frame));
            }
            let room = READ.min(MAX_FRAME - self.buffer.len());
            self.make_room(room);
            match self
                .input
                .read_buf(&mut (&mut self.buffer).limit(room))
                .await
            {
                Ok(0) => self.ended = true,
                Ok(_) => {}
                Err(error) => {
                    self.stop();
                    return Err(error.into());
                }
            }
        }
    }

    /// Makes room behind what is buffered: where frames were that nobody holds any more, or anew.
    fn make_room(&mut self, room: usize) {
        let spare = self.buffer.capacity() - self.buffer.len();
        if spare >= room || self.buffer.try_reclaim(room) {
            return;
        }
        if self.buffer.is_empty() {
            self.buffer = BytesMut::with_capacity(BUFFER);
        } else {
            self.buffer.reserve(BUFFER);
        }
    }

    fn buffered_line(&mut self) -> Option<Bytes> {
        let unsearched = self.buffer.get(self.searched..)?;
        let Some(at) = memchr::memchr(b'\n', unsearched) else {
            self.searched = self.buffer.len();
            return None;
        };
        let line = self.buffer.split_to(self.searched + at + 1).freeze();
        self.consumed += line.len() as u64;
        self.searched = 0;
        // What follows a long line must not keep its memory alive.
        if line.len() > READ {
            self.buffer = BytesMut::from(self.buffer.as_ref());
        }
        Some(line)
    }

    fn stop(&mut self) {
        self.buffer = BytesMut::new();
        self.searched = 0;
        self.ended = true;
    }
}

fn trimmed(line: &Bytes) -> Bytes {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    let start = line.iter().position(|byte| !blank(byte));
    let Some(start) = start else {
        return Bytes::new();
    };
    let end = line.iter().rposition(|byte| !blank(byte)).unwrap_or(start);
    line.slice(start..=end)
}

#[cfg(test)]
mod tests;
