//! One run at a time: a lock of the operating system that ends with its holder, however it ends.
//! Knows a path; knows nothing of artifacts.

use std::{
    fs::{File, TryLockError},
    io,
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// Longest wait for another run: far above what a run takes, short enough for a person.
pub(super) const LOCK_WAIT: Duration = Duration::from_secs(10);

/// Pause between two attempts; std has no lock call with a deadline.
const LOCK_POLL: Duration = Duration::from_millis(10);

/// Holds the lock until dropped.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

/// Why there is no lock.
#[derive(Debug)]
pub(super) enum LockFailure {
    Busy,
    Io(io::Error),
}

impl Lock {
    /// Opens `path` for reading and locks it, waiting at most `wait`.
    pub(super) fn acquire(path: &Path, wait: Duration) -> Result<Self, LockFailure> {
        let file = File::open(path).map_err(LockFailure::Io)?;
        let started = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::Error(error)) => return Err(LockFailure::Io(error)),
                Err(TryLockError::WouldBlock) if started.elapsed() >= wait => {
                    return Err(LockFailure::Busy);
                }
                Err(TryLockError::WouldBlock) => thread::sleep(LOCK_POLL),
            }
        }
    }
}
