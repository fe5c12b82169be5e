"""The entry point of the `slipstream` command, with quiet Ctrl-C during imports."""

import sys


def main() -> int:
    """Run the command and return its exit code."""
    try:
        from mlx_engine.cli import main as cli

        return cli.main()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
