"""Certificates against exact rational arithmetic over every neighbour of small tables."""

from __future__ import annotations

import itertools
import json
import math
import pickle
import warnings
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ArgumentError, CertificateError, DiscreetError
from discreet.numerics import up
from discreet.privacy.certificate import (
    NORMS,
    Ball,
    Bounds,
    Box,
    Certificate,
    Norm,
    certify_cells,
)
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.relation import RELATIONS, Relation
from tests.oracles.norms import additions, replacements, within

PROPERTY = settings(max_examples=60, deadline=None)
SIZES = st.integers(1, 4)
COORDINATES = st.floats(-1e6, 1e6)


def vectors(size: int) -> st.SearchStrategy[list[list[float]]]:
    return st.lists(st.lists(COORDINATES, min_size=size, max_size=size), min_size=1, max_size=4)


def keeps(
    certificate: Certificate, relation: Relation, contributions: Iterable[Sequence[float]]
) -> bool:
    """Say whether no neighbour moves the sum of these contributions beyond the certificate."""
    moves = replacements if relation == "replace-one" else additions
    return all(within(certificate.bounds[relation], change) for change in moves(contributions))


def corners(box: Box, size: int) -> list[tuple[float, ...]]:
    return list(itertools.product(box.limits, repeat=size))


def ball_extremes(ball: Ball, size: int) -> list[tuple[float, ...]]:
    """Return extreme points: axes for L1 and L2, corners for Linf (all coordinates equal for L2)."""
    axes = [
        tuple(sign * ball.radius if i == j else 0.0 for j in range(size))
        for i in range(size)
        for sign in (1, -1)
    ]
    if ball.norm == "linf":
        return list(itertools.product((-ball.radius, ball.radius), repeat=size))
    if ball.norm == "l2":
        even = np.nextafter(ball.radius / math.sqrt(size), 0)
        return [*axes, (even,) * size, (-even,) * size]
    return axes


# Norms


@pytest.mark.proves("norms")
@PROPERTY
@given(SIZES.flatmap(lambda n: st.lists(COORDINATES, min_size=n, max_size=n)), st.data())
def test_tightened_bounds_still_hold_for_every_vector(vector: list[float], data: st.DataObject) -> None:
    exact = [Fraction(x) for x in vector]
    truth = Bounds(*_norms(vector))
    # Any of the norms may be known well and the others badly.
    loose = Bounds(*(getattr(truth, n) * data.draw(st.sampled_from([1.0, 3.0, 1e9])) for n in NORMS))
    assert tightening_keeps(loose.tightened(len(vector)), exact)


@pytest.mark.refutes("norms")
def test_a_tightening_without_the_dimension_is_caught() -> None:
    vector = [Fraction(1)] * 4
    good = Bounds(1e9, 1e9, 1.0).tightened(4)
    assert tightening_keeps(good, vector)
    assert (good.l1, good.l2, good.linf) == pytest.approx((4, 2, 1), rel=1e-14)
    assert not tightening_keeps(Bounds(1e9, 1e9, 1.0).tightened(2), vector)
    assert not tightening_keeps(Bounds(good.l1, good.l1 / math.sqrt(4.1), 1.0), vector)


def tightening_keeps(bounds: Bounds, vector: Sequence[Fraction]) -> bool:
    return within(bounds, vector)


@pytest.mark.parametrize("size", [1, 2, 100])
@pytest.mark.parametrize("magnitude", [1e-200, 1e-170, 1e-320, 1.0, 1e150, 1e300])
def test_tightening_survives_products_that_leave_the_floats(size: int, magnitude: float) -> None:
    vector = [Fraction(magnitude)] * size
    most = up(size * magnitude)
    tight = Bounds(most, most, magnitude).tightened(size)
    assert tightening_keeps(tight, vector)


# Boxes and balls


@pytest.mark.proves("mean-replace")
@pytest.mark.proves("sum-addremove")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize(
    "box", [Box(0.0, 1.0), Box(-0.3, 0.7), Box(0.1, 0.3), Box(-5, -4.9), Box(-1, 3)]
)
def test_a_box_bounds_every_neighbour_and_is_attained(box: Box, size: int, relation: Relation) -> None:
    certificate = box.certify(size)
    assert keeps(certificate, relation, corners(box, size))
    assert not keeps(shrunk(certificate, 1 - 1e-14), relation, corners(box, size))


@pytest.mark.proves("mean-replace")
@pytest.mark.proves("sum-addremove")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("radius", [1.0, 0.1, 3e7])
def test_a_ball_bounds_every_neighbour_and_is_attained(
    radius: float, norm: Norm, size: int, relation: Relation
) -> None:
    ball = Ball(radius, norm)
    certificate = ball.certify(size)
    assert keeps(certificate, relation, ball_extremes(ball, size))
    assert not keeps(shrunk(certificate, 1 - 1e-14), relation, ball_extremes(ball, size))


@PROPERTY
@given(st.data(), SIZES, st.sampled_from(NORMS), st.floats(1e-3, 1e3))
def test_clipped_rows_are_in_the_ball_and_keep_the_certificate(
    data: st.DataObject, size: int, norm: Norm, radius: float
) -> None:
    ball = Ball(radius, norm)
    rows = np.array(data.draw(vectors(size)))
    clipped = ball.clip(rows)
    for relation in RELATIONS:
        assert keeps(ball.certify(size), relation, clipped.tolist())
    inside = [within(_bounds_of(ball, 1 - 1e-11), [Fraction(x) for x in row]) for row in rows.tolist()]
    assert np.array_equal(clipped[inside], rows[inside])  # what is inside already is left alone


@pytest.mark.refutes("mean-replace")
@pytest.mark.parametrize("norm", NORMS)
def test_a_dropped_factor_two_is_caught(norm: Norm) -> None:
    ball = Ball(1.0, norm)
    right = ball.certify(2)
    wrong = Certificate(right.statements, 2, {"replace-one": right.bounds["add-remove"]})
    assert not keeps(wrong, "replace-one", ball_extremes(ball, 2))


@pytest.mark.refutes("mean-replace")
def test_the_magnitude_in_place_of_the_width_is_caught() -> None:
    box = Box(-1.0, 1.0)
    wrong = Certificate(("mean-replace",), 2, {"replace-one": box.certify(2).bounds["add-remove"]})
    assert not keeps(wrong, "replace-one", corners(box, 2))


@pytest.mark.refutes("sum-addremove")
def test_the_width_in_place_of_the_magnitude_is_caught() -> None:
    box = Box(10.0, 11.0)
    wrong = Certificate(("sum-addremove",), 2, {"add-remove": box.certify(2).bounds["replace-one"]})
    assert not keeps(wrong, "add-remove", corners(box, 2))


@pytest.mark.refutes("mean-replace")
@pytest.mark.refutes("sum-addremove")
@pytest.mark.parametrize("norm", NORMS)
def test_a_dropped_clip_is_caught(norm: Norm) -> None:
    rows = np.array([[3.0, 4.0], [-3.0, -4.0]])
    ball = Ball(1.0, norm)
    for relation in RELATIONS:
        assert keeps(ball.certify(2), relation, ball.clip(rows).tolist())
        assert not keeps(ball.certify(2), relation, rows.tolist())


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("radius", [1e-250, 1e-3, 1.0, 1e9, 1e250])
def test_clipping_extreme_rows_neither_warns_nor_sticks_out(radius: float, norm: Norm) -> None:
    rows = np.array([[0.0, 0.0], [1e300, -1e300], [1e-200, 1e-200], [5e-324, 0.0], [radius, radius]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clipped = Ball(radius, norm).clip(rows)
    assert np.isfinite(clipped).all()
    limit = _bounds_of(Ball(radius, norm), 1.0)
    assert all(within(limit, [Fraction(x) for x in row]) for row in clipped.tolist())
    assert np.array_equal(clipped[0], rows[0])


def test_a_box_knows_its_limits() -> None:
    assert Box(-2.0, 1.0).magnitude == 2.0
    assert Box(-2.0, 1.0).limits == (-2.0, 1.0)
    assert Ball(3.0, "l2").magnitude == 3.0
    assert Ball(3.0, "l2").limits == (-3.0, 3.0)


# Cells


@pytest.mark.proves("histogram")
@pytest.mark.parametrize("size", [1, 2, 5])
def test_cells_bound_every_neighbour(size: int) -> None:
    certificate = certify_cells(size)
    for relation in RELATIONS:
        assert keeps(certificate, relation, one_hot(size))
    if size > 1:
        assert certificate.sensitivity("l1", "replace-one") == 2
        assert certificate.sensitivity("l2", "replace-one") == pytest.approx(math.sqrt(2), rel=1e-15)
    assert certificate.sensitivity("linf", "replace-one") == 1
    assert {certificate.sensitivity(norm, "add-remove") for norm in NORMS} == {1}


@pytest.mark.refutes("histogram")
def test_one_moved_cell_under_replace_one_is_caught() -> None:
    wrong = Certificate(("histogram",), 3, {"replace-one": Bounds(1.0, 1.0, 1.0)})
    assert not keeps(wrong, "replace-one", one_hot(3))


def one_hot(size: int) -> list[list[float]]:
    return np.eye(size).tolist()


# The algebra


@PROPERTY
@given(st.data(), SIZES, st.floats(-1e3, 1e3))
def test_scaling(data: st.DataObject, size: int, factor: float) -> None:
    rows = data.draw(vectors(size))
    for relation in RELATIONS:
        scaled = _certificate_of(rows, size).scale(factor).bounds[relation]
        for change in _changes(rows, relation):
            assert within(scaled, [Fraction(factor) * x for x in change])


@PROPERTY
@given(st.data(), SIZES)
def test_sum_and_stack_bound_two_queries_on_the_same_table(data: st.DataObject, size: int) -> None:
    rows = data.draw(vectors(2 * size))
    first = _certificate_of([row[:size] for row in rows], size)
    second = _certificate_of([row[size:] for row in rows], size)
    for relation in RELATIONS:
        added, stacked = first.sum(second).bounds[relation], first.stack(second).bounds[relation]
        for change in _changes(rows, relation):
            assert within(stacked, change)
            assert within(added, [a + b for a, b in zip(change[:size], change[size:], strict=True)])


@PROPERTY
@given(st.data(), st.integers(2, 4))
def test_restricting_to_any_coordinates(data: st.DataObject, size: int) -> None:
    rows = data.draw(vectors(size))
    kept = data.draw(st.integers(1, size - 1))
    for relation in RELATIONS:
        bound = _certificate_of(rows, size).restrict(kept).bounds[relation]
        for change in _changes(rows, relation):
            for part in itertools.combinations(change, kept):
                assert within(bound, part)


@PROPERTY
@given(st.data(), SIZES, st.floats(0, 10))
def test_widening(data: st.DataObject, size: int, extra: float) -> None:
    rows = data.draw(vectors(size))
    for relation in RELATIONS:
        wide = _certificate_of(rows, size).widen(extra, "lattice")
        for change in _changes(rows, relation):
            outwards = [x + Fraction(extra) * (1 if x >= 0 else -1) for x in change]
            assert within(wide.bounds[relation], outwards)


def test_joining_merges_what_was_proven_and_what_was_assumed() -> None:
    first = Box(0.0, 1.0).certify(2).assume("a", "b", "a")
    second = Certificate(
        ("histogram",), 2, {"replace-one": Bounds(1, 1, 1)}, ("b", "c"), certified=False
    )
    joined = first.stack(second)
    assert joined.statements == ("mean-replace", "sum-addremove", "histogram")
    assert joined.assumptions == ("a", "b", "c")
    assert not joined.certified
    assert list(joined.bounds) == ["replace-one"]
    assert joined.size == 4
    assert first.sum(first.scale(2)).certified
    assert first.widen(0.1, "lattice", "mean-replace").statements[-1] == "lattice"


def test_a_certificate_cannot_be_changed_through_the_mapping_it_was_made_from() -> None:
    bounds: dict[Relation, Bounds] = {"replace-one": Bounds(2, 2, 2)}
    certificate = Certificate(("x",), 3, bounds)
    bounds["replace-one"] = Bounds(0, 0, 0)
    assert certificate.sensitivity("linf", "replace-one") == 2
    with pytest.raises(TypeError):
        certificate.bounds["replace-one"] = Bounds(0, 0, 0)  # type: ignore[index]


def test_plain_data() -> None:
    plain = certify_cells(3).assume("a").to_json()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["bounds"]["add-remove"] == {"l1": 1.0, "l2": 1.0, "linf": 1.0}


# Wrong arguments


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0, -1e-300])
@pytest.mark.parametrize("norm", NORMS)
def test_a_bound_that_is_none_is_refused(bad: float, norm: Norm) -> None:
    values = dict.fromkeys(NORMS, 1.0) | {norm: bad}
    with pytest.raises(CertificateError, match="finite and not negative"):
        Certificate(("x",), 2, {"add-remove": Bounds(**values)})


def test_unknown_relations_and_norms_are_refused() -> None:
    one_sided = Certificate(("x", "y"), 1, {"add-remove": Bounds(1, 1, 1)})
    with pytest.raises(
        CertificateError, match=r"No bound under replace-one .* x, y\. Use add-remove\.$"
    ):
        one_sided.sensitivity("l1", "replace-one")
    with pytest.raises(CertificateError, match="relation must be one of"):
        one_sided.sensitivity("l1", "swap-two")  # type: ignore[arg-type]
    with pytest.raises(CertificateError, match="norm must be one of"):
        one_sided.sensitivity("l3", "add-remove")  # type: ignore[arg-type]
    with pytest.raises(CertificateError, match="relation must be one of"):
        Certificate(("x",), 1, {"swap-two": Bounds(1, 1, 1)})  # type: ignore[dict-item]
    with pytest.raises(ArgumentError, match="relation must be one of"):
        Relation("swap-two")
    Relation("add-remove")


def test_certificates_that_do_not_fit_together() -> None:
    left = Certificate(("x",), 2, {"add-remove": Bounds(1, 1, 1)})
    right = Certificate(("x",), 2, {"replace-one": Bounds(1, 1, 1)})
    with pytest.raises(CertificateError, match="share a relation"):
        left.stack(right)
    with pytest.raises(CertificateError, match="size must be 2 to add, got 3"):
        left.sum(certify_cells(3))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, "1", None, True])
def test_wrong_numbers_are_refused(bad: float) -> None:
    certificate = certify_cells(2)
    for call in (
        lambda: certificate.scale(bad),
        lambda: certificate.widen(bad),
        lambda: Box(bad, 2.0),
        lambda: Box(-1.0, bad),
        lambda: Ball(bad, "l2"),
    ):
        with pytest.raises(DiscreetError, match=r"must be .*, got"):
            call()


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "2"])
def test_wrong_sizes_are_refused(size: int) -> None:
    for call in (
        lambda: certify_cells(size),
        lambda: Box(0.0, 1.0).certify(size),
        lambda: Ball(1.0, "l2").certify(size),
        lambda: certify_cells(3).restrict(size),
    ):
        with pytest.raises(DiscreetError):
            call()


@pytest.mark.parametrize("extra", [-1e-300, -0.5])
def test_a_certificate_is_never_narrowed(extra: float) -> None:
    with pytest.raises(CertificateError, match="must not be negative"):
        certify_cells(2).widen(extra)


def test_empty_and_unknown_regions_are_refused() -> None:
    for low, high in ((1.0, 1.0), (2.0, 1.0)):
        with pytest.raises(ArgumentError, match="low must be below high"):
            Box(low, high)
    with pytest.raises(CertificateError, match="norm must be one of"):
        Ball(1.0, "l3")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="radius must be"):
        Ball(0.0, "l2")
    with pytest.raises(ArgumentError, match="at most 2"):
        certify_cells(2).restrict(3)


# Guarantees


def test_a_guarantee_says_what_it_promises() -> None:
    pure = Guarantee(0.5, 0.0, "replace-one")
    assert str(pure) == "epsilon=0.5 (pure) for one record of the table, replace-one, certified"
    weak = Guarantee(0.5, 1e-6, "add-remove", certified=False)
    assert str(weak).endswith("add-remove, NOT certified") and "delta=1e-06" in str(weak)
    assert str(Guarantee(1.0, 0.0, "replace-one", simulation=True)).endswith("no privacy")


def test_a_guarantee_is_not_shown_rounded_down() -> None:
    assert "epsilon=1.0000004 " in str(Guarantee(1.0000004, 0.0, "replace-one"))


def test_a_guarantee_survives_json() -> None:
    promise = Guarantee(0.5, 1e-6, "add-remove", ("lattice",), ("a",), protects="one query")
    assert Guarantee.from_json(json.loads(json.dumps(promise.to_json()))) == promise


@pytest.mark.parametrize(
    ("assumption", "grade"),
    [
        (
            "a model's answer for a row moves by less than one lattice step with the rows beside it",
            "probed",
        ),
        ("the table has at most 16777216 rows", "proven"),
    ],
)
def test_promises_from_before_there_were_grades_are_read(assumption: str, grade: str) -> None:
    plain = Guarantee(0.5, 0.0, "replace-one", (), (assumption,)).to_json()
    del plain["grade"]
    found = Guarantee.from_json(plain)
    assert found.grade == grade
    assert ("certified" in str(found)) == (grade == "proven")
    assert ("not proven" in str(found)) == (grade == "probed")
    with pytest.raises(ValueError, match="grade must be one of"):
        Guarantee.from_json({**plain, "grade": "sure"})


def test_the_worse_grade_is_kept() -> None:
    proven = certify_cells(2)
    probed = proven.graded("probed", "a, not proven")
    assert probed.graded("isolated").grade == "probed"
    for joined in (proven.stack(probed), probed.sum(proven), probed.widen(1.0), probed.restrict(1)):
        assert joined.grade == "probed" and joined.to_json()["grade"] == "probed"
    assert pickle.loads(pickle.dumps(probed)) == probed
    promise = Guarantee(0.5, 0.0, "replace-one", (), ("a, not proven", "b"), grade="probed")
    assert str(promise).endswith("replace-one, provided a, not proven")


# Helpers


def shrunk(certificate: Certificate, factor: float) -> Certificate:
    """Return the planted fault: every bound a little smaller."""
    bounds = {
        relation: Bounds(b.l1 * factor, b.l2 * factor, b.linf * factor)
        for relation, b in certificate.bounds.items()
    }
    return Certificate(certificate.statements, certificate.size, bounds)


def _norms(vector: Sequence[float]) -> list[float]:
    sizes = [abs(x) for x in vector]
    return [up(math.fsum(sizes)), up(math.hypot(*sizes)), up(max(sizes))]


def _certificate_of(rows: list[list[float]], size: int) -> Certificate:
    """Return the tightest certificate of a table that may hold any of the rows."""
    bounds: dict[Relation, Bounds] = {}
    for relation in RELATIONS:
        norms = [_norms([float(x) for x in change]) for change in _changes(rows, relation)]
        bounds[relation] = Bounds(*(up(x) for x in np.max(norms, axis=0).tolist()))
    return Certificate(("rows",), size, bounds)


def _changes(rows: list[list[float]], relation: Relation) -> list[list[Fraction]]:
    return list((replacements if relation == "replace-one" else additions)(rows))


def _bounds_of(ball: Ball, factor: float) -> Bounds:
    free = dict.fromkeys(NORMS, 1e308)
    return Bounds(**(free | {ball.norm: ball.radius * factor}))


def test_a_certificate_survives_a_pickle() -> None:
    import pickle

    certificate = Box(-1.0, 2.0).certify(3).assume("something")
    assert pickle.loads(pickle.dumps(certificate)) == certificate
