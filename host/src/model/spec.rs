//! What a tool says of itself.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One tool as the model sees it, and as the scheduler reads it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    pub name: String,
    #[serde(default)]
    pub title: Option<String>,
    pub description: String,
    /// JSON Schema (draft 2020-12) of type `object`.
    pub input_schema: Value,
    #[serde(default)]
    pub output_schema: Option<Value>,
    #[serde(default)]
    pub effects: Effects,
    /// The plugin it comes from; none for the host's own tools.
    #[serde(default)]
    pub plugin: Option<String>,
}

/// What a call may do. Unset is the cautious reading. In JSON: the list of the names that hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<String>", into = "Vec<&'static str>")]
pub struct Effects {
    pub read_only: bool,
    pub destructive: bool,
    pub idempotent: bool,
    pub open_world: bool,
}

impl Effects {
    pub const READ_ONLY: Self =
        Self { read_only: true, destructive: false, idempotent: true, open_world: false };

    /// The names of the flags that hold, in the contract's spelling and order.
    pub fn names(self) -> Vec<&'static str> {
        [
            (self.read_only, "read-only"),
            (self.destructive, "destructive"),
            (self.idempotent, "idempotent"),
            (self.open_world, "open-world"),
        ]
        .into_iter()
        .filter_map(|(set, name)| set.then_some(name))
        .collect()
    }
}

impl From<Effects> for Vec<&'static str> {
    fn from(effects: Effects) -> Self {
        effects.names()
    }
}

impl From<Vec<String>> for Effects {
    fn from(names: Vec<String>) -> Self {
        let has = |name: &str| names.iter().any(|n| n == name);
        Self {
            read_only: has("read-only"),
            destructive: has("destructive"),
            idempotent: has("idempotent"),
            open_world: has("open-world"),
        }
    }
}

/// What a call does with a path among its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathUse {
    Read,
    Write,
}

/// The properties of an input schema that carry `x-path`, in the schema's order.
pub fn x_paths(input_schema: &Value) -> impl Iterator<Item = (&str, PathUse)> {
    let properties = input_schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().filter_map(|(name, schema)| {
        match schema.get("x-path").and_then(Value::as_str)? {
            "read" => Some((name.as_str(), PathUse::Read)),
            "write" => Some((name.as_str(), PathUse::Write)),
            _ => None,
        }
    })
}
