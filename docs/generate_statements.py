"""Write the statements of docs/theory in brief for reports; ``--check`` says whether they are old."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

THEORY = Path(__file__).parent / "theory"
FILE = Path(__file__).parents[1] / "src" / "discreet" / "privacy" / "statements.json"
LONGEST = 700


def render() -> str:
    """Return every statement: what it says, its status and the page that proves it."""
    found = {}
    for page in sorted(THEORY.glob("*.md")):
        for entry in re.split(r"^### ", page.read_text(), flags=re.M)[1:]:
            name, body = entry.split("\n", 1)
            said, status = re.split(r"\*Status: (proven|cited)\*", body, maxsplit=1)[:2]
            found[name] = {"says": _brief(said), "status": status, "page": f"docs/theory/{page.name}"}
    return json.dumps(dict(sorted(found.items())), indent=1, ensure_ascii=False) + "\n"


def _brief(markdown: str) -> str:
    """Return a statement as plain sentences, without its tables, ended where it gets long."""
    lines = [line for line in markdown.splitlines() if not line.startswith("|")]
    plain = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", " ".join(" ".join(lines).split()))
    text = re.sub(r"\*\*|`|(?<![\w*])\*(?=\S)|(?<=\S)\*(?![\w*])", "", plain)
    if len(text) <= LONGEST:
        return text
    end = max(text.rfind(mark, 0, LONGEST) for mark in (". ", ": ", "; "))
    return f"{text[:end].rstrip(' .:;')} …"


def main() -> None:
    """Write the file, or compare it."""
    if "--check" in sys.argv:
        sys.exit(FILE.read_text() != render())
    FILE.write_text(render())


if __name__ == "__main__":
    main()
