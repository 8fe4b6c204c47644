//! The filter on system calls (seccomp). It allows what programs use and refuses, as not
//! permitted, what only serves to get out: other namespaces, other processes' memory, corners of
//! the kernel that have had many faults, input into a terminal, and sockets of families that no
//! namespace holds.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, sock_filter,
};

/// What becomes of sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Network {
    /// A network namespace holds them: loopback is the sandbox's own.
    Namespace,
    /// They reach out, as granted.
    Granted,
    /// Nothing else stands in the way, so there are none but connected pairs.
    Refused,
}

/// Calls that are refused whatever their arguments.
const REFUSED: &[i64] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_fanotify_init,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];

/// Families of sockets that a namespace holds or that are held otherwise; vsock, for one, reaches
/// the machine's own host whatever namespace it is used in.
const FAMILIES: [i32; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// The programs, to be applied in order.
pub(super) fn filters(network: Network) -> Result<Vec<BpfProgram>, String> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    // A new user namespace would hand out capabilities again.
    let newuser = libc::CLONE_NEWUSER as u64;
    rules.insert(libc::SYS_clone, vec![rule(&[(0, SeccompCmpOp::MaskedEq(newuser), newuser)])?]);
    // Typing into a terminal, from which a shell of the user may read. The kernel compares the
    // lower half of the number, and so does this.
    let terminal = [libc::TIOCSTI, libc::TIOCLINUX]
        .map(|request| rule(&[(1, SeccompCmpOp::Eq, u64::from(request as u32))]));
    rules.insert(libc::SYS_ioctl, terminal.into_iter().collect::<Result<_, _>>()?);
    if network == Network::Refused {
        for call in [libc::SYS_socket, libc::SYS_connect, libc::SYS_bind, libc::SYS_listen] {
            rules.insert(call, Vec::new());
        }
        // A pair of datagram sockets could send to any address.
        let kind = SeccompCmpOp::MaskedEq(0xf);
        rules.insert(libc::SYS_socketpair, vec![rule(&[(1, kind, libc::SOCK_DGRAM as u64)])?]);
    } else {
        let foreign = FAMILIES.map(|family| (0, SeccompCmpOp::Ne, family as u64));
        rules.insert(libc::SYS_socket, vec![rule(&foreign)?]);
    }
    let denied = program(rules, libc::EPERM)?;
    // `clone3` keeps its flags in memory, where no filter can look. Libraries fall back to `clone`.
    let absent = program(BTreeMap::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS)?;
    let mut filters = vec![denied, absent];
    if cfg!(target_arch = "x86_64") {
        filters.push(without_x32());
    }
    Ok(filters)
}

fn rule(conditions: &[(u8, SeccompCmpOp, u64)]) -> Result<SeccompRule, String> {
    let conditions = conditions.iter().map(|(argument, op, value)| {
        SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, op.clone(), *value)
    });
    conditions
        .collect::<Result<Vec<_>, _>>()
        .and_then(SeccompRule::new)
        .map_err(|error| error.to_string())
}

fn program(rules: BTreeMap<i64, Vec<SeccompRule>>, errno: i32) -> Result<BpfProgram, String> {
    let arch =
        std::env::consts::ARCH.try_into().map_err(|e: seccompiler::BackendError| e.to_string())?;
    let refuse = SeccompAction::Errno(errno as u32);
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)
        .and_then(TryInto::try_into)
        .map_err(|error| error.to_string())
}

/// The x32 numbers are a second set of the same calls, which the rules above do not name. A kernel
/// built without them refuses them itself.
fn without_x32() -> BpfProgram {
    const X32_BIT: u32 = 0x4000_0000;
    let step = |code: u32, jt, jf, k| sock_filter { code: code as u16, jt, jf, k };
    vec![
        // The number of the call is the first field of `struct seccomp_data`.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, X32_BIT),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_compiles_and_none_is_empty() {
        for network in [Network::Namespace, Network::Granted, Network::Refused] {
            let filters = filters(network).expect("the rules compile");
            assert!(filters.iter().all(|program| program.len() >= 4), "{network:?}");
        }
    }
}
