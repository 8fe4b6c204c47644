//! Where config, state and cache are.

use std::path::{Path, PathBuf};

use super::{ConfigError, Env};

/// Our own directories; none of them is made here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// Holds config.toml and plugins/.
    pub config_dir: PathBuf,
    /// Holds sessions/, cache/ and the lockfile.
    pub state_dir: PathBuf,
    pub config_file: PathBuf,
    pub plugins_dir: PathBuf,
    pub cache_dir: PathBuf,
    /// Which plugins were approved, each as it was then.
    pub lock_file: PathBuf,
    /// Which workdirs' own settings are trusted.
    pub trust_file: PathBuf,
    /// Where unset, nothing is known about the user's home.
    pub home: Option<PathBuf>,
}

impl Paths {
    /// `CLAWHOLD_HOME` holds everything where it is set; else the XDG base directories decide
    /// (XDG Base Directory Specification 0.8: a relative value is ignored).
    pub fn of(env: &Env, config_flag: Option<&Path>) -> Result<Self, ConfigError> {
        let home = absolute_var(env, "HOME");
        let (config_dir, state_dir) = if let Some(ours) = env.os("CLAWHOLD_HOME") {
            let ours = std::path::absolute(ours).map_err(|cause| ConfigError::BadValue {
                origin: "environment CLAWHOLD_HOME".into(),
                message: cause.to_string(),
            })?;
            (ours.clone(), ours.join("state"))
        } else {
            let base = |variable: &str, below: &str| {
                absolute_var(env, variable)
                    .or_else(|| home.as_ref().map(|home| home.join(below)))
                    .map(|base| base.join("clawhold"))
                    .ok_or(ConfigError::NoHome)
            };
            (base("XDG_CONFIG_HOME", ".config")?, base("XDG_STATE_HOME", ".local/state")?)
        };
        Ok(Self {
            config_file: config_flag.map_or_else(|| config_dir.join("config.toml"), Path::to_owned),
            plugins_dir: config_dir.join("plugins"),
            cache_dir: state_dir.join("cache"),
            lock_file: state_dir.join("plugins.lock"),
            trust_file: state_dir.join("trusted.json"),
            config_dir,
            state_dir,
            home,
        })
    }

    /// What no tool may reach, to hold a workdir against.
    pub fn ours(&self) -> Vec<PathBuf> {
        vec![self.config_dir.clone(), self.state_dir.clone()]
    }
}

fn absolute_var(env: &Env, name: &str) -> Option<PathBuf> {
    env.os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        let check = |vars: &[(&str, &str)], expect: Option<(&str, &str)>| {
            let paths = Paths::of(&Env::of(vars), None).ok();
            let found = paths.map(|p| (p.config_file, p.state_dir));
            assert_eq!(found, expect.map(|(c, s)| (c.into(), s.into())), "{vars:?}");
        };
        check(
            &[("HOME", "/h")],
            Some(("/h/.config/clawhold/config.toml", "/h/.local/state/clawhold")),
        );
        check(
            &[("HOME", "/h"), ("XDG_CONFIG_HOME", "/c"), ("XDG_STATE_HOME", "relative")],
            Some(("/c/clawhold/config.toml", "/h/.local/state/clawhold")),
        );
        check(&[("CLAWHOLD_HOME", "/o"), ("HOME", "/h")], Some(("/o/config.toml", "/o/state")));
        check(
            &[("XDG_CONFIG_HOME", "/c"), ("XDG_STATE_HOME", "/s")],
            Some(("/c/clawhold/config.toml", "/s/clawhold")),
        );
    }

    #[test]
    fn c27_without_a_home_the_error_says_what_to_set() {
        for vars in [&[][..], &[("HOME", "")], &[("XDG_CONFIG_HOME", "/c")]] {
            let error = Paths::of(&Env::of(vars), None).err().map(|e| e.to_string());
            assert!(error.as_ref().is_some_and(|e| e.contains("CLAWHOLD_HOME")), "{error:?}");
        }
    }
}
