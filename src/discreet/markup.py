"""Small pieces of HTML for notebooks: calm, escaped, in the colours of the page around them.

What is put in is escaped, unless it is ``Html`` already. There is no style sheet, which notebooks
would share between outputs or strip: rules are grey and half clear, letters have the page's colour.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

_RULE = "1px solid rgba(128,138,156,.35)"
_ACCENT = "#1a7fb0"
_CELL = f"text-align:left;vertical-align:top;padding:3px 14px 3px 0;border-bottom:{_RULE}"
_SHORT = 24
"""Cells of so many letters are never broken into lines."""


class Html(str):
    """A text that is HTML already, to templates too."""

    def __html__(self) -> str:
        return str(self)


def text(value: Any) -> Html:
    """Return a value as HTML; ``Html`` stays as it is.

    >>> text("<b>")
    '&lt;b&gt;'
    """
    return value if isinstance(value, Html) else Html(html.escape(str(value)))


def card(*parts: Any, title: Any = None) -> Html:
    """Return parts one below the other, with a heading."""
    head = (
        "" if title is None else f'<div style="font-weight:600;margin-bottom:2px">{text(title)}</div>'
    )
    body = "".join(f"<div>{text(part)}</div>" for part in parts if part is not None)
    return Html(
        f'<div style="max-width:46em;line-height:1.5;padding:2px 0;font-size:13px">{head}{body}</div>'
    )


def soft(value: Any) -> Html:
    """Return a side remark."""
    return Html(f'<span style="opacity:.72;font-size:12px">{text(value)}</span>')


def table(head: Sequence[Any], rows: Iterable[Sequence[Any]]) -> Html:
    """Return a table that scrolls if it is wide."""
    names = "".join(f'<th style="{_CELL};opacity:.72">{text(name)}</th>' for name in head)
    lines = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return Html(
        '<div style="overflow-x:auto">'
        '<table style="border-collapse:collapse;font-size:12px;margin:4px 0">'
        f"<tr>{names}</tr>{lines}</table></div>"
    )


def _cell(value: Any) -> str:
    broken = "normal" if len(str(value)) > _SHORT else "nowrap"
    return f'<td style="{_CELL};white-space:{broken}">{text(value)}</td>'


def bar(share: float, words: str) -> Html:
    """Return how much of a whole is gone, as a bar."""
    percent = 100 * min(1.0, max(0.0, share))
    return Html(
        f'<div role="img" aria-label="{text(words)}" style="height:9px;border-radius:5px;'
        'background:rgba(128,138,156,.3);overflow:hidden;margin:5px 0;max-width:30em">'
        f'<div style="height:100%;width:{percent:.1f}%;background:{_ACCENT}"></div></div>'
    )


def fold(summary: Any, body: Any) -> Html:
    """Return something that opens when its summary is clicked."""
    head = f'<summary style="cursor:pointer;color:{_ACCENT}">{text(summary)}</summary>'
    return Html(f'<details style="font-size:12px">{head}{text(body)}</details>')
