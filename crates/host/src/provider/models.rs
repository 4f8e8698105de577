//! Which models there are, who serves each, and how an answer is asked for.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use reasonix_extension_protocol::{
    ErrorReason,
    types::{ProviderDescriptor, ProviderRequest, StreamId, StreamOpenParams, StreamOpenResult},
};
use reasonix_extension_wire::{BoxFuture, content::random_name};
use tokio::sync::OnceCell;

use super::streams::{IDLE, ModelStream, StreamFailure, Streams};
use crate::sidecar::{CallFailure, Sidecar, State};

/// One who serves models: a sidecar, or what stands for one in tests.
pub trait ModelSource: Send + Sync + 'static {
    /// The models that it declared when it was started.
    fn declared(&self) -> Vec<ProviderDescriptor>;

    /// Whether it runs.
    fn runs(&self) -> bool;

    /// Waits until it runs no more, and all that it said is heard.
    fn ended(&self) -> BoxFuture<()>;

    /// Lists its models, within a time of its own.
    fn catalog(&self) -> BoxFuture<Result<Vec<ProviderDescriptor>, CallFailure>>;

    /// Opens a stream, within a time of its own.
    fn open(&self, params: StreamOpenParams) -> BoxFuture<Result<StreamOpenResult, CallFailure>>;

    /// Stops a stream, within a time of its own. Nobody asks what came of it.
    fn cancel(&self, stream: StreamId) -> BoxFuture<()>;
}

impl ModelSource for Sidecar {
    fn declared(&self) -> Vec<ProviderDescriptor> {
        Sidecar::declared(self)
            .providers
            .clone()
            .unwrap_or_default()
    }

    fn runs(&self) -> bool {
        self.state() == State::Ready
    }

    fn ended(&self) -> BoxFuture<()> {
        let sidecar = self.clone();
        Box::pin(async move {
            Sidecar::ended(&sidecar).await;
        })
    }

    fn catalog(&self) -> BoxFuture<Result<Vec<ProviderDescriptor>, CallFailure>> {
        let sidecar = self.clone();
        Box::pin(async move { Ok(Sidecar::catalog(&sidecar).await?.providers) })
    }

    fn open(&self, params: StreamOpenParams) -> BoxFuture<Result<StreamOpenResult, CallFailure>> {
        let sidecar = self.clone();
        Box::pin(async move { sidecar.open_stream(&params).await })
    }

    fn cancel(&self, stream: StreamId) -> BoxFuture<()> {
        let sidecar = self.clone();
        Box::pin(async move {
            let _ = sidecar.cancel_stream(stream).await;
        })
    }
}

/// Why a reference leads to no model. It is never another model's then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// It is none of a plugin: the host's own models have it, or nobody.
    #[error("`{0}` is no model of a plugin")]
    NotOfPlugin(String),
    /// Its plugin does not run here.
    #[error("`{reference}` is a model of the plugin `{plugin}`, which does not run")]
    NoPlugin {
        /// The reference.
        reference: String,
        /// The plugin.
        plugin: String,
    },
    /// Its plugin has no such model.
    #[error("the plugin `{plugin}` has no model `{reference}`; it has {known}")]
    Unknown {
        /// The reference.
        reference: String,
        /// The plugin.
        plugin: String,
        /// What it has.
        known: String,
    },
}

/// The models of the sidecars of one generation.
pub struct Models {
    sources: BTreeMap<String, Source>,
    streams: Streams,
    idle: Duration,
}

struct Source {
    source: Arc<dyn ModelSource>,
    /// What it listed, once it has.
    listed: OnceCell<Vec<ProviderDescriptor>>,
}

impl Models {
    /// The models of these sidecars; what they stream is heard by `streams`.
    pub fn of<'a>(sidecars: impl IntoIterator<Item = &'a Sidecar>, streams: Streams) -> Self {
        let sources = sidecars.into_iter().map(|sidecar| {
            let source: Arc<dyn ModelSource> = Arc::new(sidecar.clone());
            (sidecar.name().to_owned(), source)
        });
        Self::new(sources, streams)
    }

    /// The models of these sources, by the name of their plugins.
    pub fn new(
        sources: impl IntoIterator<Item = (String, Arc<dyn ModelSource>)>,
        streams: Streams,
    ) -> Self {
        let sources = sources.into_iter().map(|(plugin, source)| {
            let listed = OnceCell::new();
            (plugin, Source { source, listed })
        });
        Self {
            sources: sources.collect(),
            streams,
            idle: IDLE,
        }
    }

    /// Sets how long a stream may say nothing.
    #[must_use]
    pub fn with_idle(mut self, idle: Duration) -> Self {
        self.idle = idle;
        self
    }

    /// Every model that can be had now, by plugin. Each plugin is asked once, however many ask; one that does
    /// not answer is left out and asked again the next time, and one that has ended has none.
    pub async fn list(&self) -> Vec<ProviderDescriptor> {
        let mut models = Vec::new();
        for (plugin, source) in &self.sources {
            let fetched = source.listed.get_or_try_init(|| async {
                let listed = source.source.catalog().await?;
                let prefix = prefix(plugin);
                let declared = source.source.declared();
                // What it did not declare could not be opened.
                let known = |model: &ProviderDescriptor| {
                    let reference = model.ref_.as_str();
                    reference.starts_with(&prefix)
                        && declared.iter().any(|declared| declared.ref_ == model.ref_)
                };
                Ok::<_, CallFailure>(listed.into_iter().filter(known).collect())
            });
            if let (Ok(listed), true) = (fetched.await, source.source.runs()) {
                models.extend(listed.iter().cloned());
            }
        }
        models
    }

    /// Finds a model: by its whole reference, or the first one below `plugin/<plugin>/<provider>`. One whose
    /// plugin has crashed is still found, and fails when it is asked.
    ///
    /// # Errors
    ///
    /// When no sidecar here serves it.
    pub fn resolve(&self, reference: &str) -> Result<ProviderDescriptor, ResolveError> {
        Ok(self.find(reference)?.2)
    }

    fn find(&self, reference: &str) -> Result<(&str, &Source, ProviderDescriptor), ResolveError> {
        let reference = reference.trim();
        let plugin =
            plugin_of(reference).ok_or_else(|| ResolveError::NotOfPlugin(reference.to_owned()))?;
        let (plugin, source) =
            self.sources
                .get_key_value(plugin)
                .ok_or_else(|| ResolveError::NoPlugin {
                    reference: reference.to_owned(),
                    plugin: plugin.to_owned(),
                })?;
        let declared = source.source.declared();
        let below = format!("{reference}/");
        let matches = |model: &&ProviderDescriptor| {
            model.ref_.as_str() == reference || model.ref_.as_str().starts_with(&below)
        };
        match declared.iter().find(matches) {
            Some(model) => Ok((plugin, source, model.clone())),
            None => {
                let known: Vec<&str> = declared.iter().map(|model| model.ref_.as_str()).collect();
                Err(ResolveError::Unknown {
                    reference: reference.to_owned(),
                    plugin: plugin.clone(),
                    known: if known.is_empty() {
                        "none".to_owned()
                    } else {
                        known.join(", ")
                    },
                })
            }
        }
    }

    /// Asks a model, with an effort where the model knows efforts.
    ///
    /// # Errors
    ///
    /// When there is no such model, or its sidecar does not open the stream; never falls back.
    pub async fn ask(
        &self,
        reference: &str,
        effort: Option<String>,
        request: ProviderRequest,
    ) -> Result<ModelStream, AskError> {
        let (plugin, source, model) = self.find(reference)?;
        let interrupted = |why: &str| AskError::Stream(StreamFailure::interrupted(plugin, why));
        if !source.source.runs() {
            return Err(interrupted("its sidecar has ended"));
        }
        let id = stream_id().map_err(|why| interrupted(&why))?;
        let stream = self
            .streams
            .register(plugin, id.clone(), source.source.clone(), self.idle);
        let mut params = StreamOpenParams::new(id, model.ref_, request, 1);
        params.model = model.model;
        params.effort = effort;
        // From here on a dropped stream tells the sidecar, for it may have opened it.
        match source.source.open(params).await {
            Ok(result) if result.accepted => Ok(stream),
            Ok(_) => Err(AskError::Stream(StreamFailure::Failed {
                plugin: plugin.to_owned(),
                message: "it declined the request".to_owned(),
            })),
            Err(failure) if failure.reason() == ErrorReason::ProviderInterrupted => {
                Err(interrupted(&failure.kind.to_string()))
            }
            Err(failure) => Err(AskError::Stream(StreamFailure::Failed {
                plugin: plugin.to_owned(),
                message: failure.kind.to_string(),
            })),
        }
    }
}

/// Why a model does not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// There is no such model.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// The stream was not opened.
    #[error(transparent)]
    Stream(#[from] StreamFailure),
}

/// Where the references of a plugin begin.
fn prefix(plugin: &str) -> String {
    format!("plugin/{plugin}/")
}

/// The plugin whose model a reference is, if it is one's.
fn plugin_of(reference: &str) -> Option<&str> {
    let (plugin, rest) = reference.strip_prefix("plugin/")?.split_once('/')?;
    (!plugin.is_empty() && !rest.is_empty()).then_some(plugin)
}

/// A name that no other stream has.
fn stream_id() -> Result<StreamId, String> {
    let name = random_name("es_").map_err(|error| error.to_string())?;
    StreamId::new(name).map_err(|error| error.to_string())
}

impl fmt::Debug for Models {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Models")
            .field("plugins", &self.sources.keys())
            .finish_non_exhaustive()
    }
}
