//! What is started and for whom, and how a start fails. Starts nothing.

use std::{fmt, time::Duration};

use reasonix_extension_protocol::{
    ErrorReason, HookPoint, RawJson,
    types::{
        InitializeResult, SessionContext, StreamChunkParams, StreamEndParams, UiHost,
        UiPublishParams, UiPublishResult, UiRequestParams, UiRequestResult,
    },
};
use reasonix_extension_wire::{BoxFuture, RpcError};

use crate::process::Program;

/// The longest time that a manifest may give an extension to rule.
pub const MAX_TIMEOUT: Duration = Duration::from_mins(1);

/// An installed plugin that runs code: what its manifest says.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Launch {
    /// The name under which it is installed.
    pub name: String,
    /// Its installed version.
    pub version: String,
    /// What to run, in its own folder.
    pub program: Program,
    /// Whether the host cannot do without it: if it does not start, its whole generation does not.
    pub required: bool,
    /// Where it stands in the chain of its points: lower ones are asked first.
    pub priority: i32,
    /// Hook points that it may subscribe to.
    pub intercepts: Vec<HookPoint>,
    /// Replacement slots that it may own, such as `system_prompt` or `tool:bash`.
    pub replaces: Vec<String>,
    /// What it may do beyond hooks: `providers`, `ui`.
    pub capabilities: Vec<String>,
    /// How long it may take to rule; each point's own time if not set. At most [`MAX_TIMEOUT`] counts.
    pub timeout: Option<Duration>,
}

impl Launch {
    /// A plugin that may do nothing yet.
    pub fn new(name: impl Into<String>, version: impl Into<String>, program: Program) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            program,
            required: false,
            priority: 0,
            intercepts: Vec::new(),
            replaces: Vec::new(),
            capabilities: Vec::new(),
            timeout: None,
        }
    }

    /// How long it may take to rule at a point.
    pub fn timeout_at(&self, point: HookPoint) -> Duration {
        self.timeout
            .unwrap_or(point.default_timeout())
            .min(MAX_TIMEOUT)
    }

    /// The program with the variables that say which plugin it is. They are set last, so that neither the
    /// host's environment nor the manifest can forge them.
    pub(crate) fn identified_program(&self) -> Program {
        let root = self.program.directory.clone();
        self.program
            .clone()
            .with_env("REASONIX_PLUGIN_ROOT", root)
            .with_env("REASONIX_PLUGIN_NAME", &self.name)
            .with_env("REASONIX_PLUGIN_VERSION", &self.version)
    }
}

/// For whom sidecars run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Session {
    /// The session, its workspace and the generation of the runtime.
    pub context: SessionContext,
    /// Which front-end shows what sidecars publish.
    pub ui_host: UiHost,
}

impl Session {
    /// A session that some front-end shows.
    pub fn new(context: SessionContext, ui_host: UiHost) -> Self {
        Self { context, ui_host }
    }
}

/// What a host does for its sidecars. The default does nothing: it refuses surfaces and questions, and
/// drops what is streamed.
///
/// Errors, reasons and messages of sidecars are free of credentials and control characters. What they show,
/// ask and stream is their own text as it came: whoever displays it takes them out
/// ([`redact::text`](crate::redact::text), [`redact::visible`](crate::redact::visible)).
pub trait Services: Send + Sync + 'static {
    /// Shows a surface.
    fn publish(
        &self,
        plugin: &str,
        params: UiPublishParams,
    ) -> BoxFuture<Result<UiPublishResult, RpcError>> {
        let _ = (plugin, params);
        Box::pin(std::future::ready(Err(RpcError::new(
            ErrorReason::UnknownMethod,
        ))))
    }

    /// Asks the user.
    fn ask(
        &self,
        plugin: &str,
        params: UiRequestParams,
    ) -> BoxFuture<Result<UiRequestResult, RpcError>> {
        let _ = (plugin, params);
        Box::pin(std::future::ready(Err(RpcError::new(
            ErrorReason::UnknownMethod,
        ))))
    }

    /// Takes a chunk of a stream. Whatever comes behind it waits until this is done: other streams, and beyond
    /// some MiB the answers to calls. It must be quick, and put what it cannot show at once somewhere else; a
    /// sidecar that nobody reads for 10 s gives up.
    fn chunk(&self, plugin: &str, params: StreamChunkParams) -> BoxFuture<()> {
        let _ = (plugin, params);
        Box::pin(std::future::ready(()))
    }

    /// Takes the end of a stream, behind its chunks.
    fn stream_end(&self, plugin: &str, params: StreamEndParams) -> BoxFuture<()> {
        let _ = (plugin, params);
        Box::pin(std::future::ready(()))
    }

    /// Hears that a message about a stream could not be read, and why. It must not wait.
    fn unreadable(&self, plugin: &str, stream: &str, why: &str) {
        let _ = (plugin, stream, why);
    }

    /// Hears what a person should know. It must not wait.
    fn notice(&self, notice: Notice) {
        let _ = notice;
    }
}

/// Services that do nothing.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct NoServices;

impl NoServices {
    /// Services that do nothing.
    pub fn new() -> Self {
        Self
    }
}

impl Default for NoServices {
    fn default() -> Self {
        Self::new()
    }
}

impl Services for NoServices {}

/// What a person should know of a sidecar. Every text is free of credentials and control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// It has died, once: it is not started again before the next generation.
    Crashed {
        /// The plugin.
        plugin: String,
        /// Why, in words.
        why: String,
        /// The end of its standard error.
        stderr: String,
    },
    /// It wrote a line to its standard output that is no frame: something else prints there.
    StrayLine {
        /// The plugin.
        plugin: String,
        /// What is wrong with the line.
        why: String,
        /// The beginning of the line.
        line: String,
    },
    /// It does not keep up, and missed an observation.
    MissedObservation {
        /// The plugin.
        plugin: String,
        /// The hook point.
        point: HookPoint,
    },
}

/// A step of a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// The program is checked.
    Resolve,
    /// The process is started.
    Spawn,
    /// The two sides say what they are.
    Handshake,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Resolve => "resolve",
            Self::Spawn => "spawn",
            Self::Handshake => "handshake",
        })
    }
}

/// Why a sidecar did not start. Its process is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StartError {
    /// The plugin.
    pub plugin: String,
    /// How far it came.
    pub stage: Stage,
    /// How long it took.
    pub elapsed: Duration,
    /// The reason of the contract.
    pub reason: ErrorReason,
    /// Why, in words, without credentials.
    pub cause: String,
    /// The end of its standard error, without credentials.
    pub stderr: String,
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "start `{}`: {} failed after {} ms: {}",
            self.plugin,
            self.stage,
            self.elapsed.as_millis(),
            self.cause
        )?;
        if !self.stderr.is_empty() {
            write!(f, "\nits standard error ends with:\n{}", self.stderr)?;
        }
        Ok(())
    }
}

impl std::error::Error for StartError {}

/// A ruling, with its replacement at hand.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Ruled {
    /// The ruling as it came.
    pub result: reasonix_extension_protocol::types::InterceptResult,
    /// The replacement, wherever it travelled.
    pub replacement: Option<RawJson>,
}

/// What a sidecar said of itself.
pub type Declared = InitializeResult;
