//! The shell of one session: its rules, its sandbox, and what it has started.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use super::allowlist::Allowlist;
use super::confine::{
    Inner, Layout, Planted, Protection, RUNNER_PLACE, Survey, Tier, TierReport, Wrap, arguments,
    environment, proc_of_landlock,
};
use super::resolve::{SearchPath, usual_directories};
use super::rule::{RuleError, RuleSettings, RuleText};
use super::run::{
    Collector, Folder, Job, Process, Processes, RUNNER_ARGUMENT, Work, launch, private_folder,
};
use super::tree::RealTree;
use crate::text::OutputEncoding;
use crate::tool::{Approver, Tool};

/// How long the end of a session may wait for what it ends.
const LAST_LOOK: Duration = Duration::from_secs(1);

/// What becomes of a line that has to be asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    Ask,
    Deny,
    /// It runs where the full sandbox holds it, and is refused elsewhere.
    Safe,
}

/// Stores rules for good; the error is one sentence.
pub type Remember = Arc<dyn Fn(&[RuleText]) -> Result<(), String> + Send + Sync>;

/// Everything that a shell is told.
#[derive(Clone)]
pub struct ShellSettings {
    pub rules: RuleSettings,
    pub network: bool,
    /// Directories beyond the workdir, absolute.
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
    /// For a call that does not say how long it may take, and for one that does.
    pub timeout: Duration,
    pub max_timeout: Duration,
    /// Bytes of output that the model is shown at once.
    pub output: usize,
    pub encoding: OutputEncoding,
    pub approval: Approval,
    pub approver: Arc<dyn Approver>,
    pub remember: Option<Remember>,
    /// Without links.
    pub workdir: PathBuf,
    pub home: Option<PathBuf>,
    /// Our own directories, which no command may see.
    pub hidden: Vec<PathBuf>,
    pub secret_files: Vec<String>,
    /// Where temporary folders are made while there is no session to keep things in.
    pub scratch: PathBuf,
    /// A program that calls [`super::runner_main`] when its first word is [`RUNNER_ARGUMENT`].
    pub runner: PathBuf,
    pub tier: TierReport,
    /// Commands may run though nothing confines them.
    pub without_sandbox: bool,
    /// Variables of the host that name places of toolchains.
    pub places: Vec<(String, String)>,
}

impl fmt::Debug for ShellSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShellSettings")
            .field("workdir", &self.workdir)
            .field("tier", &self.tier)
            .field("approval", &self.approval)
            .finish_non_exhaustive()
    }
}

/// Why there is no shell.
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    #[error(transparent)]
    Rule(#[from] RuleError),
    #[error("the workdir cannot be looked at: {0}")]
    Workdir(io::Error),
    #[error(
        "no sandbox works here ({0}), so bash is off; `cargo xtask setup` or your distributor's package `bubblewrap` gives one, and `--bash-without-sandbox` does without"
    )]
    NoSandbox(String),
    #[error("the workdir holds `{}`, which no command may see, and the weaker sandbox cannot hide it; install bubblewrap or work in a narrower directory", .0.display())]
    CannotHide(PathBuf),
    #[error(
        "the workdir holds the system itself, so no sandbox can be built around it; work in a narrower directory"
    )]
    TooWide,
}

/// One session's shell. Dropping it ends everything that it has started.
pub struct Shell {
    pub(super) settings: ShellSettings,
    pub(super) search: SearchPath,
    pub(super) tree: RealTree,
    pub(super) processes: Processes,
    pub(super) folder: Arc<Folder>,
    allowlist: RwLock<Arc<Allowlist>>,
    rules: Mutex<RuleSettings>,
    layout: Layout,
    protection: Protection,
}

/// How a start is to be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manner {
    pub(super) timeout: Option<Duration>,
    /// Its output goes to a file from the first byte on.
    pub(super) log: bool,
}

impl Shell {
    /// Makes a shell; the self-tests of the rules run here.
    pub fn new(mut settings: ShellSettings) -> Result<Arc<Self>, ShellError> {
        let tier = settings.tier.tier;
        if tier == Tier::None && !settings.without_sandbox {
            let why = settings.tier.why_not.clone().unwrap_or_default();
            return Err(ShellError::NoSandbox(why));
        }
        if settings.without_sandbox {
            settings.tier.tier = Tier::None;
        }
        let system = ["/usr", "/etc", "/dev", "/proc", "/run", "/tmp"].map(Path::new);
        if tier.is_full() && system.iter().any(|path| path.starts_with(&settings.workdir)) {
            return Err(ShellError::TooWide);
        }
        let mut hidden = settings.hidden.iter().filter(|path| path.starts_with(&settings.workdir));
        if let (Tier::Landlock, Some(path)) = (tier, hidden.next()) {
            return Err(ShellError::CannotHide(path.clone()));
        }
        let allowlist = Allowlist::new(&settings.rules)?;
        let mut layout = Layout::of(settings.home.as_deref(), settings.network);
        layout.read.clone_from(&settings.read);
        layout.write.clone_from(&settings.write);
        layout.hidden.clone_from(&settings.hidden);
        let directories = usual_directories(settings.home.as_deref());
        Ok(Arc::new(Self {
            search: SearchPath::new(directories, &settings.workdir).map_err(ShellError::Workdir)?,
            tree: RealTree::open(&settings.workdir).map_err(ShellError::Workdir)?,
            processes: Processes::default(),
            folder: Arc::new(Folder::new(settings.scratch.clone())),
            allowlist: RwLock::new(Arc::new(allowlist)),
            rules: Mutex::new(settings.rules.clone()),
            layout,
            protection: Protection::new(settings.workdir.clone(), settings.secret_files.clone()),
            settings,
        }))
    }

    /// The tools `bash`, `kill_process` and `process_output` over this shell.
    pub fn tools(self: &Arc<Self>) -> Vec<Arc<dyn Tool>> {
        super::tools::all(self)
    }

    /// Keeps long output and quarantined files in the session's folder from now on.
    pub fn keep_in(&self, folder: PathBuf) {
        self.folder.of_session(folder);
    }

    pub fn tier(&self) -> Tier {
        self.settings.tier.tier
    }

    /// Why there is no better sandbox.
    pub fn why_not_better(&self) -> Option<&str> {
        self.settings.tier.why_not.as_deref()
    }

    pub(super) fn allowlist(&self) -> Arc<Allowlist> {
        Arc::clone(&self.allowlist.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Stores rules that a person has seen and accepted, and follows them from now on.
    pub(super) fn remember(&self, rules: &[RuleText]) -> Result<(), String> {
        let Some(store) = &self.settings.remember else {
            return Err("there is no file to store rules in".into());
        };
        let mut known = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        let mut wider = known.clone();
        wider.allow.extend_from_slice(rules);
        let allowlist = Allowlist::new(&wider).map_err(|error| error.to_string())?;
        store(rules)?;
        *known = wider;
        *self.allowlist.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(allowlist);
        Ok(())
    }

    /// Starts `work` in the sandbox.
    pub(super) fn start(&self, work: Work, manner: Manner) -> io::Result<Arc<Process>> {
        let tier = self.tier();
        let settings = &self.settings;
        let survey = self.protection.survey();
        let (mut command, inner, home, scratch) = match tier {
            Tier::Full { proc } => {
                let bubblewrap = settings.tier.bubblewrap.as_deref().unwrap_or(Path::new("bwrap"));
                let mut command = Command::new(bubblewrap);
                command.args(arguments(&Wrap {
                    layout: &self.layout,
                    workdir: &settings.workdir,
                    survey: &survey,
                    runner: &settings.runner,
                    network: settings.network,
                    proc,
                }));
                command.arg(RUNNER_PLACE);
                let home =
                    settings.home.clone().filter(|home| !home.starts_with(&settings.workdir));
                let home = home.unwrap_or_else(|| "/tmp".into());
                (command, Inner::Filter { network: settings.network }, home, None)
            }
            Tier::Landlock => {
                let scratch = Scratch(private_folder(&std::env::temp_dir())?);
                let inner = self.landlock(&scratch.0);
                (Command::new(&settings.runner), inner, scratch.0.clone(), Some(scratch))
            }
            Tier::None => {
                let scratch = Scratch(private_folder(&std::env::temp_dir())?);
                (Command::new(&settings.runner), Inner::Nothing, scratch.0.clone(), Some(scratch))
            }
        };
        command.arg(RUNNER_ARGUMENT).env_clear();
        let own = |name: &str| {
            settings.places.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
        };
        let mut environment = environment(self.search.directories(), &home, own);
        if let Some(scratch) = &scratch {
            let place = scratch.0.to_string_lossy().into_owned();
            environment.retain(|(name, _)| name != "TMPDIR");
            environment.push(("TMPDIR".into(), place));
        }
        let job = Job {
            work,
            root: settings.workdir.clone(),
            environment,
            inner,
            timeout_ms: manner.timeout.map(|limit| limit.as_millis() as u64),
        };
        let folder = Arc::clone(&self.folder);
        let output = Collector::new(settings.output, settings.encoding, folder, manner.log);
        let output = Arc::new(output);
        let running = launch(command, &job, Arc::clone(&output), tier.is_full())?;
        Ok(Arc::new(Process {
            running,
            output,
            survey: Mutex::new(Some(survey)),
            _scratch: scratch,
        }))
    }

    /// What commands can see beyond the workdir.
    pub(super) fn shown_places(&self) -> Vec<PathBuf> {
        let links = self.layout.links.iter().map(|(_, link)| link);
        let own: &[&str] = match self.tier() {
            Tier::Full { .. } => &["/proc", "/dev", "/tmp", "/var/tmp"],
            Tier::Landlock => &["/proc", "/dev"],
            Tier::None => &["/"],
        };
        let shown = self.layout.readable().chain(&self.layout.write).chain(links).cloned();
        shown.chain(own.iter().map(PathBuf::from)).collect()
    }

    /// Looks at the protected places after a process has ended, once.
    pub(super) fn look_after(&self, process: &Process) -> Vec<Planted> {
        let survey: Option<Survey> =
            process.survey.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(survey) = survey else { return Vec::new() };
        self.protection.clean(&survey, || {
            let path = self.folder.fresh("quarantine")?;
            std::fs::create_dir(&path)?;
            Ok(path)
        })
    }

    /// The same for all that have ended by themselves since the last look.
    pub(super) fn look_after_ended(&self) -> Vec<Planted> {
        let ended = self.processes.all().into_iter().filter(|process| process.running.is_gone());
        ended.flat_map(|process| self.look_after(&process)).collect()
    }

    fn landlock(&self, scratch: &Path) -> Inner {
        let settings = &self.settings;
        let mut read: Vec<PathBuf> = self.layout.readable().cloned().collect();
        read.push(settings.runner.clone());
        read.extend(proc_of_landlock());
        let mut write = settings.write.clone();
        write.extend([settings.workdir.clone(), scratch.to_owned()]);
        Inner::Landlock { read, write, network: settings.network }
    }
}

impl Drop for Shell {
    /// Ends what still runs, and takes away what it has planted: nobody looks later.
    fn drop(&mut self) {
        let deadline = Instant::now() + LAST_LOOK;
        let all = self.processes.all();
        for process in &all {
            process.running.kill();
        }
        for process in &all {
            while !process.running.is_gone() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(5));
            }
            self.look_after(process);
        }
    }
}

impl fmt::Debug for Shell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shell")
            .field("workdir", &self.settings.workdir)
            .field("tier", &self.settings.tier)
            .finish_non_exhaustive()
    }
}

/// A directory that is removed with this value.
#[derive(Debug)]
pub(super) struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed lies in the system's temporary directory, which is cleaned.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
