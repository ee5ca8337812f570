//! What the command line lends to assertions: files beside the suite, and the rest as far as its flags
//! allow it.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::{command, http, judge};
use crate::assertion::outside::{
    Baseline, CommandCall, HttpAnswer, HttpCall, Judgement, Outside, Question, Ran,
};
use crate::assertion::{JudgeBy, JudgeConfig};
use crate::record::redact::DigestKey;

/// What one suite may ask.
#[derive(Debug)]
pub(super) struct Lent {
    /// The suite's own directory.
    pub(super) directory: PathBuf,
    /// The keys of the recordings that are read.
    pub(super) keys: Vec<DigestKey>,
    /// Who judges.
    pub(super) judge: Option<JudgeConfig>,
    /// What the flags allow.
    pub(super) allowed: Allowed,
}

/// What the flags allow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Allowed {
    pub(super) commands: Permission,
    pub(super) live: Permission,
    pub(super) new_baselines: Permission,
}

/// Whether something may be done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Permission {
    #[default]
    Denied,
    Given,
}

impl From<bool> for Permission {
    fn from(given: bool) -> Self {
        if given { Self::Given } else { Self::Denied }
    }
}

impl Outside for Lent {
    fn baseline(&self, file: &str, current: &str) -> Result<Baseline, String> {
        let path = within(&self.directory, file)?;
        if self.allowed.new_baselines == Permission::Given {
            let cannot =
                |error: std::io::Error| format!("cannot write the baseline {file}: {error}");
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).map_err(cannot)?;
            }
            fs::write(&path, current).map_err(cannot)?;
            return Ok(Baseline::Made);
        }
        fs::read_to_string(&path).map(Baseline::Kept).map_err(|error| {
            format!("cannot read the baseline {file}: {error}; --update-golden makes one")
        })
    }

    fn digests(&self, secret: &str) -> Vec<String> {
        self.keys.iter().map(|key| key.digest(secret.as_bytes())).collect()
    }

    fn command(&self, call: &CommandCall<'_>) -> Result<Ran, String> {
        match self.allowed.commands {
            Permission::Given => command::run(call, &self.directory),
            Permission::Denied => Err("commands are run only with --allow-commands".to_owned()),
        }
    }

    fn http(&self, call: &HttpCall) -> Result<HttpAnswer, String> {
        match self.allowed.live {
            Permission::Given => http::ask(call),
            Permission::Denied => Err("the network is asked only with --allow-live".to_owned()),
        }
    }

    fn judge(&self, question: &Question) -> Result<Option<Judgement>, String> {
        let Some(config) = &self.judge else { return Ok(None) };
        match (&config.by, self.allowed.commands) {
            (JudgeBy::Command(_), Permission::Denied) => {
                Err("the judge is a command, which is run only with --allow-commands".to_owned())
            }
            (JudgeBy::Command(_), Permission::Given) | (JudgeBy::Endpoint { .. }, _) => {
                judge::ask(config, question, &self.directory).map(Some)
            }
        }
    }
}

/// A file beside or below the suite: a suite that came from elsewhere reads and writes nothing else.
fn within(directory: &Path, file: &str) -> Result<PathBuf, String> {
    let path = Path::new(file);
    let is_below = path.components().all(|part| match part {
        Component::Normal(_) | Component::CurDir => true,
        Component::Prefix(_) | Component::RootDir | Component::ParentDir => false,
    });
    if !is_below {
        return Err(format!("the baseline {file} leads out of the suite's directory"));
    }
    let whole = directory.join(path);
    // A link may lead out as well.
    if let (Ok(real), Ok(home)) = (whole.canonicalize(), own(directory).canonicalize())
        && !real.starts_with(&home)
    {
        return Err(format!("the baseline {file} leads out of the suite's directory"));
    }
    Ok(whole)
}

/// The directory of a suite that was named without one.
fn own(directory: &Path) -> &Path {
    if directory.as_os_str().is_empty() { Path::new(".") } else { directory }
}
