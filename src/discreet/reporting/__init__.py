"""Self-contained HTML pages of releases."""

from discreet.reporting.page import Page, report

__all__ = ["Page", "report"]
