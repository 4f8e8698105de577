//! A process with everything that it starts, on Windows: a job object, which ends all that is in it when
//! its last handle is closed. That is this one, so it also ends them when the host dies.

use std::{
    io,
    os::windows::{io::AsRawHandle as _, process::CommandExt as _},
    process::{Child, ChildStdin, Command, ExitStatus},
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::process as tokio_process;
use win32job::{ExtendedLimitInfo, Job};

/// What the host writes to.
pub(crate) type Input = tokio_process::ChildStdin;
/// What the host reads from.
pub(crate) type Output = Reader;

/// The flag of a process that gets no window: sidecars have nothing to show in one.
const CREATE_NO_WINDOW: u32 = 0x0800_0000;

/// Standard output or standard error of a process.
#[derive(Debug)]
pub(crate) enum Reader {
    Stdout(tokio_process::ChildStdout),
    Stderr(tokio_process::ChildStderr),
}

impl tokio::io::AsyncRead for Reader {
    fn poll_read(
        self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
        buffer: &mut tokio::io::ReadBuf<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Stdout(pipe) => std::pin::Pin::new(pipe).poll_read(context, buffer),
            Self::Stderr(pipe) => std::pin::Pin::new(pipe).poll_read(context, buffer),
        }
    }
}

/// A pipe that can be read.
pub(super) trait Readable {
    fn reader(self) -> io::Result<Reader>;
}

impl Readable for std::process::ChildStdout {
    fn reader(self) -> io::Result<Reader> {
        tokio_process::ChildStdout::from_std(self).map(Reader::Stdout)
    }
}

impl Readable for std::process::ChildStderr {
    fn reader(self) -> io::Result<Reader> {
        tokio_process::ChildStderr::from_std(self).map(Reader::Stderr)
    }
}

pub(super) fn input(pipe: ChildStdin) -> io::Result<Input> {
    tokio_process::ChildStdin::from_std(pipe)
}

pub(super) fn output(pipe: impl Readable) -> io::Result<Output> {
    pipe.reader()
}

/// The job of a process, until it is killed.
#[derive(Debug)]
pub(super) struct Tree(Mutex<Option<Job>>);

impl Tree {
    /// Has a command start its process without a window.
    pub(super) fn prepare(command: &mut Command) {
        command.creation_flags(CREATE_NO_WINDOW);
    }

    /// Puts a process into a job of its own. What it started in the moment before is not in it.
    pub(super) fn of(child: &Child) -> io::Result<Self> {
        let mut limits = ExtendedLimitInfo::new();
        limits.limit_kill_on_job_close();
        let job = Job::create_with_limit_info(&limits).map_err(io::Error::other)?;
        job.assign_process(child.as_raw_handle() as isize)
            .map_err(io::Error::other)?;
        Ok(Self(Mutex::new(Some(job))))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Job>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Kills all of it.
    pub(super) fn kill(&self) {
        drop(self.lock().take());
    }

    /// Waits for the end of the process, and kills what it left behind.
    pub(super) fn reap(&self, child: &mut Child) -> ExitStatus {
        let status = child.wait().unwrap_or_default();
        self.kill();
        status
    }
}

/// What ended a process, where it did not exit: here each one exits.
pub(super) fn killed_by(_status: ExitStatus) -> Option<String> {
    None
}
