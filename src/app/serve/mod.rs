//! `serve`: wires the store to the recorder, the recorder to the proxy's tap, rules and listeners to the
//! proxy, and all of it to the admin listener; stops in the reverse order.

mod admin_port;
mod banner;
mod daemon;
mod played;
mod proxies;
mod recording;
mod signals;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tracing::{info, warn};

use self::daemon::Running;
use self::recording::Recorded;
use self::signals::Signals;
use crate::admin;
use crate::app::cli::output::Style;
use crate::app::config::Config;
use crate::app::daemon_file::{DaemonFile, Written};
use crate::app::failure::{Exit, Explain, Failure};
use crate::base::clock::WallClock;
use crate::base::id::IdSource;
use crate::base::limits::Limits;
use crate::base::shutdown::{Stopped, Tasks};
use crate::proxy::{self, Rules, Shared};
use crate::record::tap::Tap;

/// What a daemon is told.
pub(crate) struct Plan {
    pub(crate) config: Config,
    /// Threads that move the traffic; `None`: one a processor.
    pub(crate) workers: Option<NonZeroUsize>,
    pub(crate) clock: WallClock,
    pub(crate) style: Style,
}

/// How long threads that are still busy after the stop are waited for.
const RUNTIME_GRACE: Duration = Duration::from_secs(2);

/// Runs the daemon until it is told to stop.
pub(crate) fn run(plan: Plan) -> Result<Exit, Failure> {
    let mut builder = Builder::new_multi_thread();
    if let Some(workers) = plan.workers {
        builder.worker_threads(workers.get());
    }
    let runtime = builder
        .enable_all()
        .thread_name("meddler")
        .build()
        .doing(|| "cannot start the runtime".to_owned())?;
    let result = runtime.block_on(serve(plan));
    runtime.shutdown_timeout(RUNTIME_GRACE);
    result
}

async fn serve(plan: Plan) -> Result<Exit, Failure> {
    let mut signals = Signals::listen().doing(|| "cannot listen for signals".to_owned())?;
    let style = plan.style;
    let started = Started::start(&plan.config, &plan.clock).await?;
    style.say(&banner::text(&started.info, &started.admin_url, &plan.config));

    let signal = signals.next().await;
    info!(signal, "stopping");
    style.say("stopping; once more to stop at once");
    let hurry = async {
        signals.next().await;
    };
    started.stop(hurry).await?;
    Ok(Exit::Ok)
}

/// A daemon that runs in this process.
pub(crate) struct Started {
    pub(crate) info: admin::DaemonInfo,
    pub(crate) admin_url: String,
    limits: Limits,
    tasks: Tasks,
    recorded: Option<Recorded>,
    /// Removed when it is dropped.
    file: Option<Written>,
}

impl Started {
    /// Starts everything that a configuration asks for.
    pub(crate) async fn start(config: &Config, clock: &WallClock) -> Result<Self, Failure> {
        let limits = limits(config);
        let admin_listener = admin_port::bind(config.admin.as_ref())?;
        let ids = Arc::new(IdSource::system(clock.clone()));
        let instance = ids.instance();
        let rules = proxies::rules(config, instance)?;
        let (tap, recorded) = if config.record.enabled {
            let (tap, recorded) = Recorded::begin(config, &limits, instance, clock)?;
            (tap, Some(recorded))
        } else {
            (Tap::off(), None)
        };
        let session = recorded.as_ref().map(|recorded| recorded.recorder.session());
        let rules = Rules::new(rules, session.clone().unwrap_or_default());
        let tasks = Tasks::new();
        let shared = Shared {
            tap,
            rules: rules.clone(),
            limits: limits.clone(),
            ids,
            clock: clock.clone(),
            tasks: tasks.clone(),
            ca_directory: config.store.path.join("ca"),
            signing_key: config
                .signing_key
                .clone()
                .unwrap_or_else(|| config.store.path.join("keys/card.pem")),
            webhooks: proxies::webhooks(config, recorded.as_ref(), &limits, clock)?,
        };
        let proxies = match proxies::start(config, shared) {
            Ok(proxies) => proxies,
            Err(failure) => {
                if let Some(recorded) = &recorded {
                    recorded.end().await?;
                }
                return Err(failure);
            }
        };
        let info = admin::DaemonInfo {
            tool: "meddler".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instance: instance.to_string(),
            pid: std::process::id(),
            started: clock.now().strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string(),
            session: session.unwrap_or_default(),
            store: recorded.as_ref().map(|recorded| recorded.path.display().to_string()),
            agents: agents(config, &proxies),
        };
        let admin_url = format!("http://{}", admin_listener.addr());
        let running = Running {
            info: info.clone(),
            recorded: recorded.clone(),
            proxies,
            rules,
            tasks: tasks.clone(),
            runtime: Handle::current(),
            clock: clock.clone(),
        };
        let token = config.admin.as_ref().and_then(|admin| admin.token.clone());
        let router = admin::router(Arc::new(running), token, clock.clone());
        tasks.spawn(admin::serve(admin_listener, router, tasks.clone()));
        let file = announce(&admin_url, &info, recorded.as_ref());
        Ok(Self { info, admin_url, limits, tasks, recorded, file })
    }

    /// Stops: waits until everything open has ended, or has been cut, and closes the store.
    pub(crate) async fn stop(self, hurry: impl Future<Output = ()>) -> Result<(), Failure> {
        match self.tasks.stop(self.limits.stop_grace, hurry).await {
            Stopped::Drained => info!("everything open has ended"),
            Stopped::Cut(count) => warn!(count, "tasks were cut"),
        }
        if let Some(recorded) = &self.recorded {
            recorded.end().await?;
        }
        drop(self.file);
        Ok(())
    }
}

fn agents(config: &Config, proxies: &proxy::Running) -> Vec<admin::AgentInfo> {
    let served = config.agents.iter().zip(&proxies.addresses);
    served.map(|(agent, address)| agent.info(address.listen)).collect()
}

fn limits(config: &Config) -> Limits {
    let body_bytes = usize::try_from(config.store.max_body).unwrap_or(usize::MAX);
    Limits { body_bytes, ..Limits::default() }
}

/// Writes `daemon.json`. Without it readers cannot ask for a flush, which is worth a warning and no more.
fn announce(admin: &str, info: &admin::DaemonInfo, recorded: Option<&Recorded>) -> Option<Written> {
    let recorded = recorded?;
    let file = DaemonFile { admin: admin.to_owned(), info: info.clone() };
    match file.write(&recorded.path) {
        Ok(written) => Some(written),
        Err(error) => {
            warn!(store = %recorded.path.display(), %error, "cannot write daemon.json");
            None
        }
    }
}
