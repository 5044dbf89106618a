"""The command line: a shell around the library, with no algorithm in it."""
