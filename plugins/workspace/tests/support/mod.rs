//! A folder to work in, and calls as the host makes them.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::missing_panics_doc)]

use std::path::Path;

use clawhold_sdk::{Args, Failure, Plugin, Reply};
use clawhold_workspace::Workspace;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder of one test, gone at its end.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    /// The full path of `name`. Natively there is no host to make paths relative.
    pub fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    pub fn put(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub fn get(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// Runs a tool whose `path` is relative to this folder.
    pub fn call(&self, tool: &str, mut args: Value) -> Result<Reply, Failure> {
        let path = args["path"].as_str().unwrap_or("").to_owned();
        args["path"] = json!(self.path(&path));
        call(tool, &args)
    }

    /// The text of a reply, with this folder cut out of its paths.
    pub fn text(&self, tool: &str, args: Value) -> String {
        let reply = self.call(tool, args).unwrap_or_else(|failure| panic!("{failure:?}"));
        let root = format!("{}/", self.0.path().display());
        reply.to_text().replace(&root, "")
    }

    /// The failure of a call, as one text.
    pub fn failure(&self, tool: &str, args: Value) -> String {
        let failure = self.call(tool, args).expect_err("must fail");
        let root = format!("{}/", self.0.path().display());
        format!("{}\n{}", failure.message, failure.hint.unwrap_or_default()).replace(&root, "")
    }

    /// The names in this folder.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(self.0.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

/// Runs a tool.
pub fn call(tool: &str, args: &Value) -> Result<Reply, Failure> {
    Workspace::call(tool, Args::parse(&args.to_string())?)
}

/// The text of the first piece of a reply.
pub fn first(reply: &Reply) -> &str {
    match &reply.content()[0].payload {
        clawhold_sdk::Payload::Text(text) => text,
        other => panic!("{other:?}"),
    }
}
