"""The window, and the bundle's entry.

In a bundle this is the only program there is, so the self-test and child processes come through here too. They are told apart
before Qt is imported: they need no window, and a machine that builds bundles may have none.
"""

import sys

CHILDREN = ("mlx_engine.", "app.conversations.pdf_pages")  # a child may only be one of the engine's own modules, or this one


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    match arguments:
        case ["--selftest", *options]:
            from app.selftest import run_selftest

            return run_selftest(options)
        case ["--child", module, *rest] if module.startswith(CHILDREN):
            return run_child(module, rest)
        case ["--child", *_]:
            print("--child needs the name of a module of mlx_engine, or app.conversations.pdf_pages.", file=sys.stderr)
            return 2
    from app import data_paths, language

    language.start(data_paths.find().settings_file)
    from app.application import run

    return run([sys.argv[0], *arguments])


def run_child(module: str, arguments: list[str]) -> int:
    """Run a module as `python -m` would."""
    import runpy

    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
