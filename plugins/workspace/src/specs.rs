//! The six tools as the model sees them.
//!
//! Every request of a run carries these texts, so each word is weighed: the name and the schema
//! say what they can, the description only what they cannot.

use clawhold_sdk::Tool;

/// The tools, in the order in which they are offered.
pub fn tools() -> Vec<Tool> {
    vec![
        Tool::new(
            "read_file",
            "Reads a text file, up to 32 KiB at a time; a note at the end says which lines came and how to go on. UTF-16, GB18030 and Latin-1 are recognised. Binary files are refused.",
            READ,
        )
        .title("Read a file")
        .read_only()
        .idempotent(),
        Tool::new(
            "write_file",
            "Creates a file or replaces all of it; missing folders are made. To change a part of a file use edit_file.",
            WRITE,
        )
        .title("Write a file")
        .destructive()
        .idempotent(),
        Tool::new(
            "edit_file",
            "Replaces old_text by new_text in a file. old_text must occur exactly once: copy it from read_file with enough lines around it, or set replace_all. Several changes to one file: give `edits`, applied in order, all or none. Line endings, encoding and indentation are kept.",
            EDIT,
        )
        .title("Edit a file")
        .destructive(),
        Tool::new(
            "list_dir",
            "Lists a folder with kinds and sizes. Hidden and git-ignored entries only with `all`.",
            LIST,
        )
        .title("List a folder")
        .read_only()
        .idempotent(),
        Tool::new(
            "glob",
            "Finds files by name, such as `**/*.rs` or `src/{a,b}*.py`. Git-ignored files are left out.",
            GLOB,
        )
        .title("Find files")
        .read_only()
        .idempotent(),
        Tool::new(
            "grep",
            "Searches file contents by a regular expression (Rust syntax, no lookaround) and gives path:line:text. Git-ignored, binary and secret-looking files are left out.",
            GREP,
        )
        .title("Search in files")
        .read_only()
        .idempotent(),
    ]
}

const READ: &str = r#"{"type":"object","properties":{"path":{"type":"string","x-path":"read"},"offset":{"type":"integer","minimum":1,"description":"first line, from 1"},"limit":{"type":"integer","minimum":1,"description":"number of lines"},"encoding":{"type":"string","description":"instead of guessing: utf-8, gb18030, latin1, shift_jis, …"},"from_byte":{"type":"integer","minimum":0,"description":"start here and count lines from here; for huge files and lines"}},"required":["path"],"additionalProperties":false}"#;

const WRITE: &str = r#"{"type":"object","properties":{"path":{"type":"string","x-path":"write"},"content":{"type":"string"}},"required":["path","content"],"additionalProperties":false}"#;

const EDIT: &str = r#"{"type":"object","properties":{"path":{"type":"string","x-path":"write"},"old_text":{"type":"string"},"new_text":{"type":"string"},"replace_all":{"type":"boolean"},"edits":{"type":"array","minItems":1,"items":{"type":"object","properties":{"old_text":{"type":"string"},"new_text":{"type":"string"},"replace_all":{"type":"boolean"}},"required":["old_text","new_text"],"additionalProperties":false}}},"required":["path"],"additionalProperties":false}"#;

const LIST: &str = r#"{"type":"object","properties":{"path":{"type":"string","x-path":"read","description":"default ."},"depth":{"type":"integer","minimum":1,"description":"levels, default 1"},"all":{"type":"boolean"}},"additionalProperties":false}"#;

const GLOB: &str = r#"{"type":"object","properties":{"pattern":{"type":"string","description":"relative to path"},"path":{"type":"string","x-path":"read","description":"default ."},"sort":{"enum":["name","mtime"],"description":"mtime: newest first"}},"required":["pattern"],"additionalProperties":false}"#;

const GREP: &str = r#"{"type":"object","properties":{"pattern":{"type":"string"},"path":{"type":"string","x-path":"read","description":"file or folder, default ."},"glob":{"type":"string","description":"only such files, e.g. *.rs or !*.lock"},"context":{"type":"integer","minimum":0,"maximum":20,"description":"lines around each match"},"case":{"enum":["smart","sensitive","insensitive"]},"multiline":{"type":"boolean","description":"let matches span lines"},"limit":{"type":"integer","minimum":1,"maximum":2000,"description":"matches, default 200"}},"required":["pattern"],"additionalProperties":false}"#;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::{Value, json};

    /// The first request of a run holds the tools and the system prompt in 6 KB.
    #[test]
    fn the_tools_of_a_request_stay_small() {
        let request: Vec<Value> = tools()
            .iter()
            .map(|tool| {
                let spec = tool.spec();
                let schema: Value = serde_json::from_str(&spec.input_schema).unwrap();
                json!({"type": "function", "function": {
                    "name": spec.name, "description": spec.description, "parameters": schema,
                }})
            })
            .collect();
        let size = serde_json::to_string(&request).unwrap().len();
        assert!(size < 4200, "{size} bytes");
    }

    #[test]
    fn req_087_every_schema_names_its_paths_and_refuses_strangers() {
        for tool in tools() {
            let spec = tool.spec();
            let schema: Value = serde_json::from_str(&spec.input_schema).unwrap();
            assert_eq!(schema["additionalProperties"], false, "{}", spec.name);
            assert!(schema["properties"]["path"]["x-path"].is_string(), "{}", spec.name);
        }
    }
}
