"""A release, as the jobs that make it are told of it: without the settings of all the papers."""

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from deniable.release import AnyRelease, Release


def release_from(values: Mapping[str, Any]) -> AnyRelease:
    """Rebuild a release from its plain values."""
    release: AnyRelease = TypeAdapter(Release).validate_python(dict(values))
    return release
