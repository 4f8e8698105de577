//! The command `extension-protocol-gen`.

use std::process::ExitCode;

fn main() -> ExitCode {
    extension_protocol_gen::cli::main(std::env::args_os()).into()
}
