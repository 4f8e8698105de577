//! Runs an extension over a connection until its end.

use std::{process::ExitCode, time::Duration};

use reasonix_extension_wire::{CloseReason, Connection, Options};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::{
    Extension,
    service::{End, Served, Stage},
    stdio,
};

/// How long what the host had asked may still take once it is gone: as long as somebody who feeds a file
/// into an extension would wait, and no longer, for nobody else would end the process.
const LAST_ANSWERS: Duration = Duration::from_secs(10);

/// Why an extension ended other than in order.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The extension cannot be run as it is built.
    #[error("{0}")]
    Mistake(String),
    /// Standard input and output cannot be used.
    #[error("take over standard input and output: {0}")]
    Stdio(#[source] std::io::Error),
    /// The handshake failed; the host was told why.
    #[error("the extension was not started: {0}")]
    NotStarted(String),
    /// The connection ended before the handshake was complete.
    #[error("the host closed the connection before it was ready")]
    Early,
    /// The host vanished while an answer was still being sent.
    #[error("the host vanished in the middle of {0} streams")]
    Interrupted(usize),
    /// The connection broke.
    #[error("{0}")]
    Broken(CloseReason),
}

impl Extension {
    /// Runs the extension on standard input and output until the host ends it, on a runtime of its own.
    /// The exit code of the process: success after an orderly end, failure otherwise, with a line on
    /// standard error.
    pub fn run(self) -> ExitCode {
        let name = self.name.clone();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let served = match runtime {
            Ok(runtime) => runtime.block_on(self.serve()),
            Err(error) => Err(ServeError::Stdio(error)),
        };
        match served {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{name}: {error}");
                ExitCode::FAILURE
            }
        }
    }

    /// Serves standard input and output until the host ends it.
    ///
    /// While it runs, what is printed to standard output goes to standard error instead, line by line with
    /// a warning, so that nothing but frames reaches the host.
    ///
    /// # Errors
    ///
    /// When the end was not in order; see [`ServeError`].
    pub async fn serve(self) -> Result<(), ServeError> {
        // Standard output is ours until the end.
        let (_guard, input, output) = stdio::take(&self.name).map_err(ServeError::Stdio)?;
        self.serve_on(input, output).await
    }

    /// Serves any two streams until the host ends it: for tests, and for what is not a process.
    ///
    /// # Errors
    ///
    /// When the end was not in order; see [`ServeError`].
    pub async fn serve_on<R, W>(self, input: R, output: W) -> Result<(), ServeError>
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        if let Some(mistake) = self.mistake {
            return Err(ServeError::Mistake(mistake));
        }
        let (served, observed) = Served::new(self);
        let mut options = Options::default();
        options.answer_after_end = Some(LAST_ANSWERS);
        let connection = Connection::start(input, output, served.clone(), options);
        let peer = connection.peer().clone();
        let observers = tokio::spawn(served.clone().run_observers(observed));
        let result = tokio::select! {
            end = served.ended() => {
                peer.flushed().await;
                peer.close();
                served.stop_streams();
                match end {
                    End::Asked => Ok(()),
                    End::NotStarted(why) => Err(ServeError::NotStarted(why)),
                }
            }
            reason = peer.closed() => {
                // Nobody reads what producers would still say.
                let streams = served.stop_streams();
                let stage = served.stage();
                match reason {
                    CloseReason::PeerClosed if stage == Stage::Ready && streams > 0 => {
                        Err(ServeError::Interrupted(streams))
                    }
                    CloseReason::PeerClosed if matches!(stage, Stage::Ready | Stage::Ending) => Ok(()),
                    CloseReason::PeerClosed => Err(ServeError::Early),
                    // The others, and what later versions of the wire may add.
                    reason @ (CloseReason::Local
                    | CloseReason::FrameTooLarge
                    | CloseReason::NotAFrame(_)
                    | CloseReason::TooEarly(_)
                    | CloseReason::TooManyUnsound(_)
                    | CloseReason::Stalled(_)
                    | CloseReason::Io(_)
                    | _) => Err(ServeError::Broken(reason)),
                }
            }
        };
        // What was asked is answered, and what was answered is written.
        let reason = connection.finished().await;
        observers.abort();
        match (result, reason) {
            // The answers could not be written after all.
            (Ok(()), reason @ (CloseReason::Stalled(_) | CloseReason::Io(_))) => {
                Err(ServeError::Broken(reason))
            }
            (result, _) => result,
        }
    }
}
