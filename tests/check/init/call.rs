mod quern_adapter;

fn main() {
    let body = std::io::read_to_string(std::io::stdin()).unwrap();
    match quern_adapter::handle(&body) {
        Ok(()) => println!("done"),
        Err(reason) => println!("left {reason}"),
    }
}
