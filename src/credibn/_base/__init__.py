"""What every stage may use: atomic writes, checks of arguments, text, the version."""
