"""``preflight`` and ``python -m preflight``: nothing is imported before an interrupt is caught."""

import sys


def main() -> None:
    """Run the command line; an interrupt while it is being imported is an interrupt too."""
    try:
        from preflight.cli import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
