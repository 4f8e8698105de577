//! A sidecar as a process: started without a shell in a group of its own, its standard error kept, its whole
//! tree killed. Knows no protocol.

#[cfg(unix)]
#[path = "process/unix.rs"]
mod platform;
#[cfg(windows)]
#[path = "process/windows.rs"]
mod platform;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    path::PathBuf,
    process::{Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    sync::{oneshot, watch},
};

use self::platform::{Input, Output, Tree, input, killed_by, output};
use crate::redact;

/// Bytes of standard error that are kept: the last ones, which say why a process died.
const STDERR_TAIL: usize = 16_384;
/// How long a process that was killed may take to be gone.
pub(crate) const REAP: Duration = Duration::from_secs(5);

/// What to start, as an installed plugin says it.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Program {
    /// The executable: an absolute path.
    pub command: PathBuf,
    /// Its arguments, each given as it stands.
    pub args: Vec<OsString>,
    /// Variables beside those of the host.
    pub env: BTreeMap<OsString, OsString>,
    /// Where it runs.
    pub directory: PathBuf,
}

impl Program {
    /// A program without arguments.
    pub fn new(command: impl Into<PathBuf>, directory: impl Into<PathBuf>) -> Self {
        Self {
            command: command.into(),
            directory: directory.into(),
            ..Self::default()
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn with_args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn with_env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }
}

/// A process that was started, and everything that it started.
#[derive(Clone, Debug)]
pub(crate) struct Process(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    tree: Arc<Tree>,
    exited: watch::Receiver<Option<ExitStatus>>,
    tail: Arc<Mutex<Tail>>,
}

/// The pipes of a process.
pub(crate) struct Pipes {
    pub(crate) stdin: Input,
    pub(crate) stdout: Output,
}

impl Process {
    /// Starts a program.
    ///
    /// # Errors
    ///
    /// When the executable cannot be run.
    pub(crate) async fn start(name: &str, program: &Program) -> io::Result<(Self, Pipes)> {
        let mut command = Command::new(&program.command);
        command
            .args(&program.args)
            .envs(&program.env)
            .current_dir(&program.directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Tree::prepare(&mut command);
        let (started, start) = oneshot::channel();
        let (exit, exited) = watch::channel(None);
        // A thread of its own starts the process and waits for it: on Linux a process is told of the death
        // of the thread that started it, so this one lives as long as the process does.
        thread::Builder::new()
            .name(format!("sidecar {name}"))
            .stack_size(128 * 1_024)
            .spawn(move || {
                let spawned = command
                    .spawn()
                    .and_then(|mut child| match Tree::of(&child) {
                        Ok(tree) => Ok((child, Arc::new(tree))),
                        Err(error) => {
                            // Nobody could end what it starts.
                            let _ = child.kill();
                            let _ = child.wait();
                            Err(error)
                        }
                    });
                match spawned {
                    Ok((mut child, tree)) => {
                        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
                        if started.send(Ok((tree.clone(), pipes))).is_err() {
                            // Nobody wants it any more.
                            tree.kill();
                        }
                        let _ = exit.send(Some(tree.reap(&mut child)));
                    }
                    Err(error) => {
                        let _ = started.send(Err(error));
                    }
                }
            })?;
        let (tree, pipes) = start
            .await
            .map_err(|_| io::Error::other("the thread that starts processes is gone"))??;
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            tree.kill();
            return Err(io::Error::other("the process has no pipes"));
        };
        let (Ok(stdin), Ok(stdout), Ok(stderr)) = (input(stdin), output(stdout), output(stderr))
        else {
            tree.kill();
            return Err(io::Error::other("the pipes of the process cannot be used"));
        };
        let pipes = Pipes { stdin, stdout };
        let tail = Arc::new(Mutex::new(Tail::default()));
        // Ends when nobody holds the other end any more.
        tokio::spawn(drain(stderr, tail.clone()));
        let process = Self(Arc::new(Shared { tree, exited, tail }));
        Ok((process, pipes))
    }

    /// Waits until the process is gone and reaped.
    pub(crate) async fn exited(&self) -> ExitStatus {
        let mut exited = self.0.exited.clone();
        match exited.wait_for(Option::is_some).await {
            Ok(status) => status.unwrap_or_default(),
            Err(_) => ExitStatus::default(),
        }
    }

    /// How it ended, if it has.
    pub(crate) fn status(&self) -> Option<ExitStatus> {
        *self.0.exited.borrow()
    }

    /// Kills the process and everything that it started.
    pub(crate) fn kill(&self) {
        self.0.tree.kill();
    }

    /// Kills it and waits until it is gone; false if that takes too long.
    pub(crate) async fn kill_and_reap(&self) -> bool {
        self.kill();
        tokio::time::timeout(REAP, self.exited()).await.is_ok()
    }

    /// The end of what it wrote to standard error, without credentials.
    pub(crate) fn stderr_tail(&self) -> String {
        let tail = self.0.tail.lock().unwrap_or_else(PoisonError::into_inner);
        redact::visible(&redact::diagnostics(&tail.text()))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.tree.kill();
    }
}

/// How a process ended, in words.
pub(crate) fn status_words(status: ExitStatus) -> String {
    match (status.code(), killed_by(status)) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(killed)) => killed,
        (None, None) => "ended".to_owned(),
    }
}

/// The last bytes of a stream.
#[derive(Debug, Default)]
struct Tail {
    bytes: Vec<u8>,
    /// Whether something before them was dropped.
    cut: bool,
}

impl Tail {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        // Twice the size, so that it is moved seldom.
        if self.bytes.len() > 2 * STDERR_TAIL {
            self.shorten();
        }
    }

    fn shorten(&mut self) {
        let over = self.bytes.len().saturating_sub(STDERR_TAIL);
        self.cut |= over > 0;
        self.bytes.drain(..over);
    }

    /// The text; what the cut may have torn is left out, for half of a credential looks like none.
    fn text(&self) -> String {
        let over = self.bytes.len().saturating_sub(STDERR_TAIL);
        let bytes = self.bytes.get(over..).unwrap_or_default();
        let text = String::from_utf8_lossy(bytes);
        if !self.cut && over == 0 {
            return text.into_owned();
        }
        match text.split_once('\n') {
            Some((_, rest)) => rest.to_owned(),
            None => String::new(),
        }
    }
}

async fn drain<R: AsyncRead + Unpin>(mut stderr: R, tail: Arc<Mutex<Tail>>) {
    let mut page = vec![0; 8 * 1_024];
    while let Ok(read @ 1..) = stderr.read(&mut page).await {
        let bytes = page.get(..read).unwrap_or_default();
        tail.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(bytes);
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests;
