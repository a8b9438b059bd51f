import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from exchange.fixtures import clients, servers  # noqa: E402, F401
