"""Models in ONNX files, asked through onnxruntime.

A file has one matrix for an input, or one input per column, named like the column. Its answers are the
probabilities beside a label, or the only tensor there is. Runs use one thread, so that an answer does
not depend on how threads share the work.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ModelError

_KINDS = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
    "tensor(string)": object,
}


def open_onnx(content: bytes) -> OnnxModel:
    """Return the model in the bytes of an ONNX file, as an estimator.

    Raises:
      ModelError: if onnxruntime is not installed, or an input or output is of an unknown kind.
    """
    model = OnnxModel(content)
    strange = [entry.type for entry in model.session.get_inputs() if entry.type not in _KINDS]
    if strange:
        raise ModelError(f"model must take tensors of numbers or texts, got {strange[0]}.")
    outputs = [entry.type for entry in model.session.get_outputs()]
    classifies = len(outputs) > 1 and outputs[0] in ("tensor(int64)", "tensor(string)")
    return OnnxClassifier(content) if classifies else model


@dataclass(frozen=True, eq=False)
class OnnxModel:
    """A network or regressor: what it predicts is its first output."""

    content: bytes = field(repr=False)
    answer_at = 0

    @cached_property
    def session(self) -> Any:
        """The model, ready to run in one thread."""
        try:
            import onnxruntime
        except ImportError:
            raise ModelError("An ONNX file needs onnxruntime. Install discreet[onnx].") from None
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        return onnxruntime.InferenceSession(self.content, options, providers=["CPUExecutionProvider"])

    def __getstate__(self) -> dict[str, bytes]:
        return {"content": self.content}  # the session follows from it

    @property
    def n_features_in_(self) -> int:
        """The number of columns, if the file says it."""
        inputs = self.session.get_inputs()
        if len(inputs) > 1:
            return len(inputs)
        shape = inputs[0].shape
        if len(shape) != 2 or not isinstance(shape[1], int):
            raise AttributeError("The file does not say how many columns it takes.")
        return shape[1]

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The names of the columns, if every column is an input."""
        inputs = self.session.get_inputs()
        if len(inputs) == 1:
            raise AttributeError("The file takes a matrix.")
        return np.array([entry.name for entry in inputs], dtype=object)

    def predict(self, rows: Any) -> Any:
        """Return the answers as they are."""
        inputs = self.session.get_inputs()
        if len(inputs) == 1:
            given: dict[str, Any] = {inputs[0].name: np.asarray(rows, dtype=_KINDS[inputs[0].type])}
        else:
            given = {
                entry.name: rows[entry.name].to_numpy().astype(_KINDS[entry.type])[:, None]
                for entry in inputs
            }
        return self.session.run(None, given)[self.answer_at]


@dataclass(frozen=True, eq=False)
class OnnxClassifier(OnnxModel):
    """A classifier: labels first, then the probabilities of classes, known by their numbers."""

    answer_at = 1

    @property
    def classes_(self) -> NDArray[Any]:
        """The numbers of the classes, two if the file does not say how many."""
        shape = self.session.get_outputs()[1].shape
        known = shape is not None and len(shape) == 2 and isinstance(shape[1], int)
        return np.arange(shape[1] if known else 2)

    def predict_proba(self, rows: Any) -> Any:
        """Return the probabilities of all classes."""
        said = self.predict(rows)
        if isinstance(said, list):  # a mapping from class to probability for every row
            return np.array([list(row.values()) for row in said])
        return said
