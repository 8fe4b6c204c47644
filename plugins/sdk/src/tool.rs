//! One tool as a plugin declares it.

use crate::bindings::clawhold::tool::types::{Effects, ToolSpec};

/// A tool: its name, what the model is told of it, its arguments and what it may do.
///
/// Without a word on its effects a tool is taken to write, and then runs alone on the paths that
/// it names.
#[derive(Debug, Clone)]
pub struct Tool {
    spec: ToolSpec,
}

impl Tool {
    /// `schema` is a JSON Schema (draft 2020-12) of type `object`; a property that names a file
    /// or folder carries `"x-path": "read"` or `"write"`.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        schema: impl Into<String>,
    ) -> Self {
        Self {
            spec: ToolSpec {
                name: name.into(),
                title: None,
                description: description.into(),
                input_schema: schema.into(),
                output_schema: None,
                effects: Effects::empty(),
                meta: None,
            },
        }
    }

    /// A name for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.spec.title = Some(title.into());
        self
    }

    /// The schema that [`crate::Reply::structured`] follows.
    #[must_use]
    pub fn output_schema(mut self, schema: impl Into<String>) -> Self {
        self.spec.output_schema = Some(schema.into());
        self
    }

    /// Changes nothing that outlives the call. The host holds a tool to it: its folders are
    /// read-only.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.spec.effects = self.spec.effects | Effects::READ_ONLY;
        self
    }

    /// May lose something that was there before.
    #[must_use]
    pub fn destructive(mut self) -> Self {
        self.spec.effects = self.spec.effects | Effects::DESTRUCTIVE;
        self
    }

    /// A second call with the same arguments changes nothing more.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.spec.effects = self.spec.effects | Effects::IDEMPOTENT;
        self
    }

    /// Talks to things that the host does not see.
    #[must_use]
    pub fn open_world(mut self) -> Self {
        self.spec.effects = self.spec.effects | Effects::OPEN_WORLD;
        self
    }

    /// The record of the contract, to look at.
    pub fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// The record of the contract, to hand over.
    pub fn into_spec(self) -> ToolSpec {
        self.spec
    }
}
