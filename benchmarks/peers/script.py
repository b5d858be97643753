"""The side of a peer's script: read the inputs, answer, write the answer. Needs numpy alone."""

from __future__ import annotations

import json
import logging
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def serve(answer: Callable[..., Any]) -> None:
    """Call ``answer`` with the arrays and options of the command line, and write what it returns."""
    inputs, target, options = sys.argv[1:]
    warnings.simplefilter("ignore")
    logging.disable(logging.INFO)
    with np.load(inputs) as arrays:
        found = answer(dict(arrays), **json.loads(options))
    Path(target).write_text(json.dumps(found))
