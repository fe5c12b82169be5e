"""Errors that are told to a person."""


class UserError(Exception):
    """What went wrong, why, and what to do, in sentences shown as they are. Bugs are not wrapped: they keep their traceback."""
