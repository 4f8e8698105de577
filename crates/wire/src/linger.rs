//! How long a reader looks for more before its thread sleeps. Knows time and nothing else.

use std::{
    num::NonZero,
    pin::pin,
    sync::LazyLock,
    task::Context,
    thread,
    time::{Duration, Instant},
};

/// How long a reader looks at least: about what it costs to wake a thread on another core, which is several
/// times what a small call costs. Whoever asks and answers without a pause never sleeps.
const LINGER: Duration = Duration::from_micros(100);
/// Pauses that are slept through at most before the next look, once looking has brought nothing: a peer
/// that is slower than [`LINGER`] costs next to no time.
const MAX_SKIPPED: u32 = 255;

/// Decides whether to look again or to sleep, by what looking has brought so far.
#[derive(Debug, Default)]
pub(crate) struct Linger {
    /// Since when nothing has come, while it is looked for.
    since: Option<Instant>,
    /// Whether this pause is slept through.
    asleep: bool,
    /// Pauses to sleep through before the next look, and how many that were last.
    skip: u32,
    skipped: u32,
    /// Whether every pause is slept through.
    never: bool,
}

impl Linger {
    /// Something has come.
    pub(crate) fn came(&mut self) {
        if self.since.take().is_some() && !self.asleep {
            self.skipped = 0;
        }
        self.asleep = self.never;
    }

    /// One that never looks again where there is one core: whoever is looked for needs it.
    pub(crate) fn new() -> Self {
        static ALONE: LazyLock<bool> = LazyLock::new(|| {
            thread::available_parallelism().is_ok_and(|cores| cores == NonZero::<usize>::MIN)
        });
        Self {
            asleep: *ALONE,
            never: *ALONE,
            ..Self::default()
        }
    }

    /// Nothing has come. The task is woken soon if it is worth to look again; otherwise only by the input.
    pub(crate) fn nothing(&mut self, context: &mut Context<'_>) {
        if self.asleep {
            return;
        }
        let Some(since) = self.since else {
            if self.skip > 0 {
                self.skip -= 1;
                self.asleep = true;
                return;
            }
            self.since = Some(Instant::now());
            look_again(context);
            return;
        };
        let passed = since.elapsed();
        if passed < LINGER {
            if passed > LINGER / 5 {
                // Whoever is looked for may be waiting for this very core.
                thread::yield_now();
            }
            look_again(context);
            return;
        }
        self.since = None;
        self.asleep = true;
        self.skipped = (2 * self.skipped + 1).min(MAX_SKIPPED);
        self.skip = self.skipped;
    }
}

/// Has the task woken once the runtime has looked at its inputs. Other tasks run before.
fn look_again(context: &mut Context<'_>) {
    // Its first poll asks for that, and is all of it that is needed.
    let _ = pin!(tokio::task::yield_now()).poll(context);
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicU32, Ordering},
        },
        task::{Wake, Waker},
    };

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicU32);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// One pause in which nothing comes; gives how often it was looked for more.
    fn pause(linger: &mut Linger) -> u32 {
        // Outside a runtime a yield wakes at once.
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(woken.clone());
        let mut context = Context::from_waker(&waker);
        let mut looks = 0;
        loop {
            linger.nothing(&mut context);
            let woken = woken.0.load(Ordering::Relaxed);
            if woken == looks {
                return looks;
            }
            looks = woken;
            thread::sleep(LINGER / 4);
        }
    }

    #[test]
    fn a_slow_peer_is_looked_for_ever_more_seldom_and_a_quick_one_always() {
        let mut linger = Linger::default();
        let mut looked = Vec::new();
        for number in 0..1_000 {
            if pause(&mut linger) > 0 {
                looked.push(number);
            }
            linger.came();
        }
        assert_eq!(looked, [0, 2, 6, 14, 30, 62, 126, 254, 510, 766]);

        // Until the next look, which brings something: then every pause is worth one.
        let waker = Waker::from(Arc::new(Woken::default()));
        let mut context = Context::from_waker(&waker);
        while linger.since.is_none() {
            linger.came();
            linger.nothing(&mut context);
        }
        for _ in 0..10 {
            linger.came();
            linger.nothing(&mut context);
            assert!(linger.since.is_some());
        }
    }
}
