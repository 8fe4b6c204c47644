//! Landlock: which paths a process may reach, where no namespace can be made.

use std::path::PathBuf;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, PathBeneath, PathFd,
    Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus, Scope,
};

/// Rights up to this version are asked for; a kernel that knows fewer gives those that it knows.
const NEWEST: ABI = ABI::V6;
/// The oldest that holds enough: writing with all its ways, truncation among them (Linux 6.2).
const OLDEST: ABI = ABI::V3;

/// Devices that are harmless and that programs expect.
const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// Restricts this thread for good. An error leaves it partly restricted, so it must end then.
pub(super) fn enter(read: &[PathBuf], write: &[PathBuf], network: bool) -> Result<(), String> {
    let failed = |error: landlock::RulesetError| error.to_string();
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(OLDEST))
        .map_err(failed)?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))
        .map_err(failed)?
        .scope(Scope::from_all(NEWEST))
        .map_err(failed)?;
    if !network {
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST)).map_err(failed)?;
    }
    let mut ruleset = ruleset.create().map_err(failed)?;
    let everything = AccessFs::from_all(NEWEST);
    let devices = DEVICES.iter().map(|path| (PathBuf::from(path), AccessFs::from_file(NEWEST)));
    let rules = read
        .iter()
        .map(|path| (path.clone(), AccessFs::from_read(NEWEST)))
        .chain(write.iter().map(|path| (path.clone(), everything)))
        .chain(devices);
    for (path, access) in rules {
        // What is not there needs no rule.
        let Ok(handle) = PathFd::new(&path) else { continue };
        let access = if path.is_dir() { access } else { access & AccessFs::from_file(NEWEST) };
        ruleset = ruleset.add_rule(PathBeneath::new(handle, access)).map_err(failed)?;
    }
    let status = ruleset.restrict_self().map_err(failed)?;
    if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
        return Err("the kernel does not enforce Landlock".into());
    }
    Ok(())
}

/// Whether this kernel can, found out by a thread that tries it and ends.
pub(super) fn works() -> Result<(), String> {
    std::thread::spawn(|| enter(&[PathBuf::from("/usr")], &[], false))
        .join()
        .unwrap_or_else(|_| Err("the probe failed".into()))
}
