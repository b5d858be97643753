"""``protect``: from a table and its public schema to a session with a budget."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from discreet.data import PrivateTable
from discreet.data.cluster import Cluster
from discreet.errors import ArgumentError
from discreet.ledger import Account, Ledger, Terms
from discreet.ledger.checks import check_most_rows
from discreet.numerics import check_choice, check_whole
from discreet.privacy.accounting import ACCOUNTANTS, DEFAULT_ACCOUNTANT, AccountantName, budget_amount
from discreet.privacy.relation import REPLACE_ONE, ROWS_CAP, Relation, RelationName, registered
from discreet.randomness import noise_source
from discreet.schema import Schema
from discreet.session.checking import check_owner
from discreet.session.session import Session


def protect(
    data: Any,
    schema: Schema | str | Path,
    *,
    dataset: str,
    ledger: str | Path | Ledger,
    epsilon: float | None = None,
    delta: float | None = None,
    relation: Relation | RelationName | None = None,
    accountant: AccountantName | None = None,
    most_rows: int | None = None,
    version: str = "1",
    analyst: str | None = None,
    workers: int | None = None,
    cluster: Any = None,
    progress: bool | None = None,
    seed: int | None = None,
    heuristics: bool = False,
) -> Session:
    """Seal a table behind a privacy budget.

    Args:
      data: a pandas, polars (also lazy) or pyarrow table, a numpy array with the schema's columns, a
        Dask frame, an Arrow data set, or the path of a file: CSV (also packed), Parquet, Arrow, Stata,
        SAS or Excel. Of these CSV, Parquet, Arrow and Dask may be larger than memory.
      schema: the public facts, or the path of their TOML file.
      dataset: the name under which the ledger knows the budget; given, never derived from rows.
      ledger: a SQLite file, a PostgreSQL URL, or ":memory:" for experiments.
      epsilon: the whole budget, at registration. A data set the ledger knows keeps its own; giving
        other terms for it is an error (``session.change_terms`` changes them).
      delta: the whole delta, at registration; 0 if not given.
      relation: "replace-one" (default; the number of rows is public) or "add-remove".
      accountant: "basic" (default; sums of epsilon and delta) or "zcdp".
      most_rows: how many rows the table may have, at registration under add-remove, where bounds must
        not depend on their number; 2^24 (16,777,216) if not given, at most 2^38.
      version: your label of the state of the data; an identical plan on the same version is
        answered from the ledger for free.
      analyst: who asks, if not the owner: her share pays, if the data set has shares, and the owner's
        calls (``allot``, ``diagnose``, ``heuristics``, values for owners) are refused.
      workers: threads that work on row blocks; all cores if not given. Never changes a result.
      cluster: a ``dask.distributed.Client`` whose workers take the row blocks instead.
      progress: show a progress bar; only on a terminal if not given.
      seed: draw noise from a seed instead of the operating system. Only with ":memory:"; every
        release is stamped as a simulation and protects nobody.
      heuristics: allow plans whose noise nobody proved (baselines of the literature); their releases
        are stamped as not certified.

    Raises:
      SchemaError: if the schema still has bounds that were read from data.
      DataRefused: if a column is missing or the table is empty under replace-one.
      LedgerConflict: if the ledger knows the data set under other terms.
      AccessDenied: if others have a share of the data set and this analyst has none.
    """
    public = Schema.of(schema)
    _check_seed(seed, ledger)
    check_whole("workers", workers if workers is not None else 1, 1)
    named = None if relation is None else registered(relation)
    if accountant is not None:
        check_choice("accountant", accountant, ACCOUNTANTS)
    helpers = None if cluster is None else Cluster.of(cluster)
    opened = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
    known = opened.find_account(dataset)
    if known is None:
        check_owner(analyst, "The first protect of a data set", "Registering it fixes its budget.")
    agreed = named or (known.terms.relation if known else REPLACE_ONE)
    if most_rows is None and known is not None:
        most_rows = known.terms.most_rows
    check_most_rows(agreed, most_rows)
    cap = ROWS_CAP if most_rows is None else most_rows
    table = PrivateTable(data, public, agreed, cap, cluster=helpers)
    account = _open_account(
        opened, known, dataset, public, epsilon, delta, agreed, accountant, most_rows
    )
    return Session(
        table,
        opened,
        account,
        version=version,
        analyst=analyst,
        noise=noise_source(seed),
        workers=workers or os.cpu_count() or 1,
        cluster=helpers,
        progress=progress,
        heuristics=heuristics,
    )


def _open_account(
    ledger: Ledger,
    known: Account | None,
    dataset: str,
    schema: Schema,
    epsilon: float | None,
    delta: float | None,
    relation: Relation,
    accountant: AccountantName | None,
    most_rows: int | None,
) -> Account:
    """Register the data set, or continue it if the terms given agree with those it has."""
    if known is None and epsilon is None:
        raise ArgumentError(
            f"epsilon must be given the first time, got none for the unknown data set {dataset!r}. "
            "Check the name and the ledger, or give the budget."
        )
    total_epsilon = epsilon if epsilon is not None or known is None else known.terms.epsilon
    total_delta = delta if delta is not None else (known.terms.delta if known else 0.0)
    rules = accountant or (known.terms.accountant if known else DEFAULT_ACCOUNTANT)
    assert total_epsilon is not None
    return ledger.register(
        Terms(
            dataset=dataset,
            relation=relation,
            accountant=rules,
            epsilon=float(total_epsilon),
            delta=float(total_delta),
            budget=budget_amount(rules, total_epsilon, total_delta),
            schema_digest=schema.digest,
            most_rows=most_rows,
        ),
        schema,
    )


def _check_seed(seed: int | None, ledger: str | Path | Ledger) -> None:
    if seed is not None and ledger != ":memory:":
        raise ArgumentError(
            f"seed must be left out with a real ledger, got {seed!r}. Noise from a seed protects "
            "nobody; simulate with ledger=':memory:'."
        )
