//! A file looked at closely: would it load, and if not, what mends it. Nothing of it is run,
//! unless the caller wants to know its tools.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use wasmtime::component::Component;

use crate::model::ToolSpec;
use crate::policy::{Manifest, sha256_hex};

use super::compile::CompileError;
use super::imports::{self, CONTRACT_VERSION, ImportState};
use super::kind::{NotAComponent, expect_component};
use super::load::{self, LoadError};
use super::{Runtime, manifest};

/// What was found out. It would load if there is no fault.
#[derive(Debug, Default)]
pub struct Inspection {
    /// What the file is, in a word or two.
    pub kind: &'static str,
    /// Bytes; none where it could not be read.
    pub size: Option<u64>,
    pub sha256: Option<String>,
    /// None where it does not compile.
    pub compile_ms: Option<u64>,
    pub imports: Vec<Import>,
    pub exports: Vec<String>,
    pub manifest: Option<Manifest>,
    /// Whether the manifest is that of the file beside it.
    pub side_car: bool,
    /// Known only where the file was run.
    pub tools: Option<Vec<ToolSpec>>,
    pub faults: Vec<Fault>,
    /// What is odd and keeps nothing from working.
    pub notes: Vec<String>,
}

/// One thing that the component wants of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    pub name: String,
    pub state: ImportState,
    /// What is wrong with it and what to do.
    pub why: Option<String>,
}

/// Why it does not load, and the command or line that mends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub what: String,
    pub mend: String,
}

/// Looks at the file at `path`, which would be the plugin `name`. With `run`, its tools are asked
/// for in a sandbox that has nothing. The cache is neither read nor written: what is said here is
/// of this file, now.
pub fn inspect(runtime: &Arc<Runtime>, path: &Path, name: &str, run: bool) -> Inspection {
    let mut found = Inspection { kind: "unreadable", ..Inspection::default() };
    let wasm = match load::read_file(runtime, path) {
        Ok(wasm) => wasm,
        Err(error) => {
            found.fault(&error, path);
            return found;
        }
    };
    found.size = Some(wasm.len() as u64);
    found.sha256 = Some(sha256_hex(&wasm));
    if let Err(kind) =
        expect_component(&wasm, wasmtime::Engine::detect_precompiled(&wasm).is_some())
    {
        found.kind = kind_word(kind);
        found.fault(&LoadError::Kind(kind), path);
        return found;
    }
    found.kind = "component";
    found.read_manifest(&wasm, path);
    let begun = Instant::now();
    match runtime.compiler.compile(&runtime.engine, &wasm) {
        Ok(code) => match load::from_code(runtime, &code) {
            Ok(component) => {
                found.compile_ms = u64::try_from(begun.elapsed().as_millis()).ok();
                found.look_inside(runtime, &component, path, name, run);
            }
            Err(error) => found.fault(&error, path),
        },
        Err(error) => found.fault(&LoadError::Compile(error), path),
    }
    found.compare_manifest();
    found
}

impl Inspection {
    pub fn would_load(&self) -> bool {
        self.faults.is_empty()
    }

    fn fault(&mut self, error: &LoadError, path: &Path) {
        self.faults.push(Fault { what: error.to_string(), mend: mend(error, path) });
    }

    fn read_manifest(&mut self, wasm: &[u8], path: &Path) {
        match manifest::beside(path) {
            Ok(manifest) => {
                self.side_car = manifest.is_some();
                self.manifest = manifest;
            }
            Err(error) => self.fault(&error, path),
        }
        match manifest::embedded(wasm) {
            Ok(Some(_)) if self.side_car => {
                self.notes.push("the side-car holds, the manifest within is not used".into());
            }
            Ok(Some(embedded)) => self.manifest = Some(embedded),
            Ok(None) => {}
            Err(error) => self.fault(&error, path),
        }
    }

    fn look_inside(
        &mut self,
        runtime: &Arc<Runtime>,
        component: &Component,
        path: &Path,
        name: &str,
        run: bool,
    ) {
        let judged = imports::judged(&runtime.engine, component);
        self.imports =
            judged.into_iter().map(|(name, state, why)| Import { name, state, why }).collect();
        self.exports = imports::exports(&runtime.engine, component);
        match load::prepare(runtime, component) {
            Ok(prepared) if run => match load::list(runtime, name, &prepared) {
                Ok(tools) => self.tools = Some(tools),
                Err(error) => self.fault(&error, path),
            },
            Ok(_) => {}
            Err(LoadError::NotAPlugin)
                if self.exports.iter().any(|e| e.starts_with("wasi:cli/run@")) =>
            {
                self.faults.push(Fault {
                    what: "it is a program of its own (`wasi:cli/run`), not a plugin".into(),
                    mend: format!("build it as a library that exports `clawhold:tool/tools@{CONTRACT_VERSION}`; in Rust: `crate-type = [\"cdylib\"]` and the `clawhold-sdk` crate"),
                });
            }
            Err(error) => self.fault(&error, path),
        }
    }

    /// A manifest that says more than the component could use, or less than it will want.
    fn compare_manifest(&mut self) {
        let Some(manifest) = &self.manifest else {
            self.notes.push("it has no manifest, so it can only read the workdir".into());
            return;
        };
        if self.compile_ms.is_none() {
            return;
        }
        let imports = |part: &str| self.imports.iter().any(|import| import.name.starts_with(part));
        let needs = &manifest.needs;
        let pairs = [
            ("directories", !needs.read.is_empty() || !needs.write.is_empty(), "wasi:filesystem/"),
            ("hosts", !needs.http.is_empty(), "wasi:http/"),
            ("variables", !needs.env.is_empty(), "wasi:cli/environment"),
            ("settings", !needs.settings.is_empty(), "clawhold:tool/host"),
        ];
        for (what, declared, import) in pairs {
            match (declared, imports(import)) {
                (true, false) => {
                    self.notes.push(format!("it declares {what}, and does not import `{import}`"));
                }
                // Languages import files and variables whether or not the program uses them.
                (false, true) if what == "hosts" => {
                    self.notes.push(format!("it imports `{import}…`, and declares no {what}"));
                }
                _ => {}
            }
        }
    }
}

fn kind_word(kind: NotAComponent) -> &'static str {
    match kind {
        NotAComponent::Empty => "empty file",
        NotAComponent::CoreModule => "core module",
        NotAComponent::Compiled => "compiled artefact",
        NotAComponent::Text => "WebAssembly text",
        NotAComponent::Elf => "native program",
        NotAComponent::Zip => "zip archive",
        NotAComponent::UnknownVersion => "WebAssembly of an unknown version",
        NotAComponent::Unknown => "not WebAssembly",
    }
}

/// Whether the compiler complains of an end that comes too early.
fn cut_off(why: &str) -> bool {
    why.contains("unexpected end") || why.contains("is out of bounds")
}

/// The command or the line that helps.
fn mend(error: &LoadError, path: &Path) -> String {
    let file = crate::text::escape_line(&path.display().to_string());
    match error {
        LoadError::Read(_) => format!("ls -l {file}"),
        LoadError::TooLarge { .. } => format!("wasm-tools strip --all {file} -o {file}"),
        LoadError::Kind(NotAComponent::CoreModule) => {
            format!(
                "wasm-tools component new {file} -o {file}   (for one that was built against `wit/`; else build for wasm32-wasip2)"
            )
        }
        LoadError::Kind(NotAComponent::Text) => format!("wasm-tools parse {file} -o {file}"),
        LoadError::Kind(NotAComponent::Compiled) => {
            "install the .wasm that it was made from".into()
        }
        LoadError::Kind(NotAComponent::Zip) => format!("unzip {file}"),
        LoadError::Kind(NotAComponent::Elf) => {
            "cargo build --release --target wasm32-wasip2".into()
        }
        LoadError::Kind(_) => "copy or download the file again".into(),
        LoadError::Compile(CompileError::Invalid(why)) if cut_off(why) => {
            "the file is cut off: copy or download it again".into()
        }
        LoadError::Compile(CompileError::Invalid(_)) => {
            format!("wasm-tools validate {file}   (says where; then build or download it again)")
        }
        LoadError::Compile(_) => {
            "raise the limit if the plugin is to be trusted, or ask its author for a smaller one"
                .into()
        }
        LoadError::Imports(_) => {
            "build it without the imports that are marked, or against the versions named".into()
        }
        LoadError::NotAPlugin => {
            format!("export `clawhold:tool/tools@{CONTRACT_VERSION}`; see docs/plugin-guide.md")
        }
        LoadError::Manifest { .. } => {
            "correct the manifest; docs/manifest.schema.json describes it".into()
        }
        LoadError::Tools(_) => "correct what `list-tools` returns".into(),
        LoadError::Unsteady => "let `list-tools` return the same each time".into(),
        LoadError::Link(_) | LoadError::Listing(_) => {
            format!("wasm-tools component wit {file}   (compare with the files in wit/)")
        }
    }
}
