//! Makes SQS calls with the AWS SDK for Rust; lines in and out as sdk_clients.py says.

mod calls;
mod wire;

use std::collections::HashMap;
use std::io::Write;

use aws_config::BehaviorVersion;
use aws_sdk_sqs::Client;
use serde_json::{json, Value};
use tokio::io::{AsyncBufReadExt, BufReader};

use wire::Trouble;

/// Without TLS, since the tests speak plain HTTP and its library takes minutes to build.
async fn client_of(endpoint: &str) -> Client {
    let http = aws_smithy_http_client::Builder::new().build_http();
    let config = aws_config::defaults(BehaviorVersion::latest()).http_client(http);
    Client::new(&config.endpoint_url(endpoint).load().await)
}

fn say(line: &Value) {
    let mut out = std::io::stdout().lock();
    let written = writeln!(out, "{line}").and_then(|()| out.flush());
    written.expect("whoever asked reads the answers");
}

async fn answer(client: Client, request: Value) {
    let action = request["action"].as_str().unwrap_or_default();
    let reply = calls::answer(&client, action, &request["members"]).await;
    let mut reply = reply.unwrap_or_else(|trouble| match trouble {
        Trouble::Lacks(what) => json!({ "lacks": what }),
        Trouble::Broken(what) => json!({ "broken": what }),
    });
    reply["id"] = request["id"].clone();
    say(&reply);
}

#[tokio::main]
async fn main() {
    say(&json!({"client": format!("aws-sdk-sqs {}", aws_sdk_sqs::meta::PKG_VERSION)}));
    let mut clients = HashMap::new();
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let request: Value = serde_json::from_str(&line).expect("each line is JSON");
        let endpoint = request["endpoint"].as_str().unwrap_or_default().to_owned();
        if !clients.contains_key(&endpoint) {
            clients.insert(endpoint.clone(), client_of(&endpoint).await);
        }
        tokio::spawn(answer(clients[&endpoint].clone(), request));
    }
    std::process::exit(0); // also when a poll is still under way
}
