"""What private estimators share: public facts, one release per fit, scikit-learn's manners."""

from __future__ import annotations

import numbers
import warnings
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import (
    _num_samples,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from discreet.data import PrivateTable
from discreet.data.sources import is_frame
from discreet.errors import ArgumentError
from discreet.estimators.fits import FitPlan
from discreet.estimators.frames import (
    FROM_DATA,
    column_names,
    columns_of,
    features_from_data,
    given_features,
    make_table,
    with_target,
)
from discreet.plans import Plan, Release
from discreet.plans.declaration import DeclaredPlan, kinds_of
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.relation import Relation
from discreet.schema import Column, Schema
from discreet.session import Session, protect

_AS_IT_IS = {"dtype": None, "ensure_all_finite": False}
"""Values are not looked at: whether they are finite is nobody's business."""

_CALLED = {"max_depth": "depth", "n_estimators": "trees"}
"""Names of scikit-learn's, and what plans call the same."""


@dataclass(repr=False, eq=False)
class PrivateEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator that learns by one private release per fit.

    A subclass is a dataclass too: its fields are the parameters of ``__init__``, and ``question`` is
    the plan that they are asked of.

    Every ``fit`` is a release of its own: a grid search or a cross-validation pays epsilon for each of
    its fits. Bound to a session it charges the session's data set every time; without one it runs over
    a ledger in memory and nobody adds up.

    Args:
      epsilon: the whole budget of one fit.
      delta: zero for a pure guarantee.
      schema: the public facts about features and target.
      bounds: without a schema: ``(low, high)`` for all numbers, or one pair per feature. ``"data"``
        reads everything from the data, for simulations with a ``random_state``: nothing is private.
      categories: without a schema: the values of features that are no numbers, by name or place.
      relation: ``replace-one`` or ``add-remove``; a session has its own.
      session: charge every fit to this session's data set.
      random_state: draw noise from a seed: for tests and studies, nothing is private.

    Attributes:
      guarantee_: the promise of the last fit.
      release_: the release it came with.
      released_: the released model itself.
      feature_importances_: finite shares, from released counts.
    """

    epsilon: float = 1.0
    _: KW_ONLY
    delta: float = 0.0
    schema: Schema | None = None
    bounds: Any = None
    categories: Any = None
    relation: str = "replace-one"
    session: Session | None = None
    random_state: Any = None

    question: ClassVar[type[DeclaredPlan]]

    def fit(self, X: Any = None, y: Any = None, *, rows: Any = None) -> Self:
        """Train on rows and their targets; costs epsilon.

        Args:
          X: the features. Bound to a session it may be left out: its own table is trained on. NaN and
            None are values of their own.
          y: the targets. A row without one that the schema knows is not counted.
          rows: for an estimator bound to a session, in place of X and y: train on the rows at these
            places of the session's table, counted from 0, none twice. They must be chosen without
            looking at values, as plain folds are.

        Guarantees:
          - Bounds, categories and classes are those given; no error depends on a row, except with
            ``bounds="data"``.
          - On rows of a session's own table, one record is one row. What X is made of cannot be
            checked: the guarantee of ``fit(X, y)`` says what it assumes of it. [given-rows]
        """
        if rows is not None:
            release = self._fit_places(X, y, rows)
        else:
            own = X is None and self.session is not None
            release = self._fit_session() if own else self._fit(X, y)
        released: Any = release.value
        self.release_, self.released_ = release, released
        self.guarantee_ = self._stamped(release.guarantee)
        self._take(released)
        self.feature_importances_ = released.feature_importances_
        return self

    def _take(self, released: Any) -> None:
        """Note what the kind of estimator says of a released model."""

    def _answers(self, X: Any, method: str) -> NDArray[Any]:
        """Return what a method of the released model says of rows."""
        check_is_fitted(self)
        rows = self._read(X, reset=False)
        return np.asarray(getattr(self.released_, method)(rows))

    def __sklearn_clone__(self) -> Any:
        if self.session is None:
            return super().__sklearn_clone__()
        warnings.warn(
            f"A {type(self).__name__} bound to a session was cloned: every fit of every clone, in a "
            "grid search or a cross-validation, is charged to its data set.",
            UserWarning,
            stacklevel=2,
        )
        return type(self)(**self.get_params(deep=False))  # a session cannot be copied

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.non_deterministic = self.random_state is None
        return tags

    def plot(self, ax: Any = None, *, title: str | None = None) -> Any:
        """Draw what was released; returns a display with ``ax_`` and ``figure_``."""
        return self.released_.plot(ax, title=title or str(self.guarantee_))

    def _plan(self, target: str, features: tuple[str, ...]) -> Plan:
        """Return the question that trains the model, with those of the parameters that it knows."""
        given = {_CALLED.get(name, name): value for name, value in self.get_params(deep=False).items()}
        known = kinds_of(self.question)
        asked = {name: value for name, value in given.items() if name in known}
        asked |= {"target": target, "features": features}
        return self.question(**asked)

    def _fit_session(self) -> Release:
        assert self.session is not None
        return self.session.release(self._own_plan(self.session), fresh=True)

    def _fit_places(self, X: Any, y: Any, rows: Any) -> Release:
        session = self.session
        if session is None or X is not None or y is not None:
            raise ArgumentError(
                "rows must be places of a session's own table, got them without a session or beside X "
                "and y. Give session=..., and leave X and y out."
            )
        if not Relation(session._account.terms.relation).rows_public:
            raise ArgumentError(
                "rows must be left out under add-remove, got some: a place means nothing where "
                "records come and go. Train on the whole table."
            )
        table = session._table.at(rows)
        plan = FitPlan(self._own_plan(session), tuple(sorted(int(place) for place in rows)))
        return _beside(session, table).release(plan, fresh=True)

    def _own_plan(self, session: Session) -> Plan:
        target = self._target(session.schema)
        self.feature_names_in_ = np.array(session.schema.features, dtype=object)
        self.n_features_in_ = len(session.schema.features)
        return self._plan(target, session.schema.features)

    def _fit(self, X: Any, y: Any) -> Release:
        rows, labels = self._read(X, reset=True), self._labels(X, y)
        schema = self._facts(rows, labels)
        target = self._target(schema)
        table, features = make_table(rows, labels, schema)
        plan = FitPlan(self._plan(target, features), None)
        if self.session is not None:
            terms = self.session._account.terms
            sealed = PrivateTable(table, schema, terms.relation, terms.rows_cap)
            return _beside(self.session, sealed).release(plan, fresh=True)
        own = protect(
            table,
            schema,
            dataset="fit",
            ledger=":memory:",
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.relation,  # type: ignore[arg-type]
            workers=1,
            progress=False,
            seed=_seed(self.random_state),
        )
        return own.release(plan)

    def _read(self, X: Any, *, reset: bool) -> Any:
        """Return a frame as it is or an array, after checks that depend on names and shapes alone."""
        if is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            if reset:
                check_array(np.zeros((min(1, _num_samples(X)), X.shape[1])))  # neither may be none
            return X
        return validate_data(self, self._value_by_value(X), reset=reset, **_AS_IT_IS)

    def _labels(self, X: Any, y: Any) -> NDArray[Any]:
        if y is None:
            raise ArgumentError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        labels = column_or_1d(self._value_by_value(y), warn=True)
        check_consistent_length(X, labels)
        if self._reads_data:
            self._check_targets(labels)
        return np.asarray(labels)

    def _check_targets(self, labels: NDArray[Any]) -> None:
        """Raise if targets, which a simulation may look at, are of the wrong kind."""

    @abstractmethod
    def _given_target(self) -> Column:
        """Return the public facts about the target, as they were given."""

    @abstractmethod
    def _target_from_data(self, labels: NDArray[Any]) -> Column:
        """Return facts about the target as they are in the data: for simulations."""

    @property
    def _reads_data(self) -> bool:
        """Whether public facts are taken from the data, for a simulation that protects nobody."""
        return _from_data(self.bounds) and self.session is None and self.schema is None

    def _value_by_value(self, values: Any) -> Any:
        """Return lists as objects: numpy would choose one kind for all, and one row change others."""
        if self._reads_data or hasattr(values, "dtype") or not isinstance(values, list | tuple):
            return values
        return np.array(values, dtype=object)

    def _facts(self, rows: Any, labels: NDArray[Any]) -> Schema:
        if self.session is not None:
            return self.session.schema
        if self.schema is not None:
            return self.schema
        names = column_names(rows)
        if not _from_data(self.bounds):
            target = self._given_target()
            return with_target(given_features(names, self.bounds, self.categories), target)
        if self.random_state is None:
            raise ArgumentError(
                "random_state must be given with bounds='data', got None. Such a model protects "
                "nobody; it is for simulations. Give schema, or public bounds, instead."
            )
        found = features_from_data(names, columns_of(rows))
        return with_target(found, self._target_from_data(labels))

    def _target(self, schema: Schema) -> str:
        if schema.target is None:
            raise ArgumentError("schema must have a target, got none. Name the column to predict.")
        return schema.target

    def _stamped(self, guarantee: Guarantee) -> Guarantee:
        if not self._reads_data:
            return guarantee
        told = ("bounds, categories and classes were read from the data", *guarantee.assumptions)
        return replace(guarantee, certified=False, simulation=True, assumptions=told)


def _beside(session: Session, table: PrivateTable) -> Session:
    """Return a session over other rows of the same data set: it charges the same budget."""
    return Session(
        table,
        session._ledger,
        session._account,
        version=session.version,
        analyst=session.analyst,
        noise=session._noise,
        workers=session._workers,
        progress=False,
    )


def _from_data(bounds: Any) -> bool:
    return isinstance(bounds, str) and bounds == FROM_DATA


def _seed(random_state: Any) -> int | None:
    if random_state is None:
        return None
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    return int(random_state.randint(0, 2**31 - 1))
