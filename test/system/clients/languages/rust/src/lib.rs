//! What the programs of all Rust clients share: the servers' addresses and keys, and the line for each check.

use serde_json::{Value, json};
use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures::FutureExt;

/// A variable that the test sets, such as `SIGNALBOX_URL` or `EMPTY_KEY`.
pub fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

/// The usage of one call, as the client showed it, with `platform` where the client shows it.
pub fn usage(input: u64, output: u64, platform: Option<&Value>) -> Value {
    match platform {
        None => json!({ "input": input, "output": output }),
        Some(platform) => {
            let credits = platform["credits_consumed"].as_f64();
            json!({ "input": input, "output": output, "credits": credits.expect("credits_consumed") })
        }
    }
}

/// Runs checks, and remembers whether one failed.
#[derive(Default)]
pub struct Checks {
    failed: bool,
}

impl Checks {
    /// Runs a check, and prints its line. The check returns the usage of its calls with `SIGNALBOX_KEY`, and panics if it fails.
    pub async fn check(&mut self, name: &str, run: impl Future<Output = Vec<Value>>) {
        match AssertUnwindSafe(run).catch_unwind().await {
            Ok(usage) => println!("{}", json!({ "check": name, "usage": usage })),
            Err(_) => {
                eprintln!("{name} failed");
                self.failed = true;
            }
        }
    }

    /// Ends the program: with 1 if a check failed.
    pub fn finish(self) -> ! {
        std::process::exit(self.failed.into())
    }
}
