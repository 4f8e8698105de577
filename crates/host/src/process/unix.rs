//! A process with everything that it starts, on Unix: a process group, by the number of its leader.

use std::{
    io,
    os::{
        fd::OwnedFd,
        unix::process::{CommandExt as _, ExitStatusExt as _},
    },
    process::{Child, Command, ExitStatus},
    sync::{Mutex, MutexGuard, PoisonError},
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::net::unix::pipe;

/// What the host writes to.
pub(crate) type Input = pipe::Sender;
/// What the host reads from.
pub(crate) type Output = pipe::Receiver;

pub(super) fn input(pipe: impl Into<OwnedFd>) -> io::Result<Input> {
    pipe::Sender::from_owned_fd(pipe.into())
}

pub(super) fn output(pipe: impl Into<OwnedFd>) -> io::Result<Output> {
    pipe::Receiver::from_owned_fd(pipe.into())
}

/// The group of a process. Its number is used while the process is there, if only as a zombie, and never
/// after: then it may belong to somebody else.
#[derive(Debug)]
pub(super) struct Tree(Mutex<Option<Pid>>);

impl Tree {
    /// Has a command start its process as the leader of a group that dies with the host.
    pub(super) fn prepare(command: &mut Command) {
        command.process_group(0);
        die_with_host(command);
    }

    /// The group that a process leads.
    #[expect(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
    pub(super) fn of(child: &Child) -> io::Result<Self> {
        Ok(Self(Mutex::new(Some(Pid::from_child(child)))))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Option<Pid>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Kills all of it.
    pub(super) fn kill(&self) {
        if let Some(leader) = *self.lock() {
            // It may be gone already: then there is nobody to kill.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }

    /// Waits for the end of the leader, kills what it left behind, and lets go of its number.
    pub(super) fn reap(&self, child: &mut Child) -> ExitStatus {
        let leader = Pid::from_child(child);
        // The process stays a zombie, so its number stays its own.
        let waited = loop {
            match waitid(
                WaitId::Pid(leader),
                WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
            ) {
                Err(rustix::io::Errno::INTR) => {}
                waited => break waited,
            }
        };
        let mut number = self.lock();
        if waited.is_ok() {
            let _ = kill_process_group(leader, Signal::KILL);
        }
        let status = child.wait().unwrap_or_default();
        *number = None;
        status
    }
}

/// What ended a process, where it did not exit.
pub(super) fn killed_by(status: ExitStatus) -> Option<String> {
    status
        .signal()
        .map(|signal| format!("killed by signal {signal}"))
}

/// Has the kernel kill the process when the host dies, however the host dies.
#[cfg(target_os = "linux")]
fn die_with_host(command: &mut Command) {
    let host = rustix::process::getpid();
    #[expect(
        unsafe_code,
        reason = "between fork and exec only two system calls are made; neither allocates nor locks"
    )]
    // SAFETY: the closure makes no call that is unsound in a fork of a program with threads.
    unsafe {
        command.pre_exec(move || {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            // The host may have died before the line above.
            if rustix::process::getppid() == Some(host) {
                Ok(())
            } else {
                Err(rustix::io::Errno::SRCH.into())
            }
        });
    }
}

/// Elsewhere the end of its input tells a process that the host is gone.
#[cfg(not(target_os = "linux"))]
fn die_with_host(_command: &mut Command) {}
