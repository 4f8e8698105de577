//! What waits to be written, and the one task that writes it. Knows bytes; knows no JSON.

use std::{
    collections::VecDeque,
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncWrite, AsyncWriteExt as _},
    sync::Notify,
    time::timeout,
};

use crate::{error::CloseReason, frame::MAX_FRAME};

/// Requests and notifications that wait at most, those of the best-effort lane with them.
const MAX_QUEUED: usize = 256;
/// Bytes that wait at most: two of the longest frames, so that one may wait while one is written.
const MAX_QUEUED_BYTES: usize = 2 * MAX_FRAME;
/// Frames of the best-effort lane that wait at most.
pub const MAX_BEST_EFFORT: usize = 16;
/// Bytes of answers that wait at most, each counted with [`ENTRY`]. Their number has no bound of its own:
/// refusing a flood of requests must not wait for the flood to end.
const MAX_ANSWER_BYTES: usize = MAX_FRAME;
/// What a frame costs beside its bytes, about.
const ENTRY: usize = 64;
/// Bytes of small frames that are written in one go. More would save few calls, and an answer stands behind
/// what is being written.
const BATCH: usize = 16 * 1_024;
/// A frame from here on is written from where it stands, for copying it costs more than a call.
const LARGE: usize = BATCH;

/// The frames of a connection that wait to be written: in one lane what this side asks and tells, in the
/// order of the wire, and in the other what it answers.
///
/// Answers go first, and neither lane waits for room in the other. A peer may read nothing before it is
/// answered: it must not be answered behind what it does not read. The order of an answer means nothing.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    state: Mutex<State>,
    /// Told when there is something to write, or nothing will come any more.
    ready: Notify,
    /// Told when there is room, in a lane or after everything is written.
    room: Notify,
    answer_room: Notify,
    done: Notify,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Queued>,
    bytes: usize,
    best_effort: usize,
    answers: VecDeque<Queued>,
    answer_bytes: usize,
    /// Frames ever queued; the number of a frame is how many there were with it.
    queued: u64,
    /// Every frame up to this number is written or skipped.
    done: u64,
    /// No frame is taken in any more.
    closed: bool,
    /// No frame is written any more.
    ended: bool,
}

#[derive(Debug)]
struct Queued {
    frame: Vec<u8>,
    number: u64,
    best_effort: bool,
    /// Set by a caller that gave up.
    skip: Option<Arc<AtomicBool>>,
}

/// Why a frame was not taken in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotQueued {
    /// The lane is full.
    Full,
    /// The connection ends.
    Closed,
}

/// Skips a frame that has not begun to be written when it is dropped.
#[derive(Debug)]
pub(crate) struct SkipOnDrop(Arc<AtomicBool>);

impl Drop for SkipOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Outbox {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No code panics while it holds the lock, and the state would be sound if it did.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a frame as soon as there is room. A frame whose caller is gone is not written.
    pub(crate) async fn push(&self, frame: Vec<u8>) -> Result<(), NotQueued> {
        self.wait_and_push(frame, None).await
    }

    /// Queues a frame as soon as there is room; it is skipped if the guard is dropped before it is begun.
    pub(crate) async fn push_guarded(&self, frame: Vec<u8>) -> Result<SkipOnDrop, NotQueued> {
        let skip = Arc::new(AtomicBool::new(false));
        self.wait_and_push(frame, Some(skip.clone())).await?;
        Ok(SkipOnDrop(skip))
    }

    async fn wait_and_push(
        &self,
        frame: Vec<u8>,
        skip: Option<Arc<AtomicBool>>,
    ) -> Result<(), NotQueued> {
        let mut queued = Some(Queued {
            frame,
            number: 0,
            best_effort: false,
            skip,
        });
        loop {
            // Registered before the look, so that room which comes between is not missed.
            let room = self.room.notified();
            {
                let mut state = self.lock();
                if state.closed {
                    return Err(NotQueued::Closed);
                }
                let fits = |queued: &Queued| {
                    state.queue.len() < MAX_QUEUED
                        && (state.queue.is_empty()
                            || state.bytes + queued.frame.len() <= MAX_QUEUED_BYTES)
                };
                if let Some(frame) = queued.take_if(|queued| fits(queued)) {
                    state.push(frame);
                    // Others may fit behind it: each is told in turn, so no crowd wakes for one place.
                    if state.queue.len() < MAX_QUEUED {
                        self.room.notify_one();
                    }
                    drop(state);
                    self.ready.notify_one();
                    return Ok(());
                }
            }
            room.await;
        }
    }

    /// Queues a frame if the best-effort lane has room; waits for nothing.
    pub(crate) fn push_best_effort(&self, frame: Vec<u8>) -> Result<(), NotQueued> {
        let mut state = self.lock();
        if state.closed {
            return Err(NotQueued::Closed);
        }
        if !state.has_best_effort_room() {
            return Err(NotQueued::Full);
        }
        state.push(Queued {
            frame,
            number: 0,
            best_effort: true,
            skip: None,
        });
        drop(state);
        self.ready.notify_one();
        Ok(())
    }

    /// Whether the best-effort lane takes a frame now.
    pub(crate) fn has_best_effort_room(&self) -> bool {
        let state = self.lock();
        !state.closed && state.has_best_effort_room()
    }

    /// Queues an answer as soon as there is room among answers.
    pub(crate) async fn push_answer(&self, frame: Vec<u8>) -> Result<(), NotQueued> {
        let size = frame.len() + ENTRY;
        let mut frame = Some(frame);
        loop {
            let room = self.answer_room.notified();
            {
                let mut state = self.lock();
                if state.closed {
                    return Err(NotQueued::Closed);
                }
                let fits =
                    state.answers.is_empty() || state.answer_bytes + size <= MAX_ANSWER_BYTES;
                if let Some(frame) = frame.take_if(|_| fits) {
                    state.push_answer(frame);
                    drop(state);
                    self.answer_room.notify_one();
                    self.ready.notify_one();
                    return Ok(());
                }
            }
            room.await;
        }
    }

    /// Queues an answer whether there is room or not: for what few frames the reader answers itself, which
    /// must not wait for the peer to read.
    pub(crate) fn push_at_once(&self, frame: Vec<u8>) {
        let mut state = self.lock();
        if !state.closed {
            state.push_answer(frame);
            drop(state);
            self.ready.notify_one();
        }
    }

    /// Takes nothing in any more. What waits is still written.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.ready.notify_one();
        self.room.notify_waiters();
        self.answer_room.notify_waiters();
    }

    /// Waits until every frame that was queued before is written or skipped, or the connection ends.
    pub(crate) async fn flushed(&self) {
        let goal = self.lock().queued;
        loop {
            let done = self.done.notified();
            {
                let state = self.lock();
                if state.done >= goal || state.ended {
                    return;
                }
            }
            done.await;
        }
    }

    /// Moves what is next into `batch`, small frames together; false when nothing comes any more.
    async fn take(&self, batch: &mut Vec<u8>) -> bool {
        loop {
            let ready = self.ready.notified();
            let (taken, closed) = {
                let mut state = self.lock();
                (state.take(batch), state.closed)
            };
            if taken {
                self.room.notify_one();
                self.answer_room.notify_one();
            }
            if !batch.is_empty() {
                return true;
            }
            // What was taken was skipped, which is all that becomes of it. There may be more.
            if taken {
                self.written();
                continue;
            }
            if closed {
                return false;
            }
            ready.await;
        }
    }

    fn written(&self) {
        let mut state = self.lock();
        // Each lane is in order: what stands first is the oldest that is not written.
        let first = [state.queue.front(), state.answers.front()];
        let oldest = first
            .into_iter()
            .flatten()
            .map(|queued| queued.number)
            .min();
        state.done = oldest.map_or(state.queued, |number| number - 1);
        drop(state);
        self.done.notify_waiters();
    }

    fn end(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.ended = true;
        state.queue.clear();
        state.bytes = 0;
        state.best_effort = 0;
        state.answers.clear();
        state.answer_bytes = 0;
        drop(state);
        self.room.notify_waiters();
        self.answer_room.notify_waiters();
        self.done.notify_waiters();
    }
}

impl State {
    fn has_best_effort_room(&self) -> bool {
        self.best_effort < MAX_BEST_EFFORT && self.queue.len() < MAX_QUEUED
    }

    fn number(&mut self) -> u64 {
        self.queued += 1;
        self.queued
    }

    fn push(&mut self, queued: Queued) {
        self.bytes += queued.frame.len();
        self.best_effort += usize::from(queued.best_effort);
        let number = self.number();
        self.queue.push_back(Queued { number, ..queued });
    }

    fn push_answer(&mut self, frame: Vec<u8>) {
        self.answer_bytes += frame.len() + ENTRY;
        let number = self.number();
        self.answers.push_back(Queued {
            frame,
            number,
            best_effort: false,
            skip: None,
        });
    }

    /// The frame that is written next, if it is no longer than `room`.
    fn next(&mut self, room: usize) -> Option<Queued> {
        let fits = |queued: &Queued| queued.frame.len() <= room;
        if let Some(first) = self.answers.front() {
            if !fits(first) {
                return None;
            }
            let next = self.answers.pop_front()?;
            self.answer_bytes -= next.frame.len() + ENTRY;
            return Some(next);
        }
        if !fits(self.queue.front()?) {
            return None;
        }
        let next = self.queue.pop_front()?;
        self.bytes -= next.frame.len();
        self.best_effort -= usize::from(next.best_effort);
        Some(next)
    }

    /// Whether anything left a lane.
    fn take(&mut self, batch: &mut Vec<u8>) -> bool {
        let mut taken = false;
        loop {
            let room = if batch.is_empty() {
                usize::MAX
            } else {
                (LARGE - 1).min(BATCH.saturating_sub(batch.len()))
            };
            let Some(next) = self.next(room) else {
                return taken;
            };
            taken = true;
            if next.skip.is_some_and(|skip| skip.load(Ordering::Relaxed)) {
                continue;
            }
            if batch.is_empty() && next.frame.len() >= LARGE {
                *batch = next.frame;
                return taken;
            }
            batch.extend_from_slice(&next.frame);
        }
    }
}

/// Writes frames until the box is closed and empty, or the peer takes none for too long. Ends the output.
pub(crate) async fn write_loop<W: AsyncWrite + Unpin>(
    outbox: &Outbox,
    mut output: W,
    stall: Duration,
) -> Result<(), CloseReason> {
    // However the task ends, nobody waits for a frame that is never written.
    struct End<'a>(&'a Outbox);
    impl Drop for End<'_> {
        fn drop(&mut self) {
            self.0.end();
        }
    }
    let _end = End(outbox);

    let mut batch = Vec::new();
    while outbox.take(&mut batch).await {
        let mut rest = batch.as_slice();
        while !rest.is_empty() {
            let written = match timeout(stall, output.write(rest)).await {
                Err(_) => return Err(CloseReason::Stalled(stall)),
                Ok(Ok(0)) => return Err(broken(&io::ErrorKind::WriteZero.into())),
                Ok(Err(error)) => return Err(broken(&error)),
                Ok(Ok(written)) => written,
            };
            rest = rest.get(written..).unwrap_or_default();
        }
        match timeout(stall, output.flush()).await {
            Err(_) => return Err(CloseReason::Stalled(stall)),
            Ok(Err(error)) => return Err(broken(&error)),
            Ok(Ok(())) => {}
        }
        outbox.written();
        batch.clear();
        // The memory of a large frame is not kept.
        batch.shrink_to(BATCH);
    }
    let _ = timeout(stall, output.shutdown()).await;
    Ok(())
}

fn broken(error: &io::Error) -> CloseReason {
    if error.kind() == io::ErrorKind::BrokenPipe {
        CloseReason::PeerClosed
    } else {
        CloseReason::Io(format!("write to the peer: {error}"))
    }
}

#[cfg(test)]
mod tests;
