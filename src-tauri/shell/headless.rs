//! The program `tillgate`.

fn main() -> std::process::ExitCode {
    tillgate_gateway::main()
}
