mod quern_adapter;

fn main() {
    let body = std::io::read_to_string(std::io::stdin()).unwrap();
    if let Err(reason) = quern_adapter::handle(&body) {
        eprintln!("left: {reason}");
        std::process::exit(75);
    }
}
