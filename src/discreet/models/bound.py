"""A model fitted to a schema: encoded rows in, one number inside its bounds per row out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from discreet.data.calls import Pulse, RowCalls, ThirdParty
from discreet.models.forms.linear import LinearForm
from discreet.models.forms.network import NetworkForm
from discreet.models.forms.trees import TreeEnsemble
from discreet.models.inputs import ModelCall
from discreet.models.sight import Sight
from discreet.models.within import PublicAnswers
from discreet.privacy.certificate import Box
from discreet.privacy.relation import Relation
from discreet.schema import FloatArray

Form = LinearForm | TreeEnsemble | NetworkForm
FormName = Literal["linear", "trees", "network", "opaque"]


@dataclass(frozen=True)
class BoundModel:
    """A model fitted to a schema's encoding: ``columns`` in, clipped predictions out.

    ``sight`` is what it sees of encoded rows, and what engines must show to its ``form``. ``form`` is
    what it was recognised as, None for a model known by its answers alone; ``third_party``
    is what is known of a model that is not evaluated by code of ours, ``public`` how its answers to
    public rows lie in its bounds.
    """

    columns: tuple[str, ...]
    bounds: Box
    calls: RowCalls = field(repr=False)
    sight: Sight = field(repr=False)
    form: Form | None = field(default=None, repr=False)
    third_party: ThirdParty | None = field(default=None, repr=False)
    public: PublicAnswers | None = field(default=None, repr=False)

    @property
    def kind(self) -> FormName:
        """The name of its form, by which ``engines.table`` finds an engine."""
        return "opaque" if self.form is None else self.form.kind

    @property
    def weighted_sum(self) -> LinearForm | None:
        """The weighted sum of columns behind its answers, if it is one."""
        return self.form if isinstance(self.form, LinearForm) else None

    @property
    def jumps(self) -> bool:
        """Whether its answers jump at thresholds, and are flat between them."""
        return isinstance(self.form, TreeEnsemble)

    @property
    def pulse(self) -> Pulse | None:
        """Whether third-party code still answers; None if code of ours evaluates the model."""
        return None if self.third_party is None else self.third_party.pulse

    @property
    def call(self) -> ModelCall:
        """One call of the model, as it is."""
        assert isinstance(self.calls.call, ModelCall)
        return self.calls.call

    def seen(self, rows: FloatArray) -> FloatArray:
        """Return encoded rows as its form sees them; as they are if it has none and is called."""
        return rows if self.form is None else self.sight(rows)

    def seen_column(self, place: int, encoded: FloatArray) -> FloatArray:
        """Return values of one column as its form sees them."""
        return encoded if self.form is None else self.sight.column(place, encoded)

    def filled(self, rows: FloatArray) -> FloatArray:
        """Return encoded rows with a public value wherever one is missing or not listed."""
        return Sight(self.sight.columns, takes_missing=False)(rows)

    def batch_error(self, relation: Relation) -> float:
        """Return how far an answer may move with the rows beside it."""
        return 0.0 if self.third_party is None else self.third_party.under(relation).batch_error

    @property
    def fill(self) -> float:
        """What replaces NaN and rows on which the model fails."""
        return self.bounds.low / 2 + self.bounds.high / 2

    def predict(self, rows: FloatArray, per_record: int = 1) -> FloatArray:
        """Return one number inside the bounds per row; ``per_record`` as in ``answer``."""
        raw = self.answer(rows, per_record)
        return np.clip(np.where(np.isnan(raw), self.fill, raw), self.bounds.low, self.bounds.high)

    def answer(self, rows: FloatArray, per_record: int = 1) -> FloatArray:
        """Return what the model says, unclipped, for callers that clip themselves.

        ``per_record`` successive rows are made from the same record: an isolated model gets them in one
        call. Rows on which it raises are NaN.
        """
        if isinstance(self.form, TreeEnsemble | LinearForm):
            return self.form.predict(self.sight(rows))
        return self.calls(rows, per_record)
