"""Self-contained HTML pages of releases."""

from discreet.report.page import Page, report

__all__ = ["Page", "report"]
