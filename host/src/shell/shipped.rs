//! The rules that come with the program, and what they tell about the options of programs.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::options::Options;
use super::rule::{Rule, RuleError, RuleText};
use super::selftest;

const TEXT: &str = include_str!("shipped.toml");

/// The shipped rules, compiled once.
#[derive(Debug)]
pub(super) struct Shipped {
    pub(super) rules: Vec<Rule>,
    /// By program, and by program and first argument.
    options: HashMap<(String, Option<String>), Options>,
}

impl Shipped {
    /// What is known of a program's options; of its subcommand's if that is known apart.
    pub(super) fn known(&self, program: &str, subcommand: Option<&str>) -> Option<&Options> {
        let of =
            |sub: Option<&str>| self.options.get(&(program.to_owned(), sub.map(str::to_owned)));
        subcommand.and_then(|s| of(Some(s))).or_else(|| of(None))
    }
}

/// The compiled shipped rules. Their self-tests ran.
pub(super) fn shipped() -> Result<&'static Shipped, RuleError> {
    static SHIPPED: LazyLock<Result<Shipped, RuleError>> = LazyLock::new(|| compile(TEXT));
    SHIPPED.as_ref().map_err(Clone::clone)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    allow: Vec<RuleText>,
}

fn compile(text: &str) -> Result<Shipped, RuleError> {
    let file: File = toml::from_str(text).map_err(|e| RuleError::Shipped(e.to_string()))?;
    let mut shipped = Shipped { rules: Vec::new(), options: HashMap::new() };
    for text in file.allow {
        // Here an entry that says nothing of a value means that there is none.
        let mut rule = Rule::new(text, "shipped", None)?;
        rule.options.settle();
        rule.known = true;
        selftest::run(&rule, selftest::allowed_by)?;
        let subcommands = rule.subcommands().iter().cloned().map(Some);
        for key in subcommands.chain([None]) {
            let entry = (rule.text.program.clone(), key);
            shipped.options.entry(entry).or_default().join(&rule.options);
        }
        shipped.rules.push(rule);
    }
    Ok(shipped)
}
