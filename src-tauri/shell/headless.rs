//! The program `tillgate`.

fn main() -> std::process::ExitCode {
    tillgate_cli::main()
}
