"""What pages show is compared with what comes out; what is not what comes out is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.outputs import agrees, printed_by, script_of


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        (["left epsilon=2.5, delta=1e-06"], ["left epsilon=2.5, delta=1e-06"]),
        (["curve ± 0.00248, 0.30%"], ["curve ±   0.00251, 0.31%"]),
        (["n = 1,205 on"], ["n = 1,190 on"]),
        (["[('a', 'b'), …"], ["[('a', 'b'), ('c',)]"]),
        (["first", "…", "last"], ["first", "x", "y", "last"]),
        (["first", "…"], ["first"]),
        (["a … records 20"], ["a few more records 21"]),
    ],
)
def test_alike(shown: list[str], printed: list[str]) -> None:
    assert agrees(shown, printed)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        (["['age', 'income']"], ["[1, 2]"]),
        (["epsilon=2.5"], ["epsilon=25"]),
        (["curve ± 0.00248"], ["curve ± 0.00348"]),
        (["1 of 20"], ["1 of 30"]),
        (["a"], ["a", "b"]),
        (["a", "b"], ["a"]),
        (["first", "…", "last"], ["first", "x"]),
        (["x"], []),
        (["epsilon=0.5 (pure)"], ["epsilon=0.5, delta=1e-06"]),
    ],
)
def test_not_alike(shown: list[str], printed: list[str]) -> None:
    assert not agrees(shown, printed)


def test_a_page_that_shows_something_else_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nx = 1\nprint(x)\n# > 1\n"
        "for i in range(2):\n    print(i + 7)\n    # > 7\n    # > 9\n```\n\n"
        "```python\n>>> print(5)\n5\n```\n\n```python\nassert __name__ == '__main__' and x == 1\n```\n"
    )
    right, wrong = printed_by(page, tmp_path)
    assert agrees(right.shown, right.printed) and right.first == 3
    assert not agrees(wrong.shown, wrong.printed) and wrong.printed == ["7", "8"]
    assert "5" not in script_of(page.read_text())
