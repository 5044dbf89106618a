"""``python -m benchmarks.peers`` asks every question; their names select some."""

import argparse
import importlib

QUESTIONS = ("local_scores", "optimum", "credible", "posterior")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("questions", nargs="*", help=", ".join(QUESTIONS))
    questions = parser.parse_args().questions or QUESTIONS
    for question in questions:
        if question not in QUESTIONS:
            parser.error(f"{question!r} is no question; choose from {', '.join(QUESTIONS)}")
        importlib.import_module(f"benchmarks.peers.{question}").main()


if __name__ == "__main__":
    main()
