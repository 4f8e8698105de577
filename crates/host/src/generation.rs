//! The sidecars of one runtime: started together, swapped for the next ones, ended together. Knows no call.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, Instant},
};

use reasonix_extension_protocol::ErrorReason;
use tokio::{sync::Semaphore, task::JoinSet};

use crate::{
    launch::{Launch, Services, Session, Stage, StartError},
    sidecar::{START_BUDGET, Sidecar},
};

/// Sidecars that start at once.
pub const STARTING_AT_ONCE: usize = 4;

/// Sidecars that were started together.
#[derive(Debug)]
pub struct Generation {
    sidecars: BTreeMap<String, Sidecar>,
    warnings: Vec<StartError>,
}

impl Generation {
    /// Starts sidecars, in the order of their names, [`STARTING_AT_ONCE`] at a time, all of them within
    /// [`START_BUDGET`]. One that is not required may fail: then it is missing, and
    /// [`warnings`](Self::warnings) says why.
    ///
    /// # Errors
    ///
    /// The failure of the first required one that fails, in the order of names; the others are ended.
    pub async fn start(
        launches: impl IntoIterator<Item = Launch>,
        session: &Session,
        services: &Arc<dyn Services>,
    ) -> Result<Self, StartError> {
        Self::start_within(launches, session, services, START_BUDGET).await
    }

    /// As [`start`](Self::start), within a time of the caller's.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub async fn start_within(
        launches: impl IntoIterator<Item = Launch>,
        session: &Session,
        services: &Arc<dyn Services>,
        budget: Duration,
    ) -> Result<Self, StartError> {
        let begun = Instant::now();
        let mut launches: Vec<Launch> = launches.into_iter().collect();
        launches.sort_by(|a, b| a.name.cmp(&b.name));
        let turns = Arc::new(Semaphore::new(STARTING_AT_ONCE));
        let mut starts = JoinSet::new();
        let mut handles = Vec::new();
        for (index, launch) in launches.iter().cloned().enumerate() {
            let (turns, session, services) = (turns.clone(), session.clone(), services.clone());
            handles.push(starts.spawn(async move {
                let left = || budget.saturating_sub(begun.elapsed());
                let name = launch.name.clone();
                // The semaphore is never closed.
                let turn = tokio::time::timeout(left(), turns.acquire_owned()).await;
                let started = if turn.is_err() || left().is_zero() {
                    Err(StartError {
                        plugin: name,
                        stage: Stage::Resolve,
                        elapsed: begun.elapsed(),
                        reason: ErrorReason::Internal,
                        cause: format!(
                            "its turn did not come within the {} s that all sidecars have together",
                            budget.as_secs_f64()
                        ),
                        stderr: String::new(),
                    })
                } else {
                    Sidecar::start(launch, &session, services, left()).await
                };
                (index, started)
            }));
        }
        let mut outcomes: BTreeMap<usize, Result<Sidecar, StartError>> = BTreeMap::new();
        while let Some(outcome) = starts.join_next().await {
            // A start that was given up is not asked for.
            let Ok((index, started)) = outcome else {
                continue;
            };
            let required = launches.get(index).is_some_and(|launch| launch.required);
            if required && started.is_err() {
                // What comes later cannot change what fails first.
                for handle in handles.iter().skip(index + 1) {
                    handle.abort();
                }
            }
            outcomes.insert(index, started);
        }
        let mut generation = Self {
            sidecars: BTreeMap::new(),
            warnings: Vec::new(),
        };
        let mut fatal = None;
        for (index, outcome) in outcomes {
            let required = launches.get(index).is_some_and(|launch| launch.required);
            match outcome {
                Ok(sidecar) => {
                    generation
                        .sidecars
                        .insert(sidecar.name().to_owned(), sidecar);
                }
                Err(error) if required && fatal.is_none() => fatal = Some(error),
                Err(error) => generation.warnings.push(error),
            }
        }
        match fatal {
            None => Ok(generation),
            Some(error) => {
                generation.shutdown().await;
                Err(error)
            }
        }
    }

    /// The sidecars that run, by name.
    pub fn sidecars(&self) -> impl Iterator<Item = &Sidecar> {
        self.sidecars.values()
    }

    /// A sidecar by name.
    pub fn sidecar(&self, name: &str) -> Option<&Sidecar> {
        self.sidecars.get(name)
    }

    /// Why some that are not required do not run.
    pub fn warnings(&self) -> &[StartError] {
        &self.warnings
    }

    /// Ends all sidecars, beside each other.
    pub async fn shutdown(&self) {
        let mut ends = JoinSet::new();
        for sidecar in self.sidecars.values() {
            let sidecar = sidecar.clone();
            ends.spawn(async move { sidecar.shutdown().await });
        }
        while ends.join_next().await.is_some() {}
    }
}

/// The generation that is used, and the way to the next one.
#[derive(Debug)]
pub struct Runtime {
    current: RwLock<Arc<Generation>>,
    /// One reload at a time.
    reloading: tokio::sync::Mutex<()>,
}

impl Runtime {
    /// Begins with a generation.
    pub fn new(generation: Generation) -> Self {
        Self {
            current: RwLock::new(Arc::new(generation)),
            reloading: tokio::sync::Mutex::default(),
        }
    }

    /// The generation that is used. Whoever still holds it after a reload holds
    /// sidecars that have ended.
    pub fn current(&self) -> Arc<Generation> {
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Starts the next generation, then uses it and ends the old one. Meant for when the host is idle.
    ///
    /// # Errors
    ///
    /// When the next one does not start: then the old one stays, untouched.
    pub async fn reload(
        &self,
        launches: impl IntoIterator<Item = Launch>,
        session: &Session,
        services: &Arc<dyn Services>,
    ) -> Result<(), StartError> {
        let _one = self.reloading.lock().await;
        let next = Arc::new(Generation::start(launches, session, services).await?);
        let old = {
            let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *current, next)
        };
        old.shutdown().await;
        Ok(())
    }
}
