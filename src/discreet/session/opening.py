"""``protect``: from a table and its public schema to a session with a budget."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from warnings import warn

from discreet.data import PrivateTable
from discreet.data.sources.elsewhere.spark import is_spark
from discreet.data.workers.cluster import Cluster
from discreet.errors import ArgumentError, DataRefused, LedgerUnavailable
from discreet.ledger import Account, Ledger, State, Terms
from discreet.ledger.checks import check_most_rows, check_name
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
    population: str | None = None,
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
        Dask or Spark frame, an Arrow data set, a Delta or Iceberg table, a DuckDB relation, a
        ``dc.SqlQuery`` of a database, or a path: of a file (CSV, also packed, Parquet, Arrow, Stata,
        SAS, Excel), of a folder of Parquet files or a pattern of them; also an address that fsspec
        opens (``s3://``).
        All may be larger than memory but frames, Stata, SAS and Excel. Files are read where they are,
        with every release; what is asked of a database is asked once, here, and kept in a sealed
        temporary file in a random order.
      schema: the public facts, or the path of their TOML file.
      dataset: the name under which the ledger knows the budget; given, never derived from rows.
      ledger: a SQLite file, a PostgreSQL URL, or ":memory:" for experiments.
      population: a name for the persons that several data sets are about, which then share one budget:
        that of the first, which others agree with or leave out. What a data set spent before it joined
        is carried in; it never leaves. For data sets that protect persons, of one ledger, with one
        relation and accountant.
      epsilon: the whole budget, at registration. A data set the ledger knows keeps its own; giving
        other terms for it is an error (``session.change_terms`` changes them).
      delta: the whole delta, at registration; 0 if not given.
      relation: "replace-one" (default; the number of rows is public) or "add-remove".
      accountant: "basic" (default; sums of epsilon and delta) or "zcdp".
      most_rows: how many rows the table may have, at registration under add-remove, where bounds must
        not depend on their number; 2^24 (16,777,216) if not given, at most 2^38.
      version: your label of the state of the data; an identical plan on the same version is
        answered from the ledger for free. Data with another public number of records, or in another
        state of a Delta or Iceberg table, than this version was first opened with are refused; another
        kind of source, other columns or parts are told.
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
      LedgerConflict: if the ledger knows the data set, or the population, under other terms, or the
        population has less left than the data set already spent.
      AccessDenied: if others have a share of the data set and this analyst has none.

    Guarantees:
      - What all data sets of a population release keeps its budget, for one person with all her rows
        in all of them. [population]
    """
    public = Schema.of(schema)
    _check_seed(seed, ledger)
    check_whole("workers", workers if workers is not None else 1, 1)
    named = None if relation is None else registered(relation)
    if accountant is not None:
        check_choice("accountant", accountant, ACCOUNTANTS)
    helpers = _helpers(data, cluster)
    opened = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
    known = opened.find_account(dataset)
    payer = _find_payer(opened, known, population, analyst)
    like = known or payer
    agreed = named or (like.terms.relation if like else REPLACE_ONE)
    if most_rows is None and known is not None:
        most_rows = known.terms.most_rows
    check_most_rows(agreed, most_rows)
    cap = ROWS_CAP if most_rows is None else most_rows
    table = PrivateTable(data, public, agreed, cap, cluster=helpers)
    if known is not None:
        _check_version(opened, dataset, version, table.facts)
    rules = accountant or (like.terms.accountant if like else DEFAULT_ACCOUNTANT)
    if population is None and known is not None and not known.is_population:
        population = known.terms.population
    terms = _terms(payer, dataset, population, epsilon, delta, agreed, rules)
    terms = replace(terms, schema_digest=public.digest, most_rows=most_rows)
    account = opened.register(terms, public, State(version, table.facts))
    if known is None:  # somebody else may have been first
        _check_version(opened, dataset, version, table.facts)
    elif not opened.find_state(dataset, version):
        _note_version(opened, dataset, State(version, table.facts))
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


def _helpers(data: Any, cluster: Any) -> Cluster | None:
    """Return who works on the rows besides this process."""
    if not is_spark(data):
        return None if cluster is None else Cluster.of(cluster)
    from discreet.data.sources.elsewhere.spark_executors import SparkExecutors

    if cluster is not None:
        raise ArgumentError("cluster must be left out with a Spark frame, whose executors do the work.")
    return SparkExecutors(data)


def _find_payer(
    ledger: Ledger, known: Account | None, population: str | None, analyst: str | None
) -> Account | None:
    """Return the account whose budget pays, if there is one; only the owner begins or joins one."""
    if known is None:
        check_owner(analyst, "The first protect of a data set", "Registering it fixes its budget.")
    if population is None:
        return known
    check_name("population", population)
    if known is not None and known.terms.population != population:
        check_owner(analyst, "Joining a population", "It changes whose budget pays.")
    return ledger.find_account(population)


def _terms(
    payer: Account | None,
    dataset: str,
    population: str | None,
    epsilon: float | None,
    delta: float | None,
    relation: Relation,
    accountant: AccountantName,
) -> Terms:
    """Return the terms of a budget: those given, else those that the ledger has; no schema yet."""
    if payer is None and epsilon is None:
        unknown = f"data set {dataset!r}" if population is None else f"population {population!r}"
        raise ArgumentError(
            f"epsilon must be given the first time, got none for the unknown {unknown}. "
            "Check the name and the ledger, or give the budget."
        )
    total_epsilon = epsilon if epsilon is not None or payer is None else payer.terms.epsilon
    total_delta = delta if delta is not None else (payer.terms.delta if payer else 0.0)
    assert total_epsilon is not None
    return Terms(
        dataset=dataset,
        relation=relation,
        accountant=accountant,
        epsilon=float(total_epsilon),
        delta=float(total_delta),
        budget=budget_amount(accountant, total_epsilon, total_delta),
        schema_digest="",
        population=population,
    )


def _check_version(ledger: Ledger, dataset: str, version: str, facts: dict[str, Any]) -> None:
    """Refuse a state of the data under the name of another, whose answers would be taken for its."""
    before = ledger.find_state(dataset, version)
    changed = [fact for fact, now in facts.items() if before.get(fact, now) != now]
    for fact in changed:
        if fact in _TOLD_APART:
            raise DataRefused(
                f"data must be in the state that version {version!r} stands for, got "
                f"{_told(fact, facts[fact])} where it was opened with {_told(fact, before[fact])}. "
                "Give this state a version of its own.",
                rule="version",
            )
    if changed:
        warn(
            f"The data of version {version!r} came from another kind of source, or with other columns "
            "or parts, when they were opened before. Give them another version if the rows are others.",
            stacklevel=3,
        )


_TOLD_APART = ("records", "state")
"""Facts that no two states of the same rows have different."""


def _note_version(ledger: Ledger, dataset: str, state: State) -> None:
    """Note what is public of a state that is new, before anything is asked of it."""
    with suppress(LedgerUnavailable):  # one that can only be read: nothing is spent there
        ledger.note_state(dataset, state)


def _told(fact: str, value: Any) -> str:
    return f"{value} records" if fact == "records" else f"the state {value!r}"


def _check_seed(seed: int | None, ledger: str | Path | Ledger) -> None:
    if seed is not None and ledger != ":memory:":
        raise ArgumentError(
            f"seed must be left out with a real ledger, got {seed!r}. Noise from a seed protects "
            "nobody; simulate with ledger=':memory:'."
        )
