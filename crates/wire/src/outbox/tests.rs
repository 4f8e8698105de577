use std::{
    pin::Pin,
    task::{Context, Poll},
};

use super::*;

/// Takes everything, and remembers how many calls it took.
#[derive(Default)]
struct Sink {
    bytes: Vec<u8>,
    calls: usize,
}

impl AsyncWrite for &mut Sink {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.calls += 1;
        self.bytes.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

const STALL: Duration = Duration::from_secs(1);

#[tokio::test]
async fn small_frames_are_written_together_and_large_ones_from_where_they_stand() {
    let outbox = Outbox::default();
    let mut expected = Vec::new();
    for size in [10, 20, LARGE, 30, 40, 2 * LARGE, 50] {
        let frame = vec![u8::try_from(size % 251).unwrap(); size];
        expected.extend_from_slice(&frame);
        outbox.push(frame).await.unwrap();
    }
    outbox.close();
    let mut sink = Sink::default();
    write_loop(&outbox, &mut sink, STALL).await.unwrap();
    assert!(sink.bytes == expected);
    assert_eq!(sink.calls, 5);
}

#[tokio::test]
async fn writers_beside_each_other_never_tear_a_frame() {
    let outbox = Arc::new(Outbox::default());
    let (near, far) = tokio::io::duplex(777);
    let writer = tokio::spawn({
        let outbox = outbox.clone();
        async move { write_loop(&outbox, near, STALL).await }
    });
    let senders: Vec<_> = (0..8_u8)
        .map(|sender| {
            let outbox = outbox.clone();
            tokio::spawn(async move {
                for size in 1..200 {
                    let mut frame = vec![b'a' + sender; size * 97 % 3_000 + 1];
                    frame.push(b'\n');
                    outbox.push(frame).await.unwrap();
                }
            })
        })
        .collect();
    let reader = tokio::spawn(async move {
        let mut frames = crate::FrameReader::new(far);
        let mut count = 0;
        while let Some(frame) = frames.next().await.unwrap() {
            assert!(frame.iter().all(|byte| Some(byte) == frame.first()));
            count += 1;
        }
        count
    });
    for sender in senders {
        sender.await.unwrap();
    }
    outbox.close();
    writer.await.unwrap().unwrap();
    assert_eq!(reader.await.unwrap(), 8 * 199);
}

#[tokio::test]
async fn the_queue_is_bounded_in_frames_and_in_bytes() {
    for (size, fits) in [(1, MAX_QUEUED), (MAX_FRAME / 2, 4), (MAX_FRAME, 2)] {
        let outbox = Outbox::default();
        let filled = timeout(Duration::from_millis(50), async {
            let mut count = 0;
            loop {
                if timeout(Duration::from_millis(10), outbox.push(vec![0; size]))
                    .await
                    .is_err()
                {
                    return count;
                }
                count += 1;
            }
        });
        assert_eq!(
            filled.await.unwrap_or_default(),
            fits,
            "frames of {size} bytes"
        );
    }
}

#[tokio::test]
async fn what_is_given_up_is_skipped_and_counts_as_done() {
    let outbox = Outbox::default();
    outbox.push(b"a".to_vec()).await.unwrap();
    let skip = outbox.push_guarded(b"b".to_vec()).await.unwrap();
    let keep = outbox.push_guarded(b"c".to_vec()).await.unwrap();
    drop(skip);
    let mut sink = Sink::default();
    tokio::select! {
        _ = write_loop(&outbox, &mut sink, STALL) => panic!("it is not closed"),
        () = outbox.flushed() => {}
    }
    drop(keep);
    assert_eq!(sink.bytes, b"ac");
    // The writer is gone: nobody waits for it for ever.
    outbox.flushed().await;
    assert_eq!(outbox.push(b"d".to_vec()).await, Err(NotQueued::Closed));
    assert_eq!(
        outbox.push_best_effort(b"d".to_vec()),
        Err(NotQueued::Closed)
    );
}

#[tokio::test]
async fn answers_go_first_wait_for_no_room_among_questions_and_flushing_counts_both() {
    let outbox = Outbox::default();
    for _ in 0..MAX_QUEUED {
        outbox.push(b"q".to_vec()).await.unwrap();
    }
    // Far more than any handler bound: a flood of requests is refused while it lasts.
    for _ in 0..1_000 {
        outbox.push_answer(b"a".to_vec()).await.unwrap();
    }
    let mut sink = Sink::default();
    tokio::select! {
        _ = write_loop(&outbox, &mut sink, STALL) => panic!("it is not closed"),
        () = outbox.flushed() => {}
    }
    let expected = ["a".repeat(1_000), "q".repeat(MAX_QUEUED)].concat();
    assert_eq!(sink.bytes, expected.as_bytes());

    let outbox = Outbox::default();
    let large = vec![0; MAX_ANSWER_BYTES / 2];
    outbox.push_answer(large.clone()).await.unwrap();
    let full = timeout(Duration::from_millis(10), outbox.push_answer(large)).await;
    assert!(full.is_err(), "answers are bounded in bytes");
}
