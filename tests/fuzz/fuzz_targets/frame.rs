//! However a stream is cut into reads, its frames are the lines that are not blank, without the blanks
//! around them. The first byte says how long reads are.
#![no_main]

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use libfuzzer_sys::fuzz_target;
use reasonix_extension_wire::FrameReader;
use tokio::io::{AsyncRead, ReadBuf};

struct Cut<'a> {
    rest: &'a [u8],
    length: usize,
}

impl AsyncRead for Cut<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let length = self.length.min(self.rest.len()).min(buffer.remaining());
        let (read, rest) = self.rest.split_at(length);
        buffer.put_slice(read);
        self.rest = rest;
        Poll::Ready(Ok(()))
    }
}

fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

fuzz_target!(|input: &[u8]| {
    let Some((length, rest)) = input.split_first() else {
        return;
    };
    let expected = rest.split(|byte| *byte == b'\n').filter_map(|line| {
        let start = line.iter().position(|byte| !is_blank(byte))?;
        let end = line.iter().rposition(|byte| !is_blank(byte))?;
        line.get(start..=end)
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let length = usize::from(*length).max(1);
        let mut frames = FrameReader::new(Cut { rest, length });
        for line in expected {
            assert_eq!(frames.next().await.unwrap().as_deref(), Some(line));
        }
        assert!(frames.next().await.unwrap().is_none());
    });
});
