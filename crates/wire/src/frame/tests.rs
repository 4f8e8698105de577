use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use proptest::prelude::*;
use tokio::io::{AsyncRead, ReadBuf};

use super::*;

/// Gives bytes in pieces of given lengths, and counts what was taken.
struct Pieces<'a> {
    bytes: &'a [u8],
    lengths: Vec<usize>,
    taken: usize,
}

impl AsyncRead for Pieces<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let length = self.lengths.pop().unwrap_or(usize::MAX).max(1);
        let length = length.min(out.remaining()).min(self.bytes.len());
        let (piece, rest) = self.bytes.split_at(length);
        out.put_slice(piece);
        self.bytes = rest;
        self.taken += length;
        Poll::Ready(Ok(()))
    }
}

/// Every frame of some bytes, how it ended, and how many bytes were read.
fn frames(bytes: &[u8], lengths: Vec<usize>) -> (Vec<Bytes>, Option<FrameError>, usize) {
    let mut reader = FrameReader::new(Pieces {
        bytes,
        lengths,
        taken: 0,
    });
    let mut all = Vec::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let end = runtime.block_on(async {
        loop {
            match reader.next().await {
                Ok(Some(frame)) => all.push(frame),
                Ok(None) => return None,
                Err(error) => return Some(error),
            }
        }
    });
    (all, end, reader.input.taken)
}

#[test]
fn line_ends_padding_and_blank_lines_are_no_part_of_a_frame() {
    let (all, end, _) = frames(b"a\nb\r\n\n \t\r\n  c \t\r\n\x0c\nlast", vec![]);
    assert_eq!(all, ["a", "b", "c", "\x0c", "last"]);
    assert!(end.is_none());
}

#[test]
fn the_longest_frame_passes_and_one_byte_more_does_not() {
    let mut bytes = vec![b'x'; MAX_FRAME - 1];
    bytes.extend(b"\nnext\n");
    let (all, end, _) = frames(&bytes, vec![]);
    assert_eq!(
        all.iter().map(Bytes::len).collect::<Vec<_>>(),
        [MAX_FRAME - 1, 4]
    );
    assert!(end.is_none());

    let mut bytes = b"before\n".to_vec();
    bytes.resize(7 + MAX_FRAME, b'x');
    bytes.extend(b"\nbehind\n");
    let (all, end, taken) = frames(&bytes, vec![]);
    assert_eq!(all, ["before"]);
    assert!(matches!(end, Some(FrameError::TooLarge)));
    assert!(taken <= 7 + MAX_FRAME, "{taken} bytes were read");
}

#[test]
fn a_line_that_never_ends_is_not_read_beyond_the_limit() {
    let (all, end, taken) = frames(&vec![b' '; 2 * MAX_FRAME], vec![]);
    assert!(all.is_empty());
    assert!(matches!(end, Some(FrameError::TooLarge)));
    assert_eq!(taken, MAX_FRAME);
}

#[test]
fn what_follows_a_long_frame_does_not_keep_its_memory() {
    let mut bytes = vec![b'x'; MAX_FRAME / 2];
    bytes.extend(b"\nshort\n");
    let mut reader = FrameReader::new(bytes.as_slice());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        drop(reader.next().await.unwrap());
        assert!(
            reader.buffer.capacity() <= READ,
            "{}",
            reader.buffer.capacity()
        );
        assert_eq!(reader.next().await.unwrap().unwrap(), "short");
    });
}

proptest! {
    #[test]
    fn however_the_bytes_are_cut_the_frames_are_the_same(
        text in "([ \\t]{0,2}[a-zé🦀{}\"]{0,9}[ \\t]{0,2}(\r?\n){0,2}){0,8}",
        lengths in prop::collection::vec(1_usize..7, 0..80),
    ) {
        let expected: Vec<Bytes> = text
            .split('\n')
            .map(|line| line.trim_matches([' ', '\t', '\r']))
            .filter(|line| !line.is_empty())
            .map(|line| Bytes::copy_from_slice(line.as_bytes()))
            .collect();
        let (all, end, _) = frames(text.as_bytes(), lengths);
        prop_assert_eq!(all, expected);
        prop_assert!(end.is_none());
    }
}
