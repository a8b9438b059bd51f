"""What the wire tests share: a real server process, both protocols, and the language of the case files."""
