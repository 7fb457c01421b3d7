//! A language model that follows scripts: `scripted-model FOLDER` serves the files `<script>.json` of a folder. It prints its
//! address, then a line for each request, and ends with its standard input. How scripts look is said in
//! `src/model/script.rs`; agents are given `<address>/<script>` as the address of their model.

use std::error::Error;
use std::io::{self, Write as _};
use std::net::TcpListener;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).ok_or("usage: scripted-model FOLDER")?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    writeln!(io::stdout(), "http://{}", listener.local_addr()?)?;
    let out = Box::new(io::stdout());
    std::thread::spawn(move || team_executor_testkit::serve_model(&listener, folder.into(), out));
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}
