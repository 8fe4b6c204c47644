//! The `claw` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    // The binary compiles plugins in a child of itself, which must come up with nothing else.
    if std::env::args_os().nth(1).is_some_and(|word| word == clawhold::sandbox::CHILD_ARGUMENT) {
        return match clawhold::sandbox::child_main() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        };
    }
    clawhold::cli::main()
}
