"""Absolute attributions of explained rows: corners of all games with a fixed empty coalition."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.engines.shapley.coalitions import MaskSet, all_masks, sample_masks
from discreet.explain.shap.bounds.records import bound_rows_exact, bound_rows_masks
from discreet.privacy.certificate import NORMS, Bounds, Box
from discreet.schema import FloatArray
from tests.explain.shap.bounds.hunting import ORDERS, corners, hunt

BOX = Box(-1.0, 2.0)


def vectors(masks: MaskSet, base: float, box: Box) -> FloatArray:
    """Return |phi| of games with v(empty) = base and every other value at an end of the box."""
    half, middle = (box.high - box.low) / 2, (box.low + box.high) / 2
    generators = masks.operator[:, 1:] * half
    centre = masks.operator[:, 0] * base + masks.operator[:, 1:].sum(axis=1) * middle
    few = generators.shape[1] <= 12
    points = corners(generators) if few else np.concatenate([hunt(generators), -hunt(generators)])
    return np.abs(centre + points)


def worst(found: FloatArray, relation: str) -> Bounds:
    if relation == "add-remove":
        changes = found
    else:
        changes = (found[:, None, :] - found[None, :, :]).reshape(-1, found.shape[1])
    return Bounds(*(np.linalg.norm(changes, ORDERS[n], axis=1).max() for n in NORMS))


@pytest.mark.proves("shap-importance")
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("base", [-1.0, 0.3, 2.0])
@pytest.mark.parametrize("features", [1, 2, 3])
def test_no_row_moves_the_sum_further_exactly(features: int, base: float, relation: str) -> None:
    masks = all_masks(features)
    certificate = bound_rows_exact(features, BOX, base_value=base)
    found = worst(vectors(masks, base, BOX), relation)
    for norm in NORMS:
        assert getattr(found, norm) <= certificate.sensitivity(norm, relation)
    if features > 1:
        assert found.linf >= 0.45 * certificate.sensitivity("linf", relation)


@pytest.mark.proves("shap-importance")
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize(("features", "number"), [(6, 14), (12, 60)])
def test_no_row_moves_sampled_values_further(features: int, number: int, relation: str) -> None:
    masks = sample_masks(features, number)
    certificate = bound_rows_masks(masks, BOX, base_value=0.1)
    found = worst(vectors(masks, 0.1, BOX), relation)
    for norm in NORMS:
        assert getattr(found, norm) <= certificate.sensitivity(norm, relation)


@pytest.mark.refutes("shap-importance")
def test_a_narrower_box_is_caught() -> None:
    masks = all_masks(3)
    narrow = bound_rows_exact(3, Box(-0.3, 1.0), base_value=0.3)
    found = worst(vectors(masks, 0.3, BOX), "replace-one")
    assert found.linf > narrow.sensitivity("linf", "replace-one")


def test_exact_masks_and_the_formula_agree() -> None:
    direct = bound_rows_exact(5, BOX, base_value=0.5)
    through = bound_rows_masks(all_masks(5), BOX, base_value=0.5)
    for relation in ("replace-one", "add-remove"):
        for norm in NORMS:
            assert through.sensitivity(norm, relation) == pytest.approx(
                direct.sensitivity(norm, relation), rel=1e-9
            )
