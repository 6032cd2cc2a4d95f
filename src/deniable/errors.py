"""The one family of errors that a user is meant to read.

Every message names the place (file, column, category, option), the offending value and the remedy.
"""


class DeniableError(ValueError):
    """Something that a user can mend: the message says what, where and how."""


class DataError(DeniableError):
    """A data file, or a value in one, that cannot be used as it is."""


class ChannelError(DeniableError):
    """A matrix that is no channel, or counts and codes that do not fit one."""


class SingularChannelError(ChannelError):
    """A channel that erases what would have to be estimated."""


class ConfigError(DeniableError):
    """A config with faults; the message has a line for each of them."""
