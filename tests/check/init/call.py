"""Works on one body, its input."""
import sys

import quern_adapter

try:
    quern_adapter.handle(sys.stdin.read())
except OSError as reason:
    print("left:", reason, file=sys.stderr)
    sys.exit(75)
