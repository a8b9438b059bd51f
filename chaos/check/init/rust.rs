//! Stands for your handler under `quern check`: the effect sink does the work, and says how it went.
//! Nothing but the standard library; with the HTTP crate of your project it is shorter.
use std::io::{Error, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Takes the text of a message. On Ok delete the message, on Err leave it.
pub fn handle(body: &str) -> Result<(), Error> {
    let sink = std::env::var("QUERN_SINK_URL").map_err(Error::other)?;
    let mut stream = TcpStream::connect(sink.trim_start_matches("http://"))?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let length = body.len();
    write!(stream, "POST /v1/handle HTTP/1.0\r\nContent-Length: {length}\r\n\r\n{body}")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    match answer.split(' ').nth(1) {
        Some("200") => Ok(()),
        _ => Err(Error::other(answer)),
    }
}
