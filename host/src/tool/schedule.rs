//! The plan by which the calls of one reply run: who waits for whom. A pure function.

use serde_json::Value;

use crate::model::{PathUse, ToolSpec, x_paths};

/// A place in the workdir, in the spelling that comparisons use: no `.` and `..`, and without
/// the difference of case, since on some file systems there is none. Two files that differ in
/// case only wait for each other needlessly, which costs time and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathKey(Vec<String>);

impl PathKey {
    /// The key of a path relative to the workdir; `.` is the workdir itself.
    pub fn new(path: &str) -> Self {
        let mut parts: Vec<String> = Vec::new();
        for part in path.split(['/', std::path::MAIN_SEPARATOR]) {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop();
                }
                name => parts.push(name.to_lowercase()),
            }
        }
        Self(parts)
    }

    /// Whether `self` is `other` or a folder above it.
    pub fn covers(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.covers(other) || other.covers(self)
    }
}

/// What a call touches, as far as its spec and arguments tell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Footprint {
    pub reads: Vec<PathKey>,
    pub writes: Vec<PathKey>,
    /// It may change anything: it runs alone.
    pub barrier: bool,
}

impl Footprint {
    /// Reads the paths out of `arguments`; `real` maps one to the path behind its symlinks.
    ///
    /// A tool that does not say which paths it touches may touch all of them: a reader then
    /// reads the whole workdir, a writer is a barrier.
    pub fn of(spec: &ToolSpec, arguments: &Value, real: impl Fn(&str) -> String) -> Self {
        let mut footprint = Self::default();
        for (name, usage) in x_paths(&spec.input_schema) {
            let side = match usage {
                PathUse::Write if !spec.effects.read_only => &mut footprint.writes,
                // A read-only tool runs with read-only preopens, whatever its schema says.
                PathUse::Read | PathUse::Write => &mut footprint.reads,
            };
            match arguments.get(name) {
                Some(Value::String(path)) => side.push(PathKey::new(&real(path))),
                Some(Value::Array(paths)) => {
                    let paths = paths.iter().filter_map(Value::as_str);
                    side.extend(paths.map(|path| PathKey::new(&real(path))));
                }
                _ => side.push(PathKey::new(".")),
            }
        }
        if spec.effects.read_only && footprint.reads.is_empty() {
            footprint.reads.push(PathKey::new("."));
        }
        footprint.barrier = !spec.effects.read_only && footprint.writes.is_empty();
        footprint
    }

    /// A call that touches nothing, such as one that is refused before it begins.
    pub fn nothing() -> Self {
        Self::default()
    }

    fn is_nothing(&self) -> bool {
        !self.barrier && self.reads.is_empty() && self.writes.is_empty()
    }

    fn touches(&self) -> impl Iterator<Item = &PathKey> {
        self.reads.iter().chain(&self.writes)
    }

    fn conflicts_with(&self, later: &Self) -> bool {
        if self.is_nothing() || later.is_nothing() {
            return false;
        }
        let meet = |writes: &[PathKey], other: &Self| {
            writes.iter().any(|w| other.touches().any(|key| w.overlaps(key)))
        };
        self.barrier || later.barrier || meet(&self.writes, later) || meet(&later.writes, self)
    }

    /// Whether `later` acts on what this call was to write. A search through a folder above is
    /// no such call: it makes sense whatever became of one file in it.
    fn is_ground_of(&self, later: &Self) -> bool {
        self.writes.iter().any(|w| later.touches().any(|key| w.covers(key)))
    }
}

/// One call waits for an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// The earlier call's index.
    pub on: usize,
    /// The later call makes no sense when the earlier one did not succeed.
    pub needs_success: bool,
}

/// For each call, in call order, what it waits for. Waits only ever point backwards, so running
/// whatever waits for nothing always makes progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub waits: Vec<Vec<Wait>>,
}

/// Readers run together. A writer waits for earlier calls that touch the same places, and later
/// ones wait for it.
pub fn plan(footprints: &[Footprint]) -> Plan {
    let waits = footprints.iter().enumerate().map(|(index, later)| {
        let earlier = footprints[..index].iter().enumerate();
        earlier
            .filter(|(_, earlier)| earlier.conflicts_with(later))
            .map(|(on, earlier)| Wait { on, needs_success: earlier.is_ground_of(later) })
            .collect()
    });
    Plan { waits: waits.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Effects;
    use serde_json::json;

    /// One call in short: `r a` reads a, `w a` writes it, `r` and `w` do not say what.
    fn footprint(call: &str) -> Footprint {
        let (kind, paths) = call.split_once(' ').unwrap_or((call, ""));
        let properties = match (kind, paths) {
            (_, "") => json!({}),
            ("r", _) => json!({"path": {"x-path": "read"}}),
            _ => json!({"path": {"x-path": "write"}}),
        };
        let spec = ToolSpec {
            name: "t".into(),
            title: None,
            description: String::new(),
            input_schema: json!({ "properties": properties }),
            output_schema: None,
            effects: if kind == "r" { Effects::READ_ONLY } else { Effects::default() },
            plugin: None,
        };
        let arguments = if paths == "-" { json!({}) } else { json!({ "path": paths }) };
        Footprint::of(&spec, &arguments, str::to_owned)
    }

    /// The waits in short: `2<0!` is "call 2 waits for call 0 and needs its success".
    fn check(calls: &[&str], expect: &str) {
        let footprints: Vec<Footprint> = calls.iter().map(|call| footprint(call)).collect();
        let plan = plan(&footprints);
        let mut shown = Vec::new();
        for (index, waits) in plan.waits.iter().enumerate() {
            for wait in waits {
                shown.push(format!(
                    "{index}<{}{}",
                    wait.on,
                    if wait.needs_success { "!" } else { "" }
                ));
            }
        }
        assert_eq!(shown.join(" "), expect, "{calls:?}");
    }

    #[test]
    fn req_028_readers_run_together() {
        check(&["r a", "r a", "r b", "r -", "r"], "");
    }

    #[test]
    fn req_032_the_same_path_is_ordered() {
        check(&["w a", "r a"], "1<0!");
        check(&["r a", "w a"], "1<0");
        check(&["w a", "w a", "w a"], "1<0! 2<0! 2<1!");
        check(&["w a", "w b", "r c"], "");
        check(&["w A/b", "r a/B"], "1<0!");
        check(&["w ./x/../a", "r a"], "1<0!");
    }

    #[test]
    fn a_folder_covers_what_is_below_it() {
        check(&["w a/b", "r a"], "1<0");
        check(&["w a/b", "r -"], "1<0");
        check(&["w a", "r a/b"], "1<0!");
        check(&["w ab", "r a"], "");
        check(&["r -", "w a/b"], "1<0");
    }

    #[test]
    fn req_029_a_writer_of_unknown_places_is_a_barrier() {
        check(&["r a", "w", "r b"], "1<0 2<1");
        check(&["w a", "w", "w b"], "1<0 2<1");
        check(&["r", "w a"], "1<0");
    }

    #[test]
    fn what_is_refused_holds_nobody_up() {
        let plan = plan(&[Footprint::nothing(), footprint("w"), Footprint::nothing()]);
        assert!(plan.waits.iter().all(Vec::is_empty));
    }

    #[test]
    fn two_names_of_one_file_meet_where_somebody_knows() {
        let spec = ToolSpec {
            name: "t".into(),
            title: None,
            description: String::new(),
            input_schema: json!({"properties": {"path": {"x-path": "write"}}}),
            output_schema: None,
            effects: Effects::default(),
            plugin: None,
        };
        let real = |path: &str| path.replace("link", "target");
        let of = |path: &str| Footprint::of(&spec, &json!({ "path": path }), real);
        assert_eq!(plan(&[of("link/a"), of("target/a")]).waits[1].len(), 1);
    }
}
