//! What was read and waits to be handled, in the order of the wire. Bounded in bytes: a full box holds the
//! reader, and with it the peer.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use crate::{
    frame::MAX_FRAME,
    message::{Incoming, RequestId},
};

/// Bytes that may wait while nothing else hangs on the reader.
const QUIET: usize = 1_024 * 1_024;
/// Bytes that may wait while this side waits for an answer, which may stand behind them. Without the
/// difference, a handler that calls the peer would wait for an answer that the reader never gets to.
const WAITING: usize = QUIET + MAX_FRAME;
/// What an entry costs beside its text, about: a short frame counts, too.
const ENTRY: usize = 64;

#[derive(Debug)]
pub(crate) enum Item {
    Request(RequestId, Incoming),
    Notification(Incoming),
}

#[derive(Debug, Default)]
pub(crate) struct Inbox {
    state: Mutex<State>,
    ready: Notify,
    room: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Each with the bytes that it holds.
    queue: VecDeque<(Item, usize)>,
    bytes: usize,
    /// Calls of this side that wait for an answer.
    calls: usize,
    ended: bool,
}

impl State {
    fn is_full(&self) -> bool {
        self.bytes >= if self.calls > 0 { WAITING } else { QUIET }
    }
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts an item in as soon as there is room; `weight` is how many bytes it keeps in memory, which may be
    /// more than it shows. Only the reader does.
    pub(crate) async fn push(&self, item: Item, weight: usize) {
        let weight = weight.saturating_add(ENTRY);
        loop {
            let room = self.room.notified();
            {
                let mut state = self.lock();
                if !state.is_full() || state.ended {
                    state.bytes += weight;
                    state.queue.push_back((item, weight));
                    drop(state);
                    self.ready.notify_one();
                    return;
                }
            }
            room.await;
        }
    }

    /// The next item; `None` when there is none and will be none. Only the dispatcher asks.
    pub(crate) async fn pop(&self) -> Option<Item> {
        loop {
            let ready = self.ready.notified();
            {
                let mut state = self.lock();
                if let Some((item, weight)) = state.queue.pop_front() {
                    let was_full = state.is_full();
                    state.bytes -= weight;
                    if was_full && !state.is_full() {
                        self.room.notify_one();
                    }
                    return Some(item);
                }
                if state.ended {
                    return None;
                }
            }
            ready.await;
        }
    }

    /// Nothing comes any more. What waits is still handled.
    pub(crate) fn end(&self) {
        self.lock().ended = true;
        self.ready.notify_one();
        self.room.notify_one();
    }

    /// A call of this side begins to wait, or ends.
    pub(crate) fn count_calls(&self, calls: usize) {
        self.lock().calls = calls;
        self.room.notify_one();
    }
}
