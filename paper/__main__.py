"""``python -m paper``."""

from paper.cli import main

if __name__ == "__main__":
    main()
