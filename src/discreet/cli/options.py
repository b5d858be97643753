"""Options that several questions share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Epsilon = Annotated[float, typer.Option(help="The whole budget of the plan.")]
Delta = Annotated[float, typer.Option(help="Zero for a pure guarantee.")]
Mechanism = Annotated[str, typer.Option(help="auto, laplace or gaussian.")]
Isolated = Annotated[bool, typer.Option(help="Ask the model for one record at a time: slow, sure.")]
ModelFile = Annotated[Path, typer.Option(help="A fitted scikit-learn model saved with skops.")]
