//! File operations through the standard library, one for each `op`, reported as the guest sees
//! them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};

use clawhold_sdk::failure::failure;
use clawhold_sdk::{Args, Failure, FailureCode, Reply};

pub(crate) fn run(mut args: Args) -> Result<Reply, Failure> {
    let op = args.text("op")?;
    let path = args.text("path")?;
    let to = args.opt_text("to")?.unwrap_or_default();
    let text = args.opt_text("text")?.unwrap_or_else(|| "written by the probe".to_owned());
    let n = args.opt_whole("n")?.unwrap_or(0);
    let done = attempt(&op, &path, &to, &text, n);
    match done {
        Ok(said) => Ok(Reply::text(said)),
        Err(error) => {
            Err(failure(FailureCode::Failed, format!("{op} `{path}`: {:?} {error}", error.kind())))
        }
    }
}

fn attempt(op: &str, path: &str, to: &str, text: &str, n: u64) -> io::Result<String> {
    let done = |()| "done".to_owned();
    match op {
        "read" => {
            let mut bytes = Vec::new();
            File::open(path)?.take(1 << 20).read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        }
        "write" => fs::write(path, text).map(done),
        "append" => OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)?
            .write_all(text.as_bytes())
            .map(done),
        "create_new" => OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(path)?
            .write_all(text.as_bytes())
            .map(done),
        // As careful programs replace a file: beside it, then over it.
        "replace" => {
            fs::write(to, text)?;
            fs::rename(to, path).map(done)
        }
        "temporary" => {
            OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(path)?
                .write_all(text.as_bytes())?;
            panic!("dies with its temporary file still there")
        }
        "truncate" => {
            OpenOptions::new().write(true).truncate(true).open(path).map(|_| "done".to_owned())
        }
        "set_len" => OpenOptions::new().write(true).open(path)?.set_len(n).map(done),
        // A hole and then one byte: what is written is small, where it is written is not.
        "write_at" => {
            let mut file = OpenOptions::new().write(true).open(path)?;
            file.seek(SeekFrom::Start(n))?;
            file.write_all(b"x").map(done)
        }
        "fill" => {
            let mut file = File::create(path)?;
            let block = vec![b'x'; 1 << 16];
            for _ in 0..n {
                file.write_all(&block)?;
            }
            Ok("done".to_owned())
        }
        "remove" => fs::remove_file(path).map(done),
        "mkdir" => fs::create_dir(path).map(done),
        "rmdir" => fs::remove_dir(path).map(done),
        "rename" => fs::rename(path, to).map(done),
        "hard_link" => fs::hard_link(path, to).map(done),
        #[expect(deprecated, reason = "the one name of it that is stable here")]
        "symlink" => fs::soft_link(path, to).map(done),
        "read_link" => fs::read_link(path).map(|target| target.display().to_string()),
        "stat" => {
            let metadata = fs::metadata(path)?;
            Ok(format!("{} bytes, dir {}", metadata.len(), metadata.is_dir()))
        }
        "list" => {
            let mut names = Vec::new();
            for entry in fs::read_dir(path)? {
                let entry = entry?;
                let kind = entry.file_type()?;
                names.push(format!(
                    "{}{}",
                    entry.file_name().to_string_lossy(),
                    if kind.is_dir() { "/" } else { "" }
                ));
            }
            names.sort();
            Ok(names.join("\n"))
        }
        "hold" => {
            let mut held = Vec::new();
            for _ in 0..n {
                held.push(File::open(path)?);
            }
            Ok(format!("holds {}", held.len()))
        }
        // Opens a folder's file twice by way of one path, with a pause in which a test changes
        // the world.
        "write_many" => {
            let mut results = [0_u32; 2];
            for round in 0..n {
                let result = fs::write(path, format!("{text} {round}"));
                results[usize::from(result.is_ok())] += 1;
            }
            Ok(format!("{} failed, {} done", results[0], results[1]))
        }
        other => Err(io::Error::other(format!("no such op `{other}`"))),
    }
}
