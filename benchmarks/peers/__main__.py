"""``python -m benchmarks.peers`` compares on every problem; their names select some."""

import argparse
import importlib

PROBLEMS = ("local_scores", "optimum", "credible", "posterior")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problems", nargs="*", help=", ".join(PROBLEMS))
    problems = parser.parse_args().problems or PROBLEMS
    for problem in problems:
        if problem not in PROBLEMS:
            parser.error(f"{problem!r} is no problem of these; choose from {', '.join(PROBLEMS)}")
        importlib.import_module(f"benchmarks.peers.{problem}").main()


if __name__ == "__main__":
    main()
