//! The part of a sandbox that a process puts on itself, and on what it starts with it.

use std::io;
use std::path::PathBuf;
use std::process::Command;

use serde::{Deserialize, Serialize};

/// What the runner puts on each command.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::shell) enum Inner {
    /// A filter on system calls, inside the namespaces of bubblewrap.
    Filter { network: bool },
    /// Landlock with these paths, and a tighter filter, because nothing else is there.
    Landlock { read: Vec<PathBuf>, write: Vec<PathBuf>, network: bool },
    /// Nothing at all: the user has asked for that.
    Nothing,
}

/// An [`Inner`] made ready.
#[derive(Debug)]
pub(in crate::shell) struct Confined {
    #[cfg(target_os = "linux")]
    filters: Vec<seccompiler::BpfProgram>,
    #[cfg(target_os = "linux")]
    landlock: Option<(Vec<PathBuf>, Vec<PathBuf>, bool)>,
}

impl Confined {
    #[cfg(target_os = "linux")]
    pub(in crate::shell) fn new(inner: &Inner) -> Result<Self, String> {
        use super::filter::{Network, filters};
        let (network, landlock) = match inner {
            Inner::Filter { network } => {
                (if *network { Network::Granted } else { Network::Namespace }, None)
            }
            Inner::Landlock { read, write, network } => (
                if *network { Network::Granted } else { Network::Refused },
                Some((read.clone(), write.clone(), *network)),
            ),
            Inner::Nothing => return Ok(Self { filters: Vec::new(), landlock: None }),
        };
        Ok(Self { filters: filters(network)?, landlock })
    }

    #[cfg(not(target_os = "linux"))]
    pub(in crate::shell) fn new(inner: &Inner) -> Result<Self, String> {
        match inner {
            Inner::Nothing => Ok(Self {}),
            _ => Err("this system has no sandbox for commands".into()),
        }
    }

    /// Starts the command inside and gives its process id.
    ///
    /// It is started by a thread that puts the restrictions on itself and ends: they hold for a
    /// thread and what it starts, so the runner itself stays outside, where the command can
    /// neither stop nor signal it.
    pub(in crate::shell) fn spawn(&self, command: &mut Command) -> io::Result<i32> {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                self.enter()?;
                let child = command.spawn()?;
                Ok(i32::try_from(child.id()).unwrap_or(i32::MAX))
            });
            thread.join().unwrap_or_else(|_| Err(io::Error::other("the starting thread failed")))
        })
    }

    #[cfg(target_os = "linux")]
    fn enter(&self) -> io::Result<()> {
        if let Some((read, write, network)) = &self.landlock {
            super::landlock::enter(read, write, *network).map_err(io::Error::other)?;
        }
        for filter in &self.filters {
            seccompiler::apply_filter(filter).map_err(io::Error::other)?;
        }
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    fn enter(&self) -> io::Result<()> {
        Ok(())
    }
}
