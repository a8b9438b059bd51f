import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "cases"), str(TESTS / "consumers")]
