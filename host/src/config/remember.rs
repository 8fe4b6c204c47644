//! Adding rules to the user's config.toml, with everything else in it left as it stands.

use std::io::Write as _;
use std::path::Path;

use toml_edit::{ArrayOfTables, DocumentMut, Item, Table};

use crate::shell::RuleText;

/// Appends `rules` to `[[bash.allow]]` of `file`, which is made if it is missing. The file is
/// exchanged whole, so a crash leaves the old or the new one. An error is one sentence.
pub fn remember_rules(file: &Path, rules: &[RuleText]) -> Result<(), String> {
    let failed = |what: &str, error: &dyn std::fmt::Display| {
        format!("`{}` cannot be {what}: {error}", file.display())
    };
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(failed("read", &error)),
    };
    let mut document: DocumentMut = text.parse().map_err(|error| failed("understood", &error))?;
    let bash = document.entry("bash").or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let allow = bash.as_table_like_mut().map(|bash| {
        bash.entry("allow").or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()))
    });
    let Some(Item::ArrayOfTables(allow)) = allow else {
        return Err(failed("added to", &"`bash.allow` is not written as `[[bash.allow]]`"));
    };
    for rule in rules {
        let text = toml::to_string(rule).map_err(|error| failed("added to", &error))?;
        let table: DocumentMut = text.parse().map_err(|error| failed("added to", &error))?;
        allow.push(table.as_table().clone());
    }
    replace(file, &document.to_string()).map_err(|error| failed("written", &error))
}

fn replace(file: &Path, text: &str) -> std::io::Result<()> {
    use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
    // Behind a link the file itself is exchanged, not the link.
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let folder = real.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mode = real.metadata().map_or(0o600, |meta| meta.permissions().mode() & 0o777);
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    let new = folder.join(format!(".{name}.{}", std::process::id()));
    let written =
        std::fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&new).and_then(
            |mut to| {
                to.write_all(text.as_bytes())?;
                to.sync_all()
            },
        );
    let result = written.and_then(|()| std::fs::rename(&new, &real));
    if result.is_err() {
        // Nothing is lost with it.
        let _ = std::fs::remove_file(&new);
    }
    result
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::shell::Operands;

    fn rule(program: &str, args: &[&str]) -> RuleText {
        RuleText {
            program: program.into(),
            args: args.iter().map(|a| (*a).to_owned()).collect(),
            operands: Operands::None,
            needs_sandbox: true,
            ..RuleText::default()
        }
    }

    #[test]
    fn a_rule_is_added_and_the_rest_stays() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.toml");
        std::fs::write(&file, "# mine\nmodel = \"a/b\"  # why\n\n[bash]\nnetwork = true\n")
            .unwrap();
        remember_rules(&file, &[rule("git", &["push", "a \"b\""])]).unwrap();
        remember_rules(&file, &[rule("make", &[])]).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(
            text.starts_with("# mine\nmodel = \"a/b\"  # why\n\n[bash]\nnetwork = true\n"),
            "{text}"
        );
        let read: toml::Table = text.parse().unwrap();
        let allow = read["bash"]["allow"].as_array().unwrap();
        assert_eq!(allow.len(), 2);
        assert_eq!(allow[0]["args"][1].as_str(), Some("a \"b\""));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn a_missing_file_is_made_and_a_broken_one_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("new/config.toml");
        remember_rules(&file, &[rule("ls", &[])]).unwrap();
        assert!(std::fs::read_to_string(&file).unwrap().starts_with("[[bash.allow]]"));
        for text in ["[bash", "bash = 1", "[bash]\nallow = 3"] {
            std::fs::write(&file, text).unwrap();
            assert!(remember_rules(&file, &[rule("ls", &[])]).is_err(), "{text}");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
        }
    }
}
