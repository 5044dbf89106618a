"""``python -m credibn``: the command line of this very interpreter."""

from credibn_command import main

if __name__ == "__main__":
    main()
