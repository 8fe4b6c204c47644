//! The `claw` program.

use std::process::ExitCode;

#[allow(clippy::print_stderr, reason = "the compiling child has no other voice")]
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
    // And it runs commands in a child of itself, which stands inside the sandbox.
    if std::env::args_os().nth(1).is_some_and(|word| word == clawhold::shell::RUNNER_ARGUMENT) {
        clawhold::shell::runner_main();
        return ExitCode::SUCCESS;
    }
    clawhold::cli::main()
}
