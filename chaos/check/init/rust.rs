//! Stands for your handler under `quern check`: the effect sink does the work, and says how it went.
//! Nothing but the standard library; with the HTTP and JSON crates of your project it is shorter.
use std::io::{Error, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Takes the text of a message. On Ok delete the message, on Err leave it.
pub fn handle(body: &str) -> Result<(), Error> {
    let key = find(body, "\"idempotencyKey\":\"");
    let id = find(body, "\"payload\":{\"id\":\"");
    let (Some(key), Some(id), true) = (key, id, body.ends_with('}')) else {
        // Not ours: can never succeed; do here what you do with such. Recorded before it is deleted.
        return done(post("/v1/rejects", body, "")?);
    };
    if !body.contains("\"schemaVersion\":1,") {
        return Err(Error::other("a version that this build does not know"));
    }
    let mut status = post("/v1/effects", body, key)?;
    if status == 422 {
        // Never; recorded before the message is deleted.
        status = post("/v1/rejects", &format!("{{\"id\":\"{id}\",\"reason\":\"permanent\"}}"), "")?;
    }
    done(status)
}

fn done(status: u16) -> Result<(), Error> {
    match status {
        200 => Ok(()),
        _ => Err(Error::other(format!("status {status}"))), // may succeed later
    }
}

fn find<'a>(body: &'a str, before: &str) -> Option<&'a str> {
    body.split_once(before).and_then(|(_, rest)| rest.split('"').next())
}

fn post(path: &str, body: &str, key: &str) -> Result<u16, Error> {
    let sink = std::env::var("QUERN_SINK_URL").map_err(Error::other)?;
    let host = sink.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let key = if key.is_empty() { String::new() } else { format!("Idempotency-Key: {key}\r\n") };
    let length = body.len();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\
         Content-Type: application/json\r\n{key}Content-Length: {length}\r\n\r\n{body}"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let status = answer.split(' ').nth(1).and_then(|word| word.parse().ok());
    status.ok_or_else(|| Error::other("no answer"))
}
