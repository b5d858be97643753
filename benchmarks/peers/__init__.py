"""Peers that cannot share our environment: each group has its own, made by ``make bench-envs``.

``<name>.txt`` pins an environment, which stands in ``.bench/<name>``. A script of this package runs
there: it gets arrays and options, measures its peer in its own process on one thread, and answers with
plain data. Models do not travel, because versions differ: scripts fit them from equal rows and seeds.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
ENVIRONMENTS = {
    "PyALE": "effects",
    "effector": "effects",
    "pyartemis": "older",
    "pyDVL": "older",
    "diffprivlib": "privacy",
    "interpret": "boosting",
    "mbi": "privacy",
    "jax-privacy": "audit",
}
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def missing(*peers: str) -> list[str]:
    """Return a sentence for each peer whose environment is not there."""
    return [
        f"{peer} has no environment (.bench/{ENVIRONMENTS[peer]}): run make bench-envs"
        for peer in peers
        if not (_environment(peer) / "ready").exists()
    ]


def ask_peer(peer: str, script: str, arrays: dict[str, Any], **options: Any) -> Any:
    """Return what ``benchmarks.peers.<script>`` answers in the peer's environment.

    Args:
      peer: a name of ``ENVIRONMENTS``.
      script: a module of this package that ends in a call of ``script.serve``.
      arrays: numbers the script gets by name.
      options: plain data the script gets as keyword arguments.
    """
    with tempfile.TemporaryDirectory() as folder:
        inputs, answer = Path(folder) / "inputs.npz", Path(folder) / "answer.json"
        np.savez(inputs, **arrays)
        subprocess.run(
            [
                _environment(peer) / "bin" / "python",
                "-m",
                f"benchmarks.peers.{script}",
                inputs,
                answer,
                json.dumps(options),
            ],
            cwd=ROOT,
            env=os.environ | dict.fromkeys(_ONE_THREAD, "1"),
            check=True,
        )
        return json.loads(answer.read_text())


def _environment(peer: str) -> Path:
    return ROOT / ".bench" / ENVIRONMENTS[peer]
