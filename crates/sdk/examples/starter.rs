//! A whole extension: it keeps the agent from deleting the disk.

use std::process::ExitCode;

use reasonix_extension_sdk::{Extension, Ruling, hooks::ToolBefore};

fn main() -> ExitCode {
    Extension::new("starter", "1.0.0")
        .on::<ToolBefore, _, _>(|call, _host| async move {
            if call.name == "bash" && call.arguments.contains("rm -rf /") {
                return Ok(Ruling::block("this would delete everything"));
            }
            Ok(Ruling::proceed())
        })
        .run()
}
