import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "bench"), str(TESTS / "cli"), str(TESTS / "cases")]
