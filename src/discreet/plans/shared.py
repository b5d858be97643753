"""Questions in two steps, the first of which all groups share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from discreet.plans.plan import Perturbation, Program, Releaser, Stage


@dataclass(frozen=True)
class Shared:
    """What is asked of all records first, because what is asked then follows from it.

    Groups of records share it: it is asked once, and the question after it of every group.

    Args:
      stages: asked first.
      rest: the question after it, as it is priced.
      ask: asks for the stages, and returns the question that follows from their answers.
    """

    stages: tuple[Stage[Perturbation], ...]
    rest: Program
    ask: Callable[[Releaser], Program]

    def program(self) -> Program:
        """Return both as one question."""
        return replace(
            self.rest,
            stages=(*self.stages, *self.rest.stages),
            finish=lambda releaser: self.ask(releaser).finish(releaser),
            shared=self,
        )
