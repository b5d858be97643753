"""Where rows come from: one module per kind of frame or file."""

from discreet.data.sources.opening import is_frame, open_source
from discreet.data.sources.source import Source

__all__ = ["Source", "is_frame", "open_source"]
