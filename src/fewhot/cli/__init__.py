"""The command line: parse, call, print one line a person can act on."""


def main() -> None:
    """Run the program ``fewhot``."""
    import sys

    try:
        from fewhot.cli.app import run

        run()
    except KeyboardInterrupt:  # before a command had begun
        sys.stderr.write("fewhot: Interrupted before it began; nothing was written.\n")
        sys.exit(130)
