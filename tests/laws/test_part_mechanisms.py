"""Choices from a part of a table: their exact laws, for a record that comes, goes or is replaced."""

from __future__ import annotations

import pytest

from discreet.audit.laws.catalogue import DELTA, EPSILON
from discreet.audit.laws.exact_audit import exact
from discreet.audit.laws.neighbours import neighbouring_tables
from discreet.audit.laws.of_tables import cuts_subject, frequent_subject
from discreet.audit.laws.of_trees import level_subject, spanning_subject
from discreet.audit.laws.subject import Subject
from discreet.mechanisms.selection.pairs.spanning_tree import tree_choice
from discreet.mechanisms.selection.quantiles import quantile_noise
from discreet.privacy.certificate import certify_cells
from discreet.privacy.relation import ADD_REMOVE, PARTED
from discreet.select.choose.chooser import CHOICES
from discreet.select.quantiles.cuts import CUT_CHOICES, QuantileCuts
from discreet.trees.splits import MECHANISMS

SLOW = "laplace"


def subjects() -> list[Subject]:
    """Return every choice that can be made from a part."""
    cells, edges = certify_cells(3), ((0, 1), (0, 2), (1, 2))
    found = [frequent_subject(name, PARTED, EPSILON, DELTA) for name in CHOICES[1:]]
    found += [level_subject(name, PARTED, EPSILON) for name in MECHANISMS[1:] if name != SLOW]
    for kind in CUT_CHOICES[1:]:
        cuts = QuantileCuts(cells, PARTED, EPSILON, 0.0, EPSILON / 2, kind, (0, 2, 3, 4), 1)
        found.append(cuts_subject(cuts, 2))
    halves = quantile_noise(cells, range(4), parts=2, relation=PARTED, epsilon=EPSILON)
    tree = tree_choice(edges, (4, 4, 4), 0, relation=PARTED, epsilon=EPSILON)
    return [*found, cuts_subject(halves, 1), spanning_subject(tree)]


@pytest.mark.proves("where")
@pytest.mark.parametrize("subject", subjects(), ids=lambda subject: subject.name)
def test_the_promise_is_kept_by_every_neighbour_of_a_part(subject: Subject) -> None:
    audit = exact(subject)
    assert audit.complete and audit.kept, audit.worst


def test_in_a_part_records_come_go_and_are_replaced() -> None:
    assert set(neighbouring_tables((1, 0), PARTED)) == {(2, 0), (0, 0), (1, 1), (0, 1)}


@pytest.mark.refutes("where")
def test_a_choice_made_for_records_that_come_or_go_is_no_choice_of_a_part() -> None:
    """Calibrated as under add-remove, a part in which a record is replaced tells too much."""
    planted = frequent_subject("exponential", ADD_REMOVE, EPSILON)
    honest = frequent_subject("exponential", PARTED, EPSILON)
    assert not exact(Subject("planted", planted.law, planted.promise, honest.pairs)).kept
