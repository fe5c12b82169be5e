"""The app's entry point.

A bundle contains no other executable, so the self-test and child processes start here too. Neither imports Qt, because a build
machine may have no display.
"""

import os
import signal
import sys
import traceback

CHILDREN = "mlx_engine."  # modules that may run as a child process


def main(arguments: list[str] | None = None) -> int:
    """Run the app, the self-test or a child process, and return the exit status."""
    # Python ignores these itself, but not if its host turns signal handling off, as the bundle's launcher does
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # writing is an error then, and doesn't end the process
        signal.signal(number, signal.SIG_IGN)
    arguments = sys.argv[1:] if arguments is None else arguments
    match arguments:
        case ["--selftest", *options]:
            from app.selftest import run_selftest

            return run_selftest(options)
        case ["--child", module, *rest] if module.startswith(CHILDREN):
            return run_child(module, rest)
        case ["--child", *_]:
            print("--child requires a module of mlx_engine.", file=sys.stderr)
            return 2
    from app.system import data_paths
    from app.text import language

    language.start(data_paths.find().settings_file)
    from app.application import run

    return run([sys.argv[0], *arguments])


def run_child(module: str, arguments: list[str]) -> int:
    """Run a module like `python -m`, and return its exit status.

    An exception is printed and ends the process immediately, whatever its other threads do. If it reached the bundle's launcher,
    the launcher would show an alert and wait for a click.
    """
    import runpy

    sys.argv = [module, *arguments]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
