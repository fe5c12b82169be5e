"""The limit of open files, which mlx-lm replaces by its own when it is imported."""

import resource

_ENOUGH = 2048  # for models with many files, connections, and child processes; a Mac's default is 256


def import_mlx_lm() -> None:
    """Import mlx-lm without its limit of files, and raise the limit if allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= soft < _ENOUGH:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(_ENOUGH, hard) if hard >= 0 else _ENOUGH, hard))
    set_limit = resource.setrlimit
    vars(resource).update(setrlimit=lambda *_: None)
    try:
        import mlx_lm.utils  # noqa: F401
    finally:
        vars(resource).update(setrlimit=set_limit)
