"""Every plan of the product hunted, and a model of every form asked at length."""

from __future__ import annotations

import math
from itertools import product
from typing import get_args

from discreet.audit.finding import Check, Effort, Finding
from discreet.audit.hunting.answers import model as ask_at_length
from discreet.audit.hunting.hunter import hunt
from discreet.audit.hunting.model_report import ModelAudit
from discreet.audit.hunting.questions import SCHEMA, Form, Question, model_of, questions
from discreet.audit.hunting.report import HuntReport

_QUICK = 0.5
_QUICK_WITH_MODELS = 1.0
"""Seconds of a hunt in the audit of a minute, which has many of them."""


def checks() -> list[Check]:
    """Return the hunt of every plan, and the audit of a model of every form."""
    return [*(_hunted(one) for one in questions()), *(_asked(form) for form in get_args(Form))]


def _hunted(question: Question) -> Check:
    quick = (_QUICK_WITH_MODELS if question.forms else _QUICK) * (1 + len(question.also))

    def look(effort: Effort) -> Finding:
        return finding_of_hunts(hunts_of(question, _seconds(effort, quick), effort.seed))

    subject = f"the certificates of {question.plan}"
    return Check(f"hunt: {question.plan}", "hunt", subject, look)


def hunts_of(question: Question, seconds: float, seed: int) -> list[HuntReport]:
    """Return the hunts of a question with all its models and relations, in so many seconds together."""
    asks = (question.ask, *question.also)
    cases = list(product(asks, question.forms or (None,), question.relations))
    return [
        hunt(
            ask(None if form is None else model_of(form)),
            SCHEMA,
            relation=relation,
            rows=question.rows,
            seconds=seconds / len(cases),
            seed=seed,
            progress=False,
        )
        for ask, form, relation in cases
    ]


def finding_of_hunts(reports: list[HuntReport]) -> Finding:
    """Return what several hunts of one subject found together."""
    shares: dict[str, float] = {}
    for report in reports:
        for stage, share in report.tightness.items():
            shares[stage] = max(share, shares.get(stage, 0.0))
    broken = [one for report in reports for one in report.found]
    worst = max([*shares.values(), *(one.share for one in broken)], default=0.0)
    told = ", ".join(f"{stage} {share:.3g}" for stage, share in shares.items())
    said = f"neighbours used these shares of certificates: {told or 'none was tried'}."
    if broken:
        said = f"a certificate is broken: {broken[0]}."
    return Finding(
        check="",
        kind="hunt",
        held=not broken and bool(shares),
        promised=1.0,
        found=worst,
        unit="share",
        said=said[0].upper() + said[1:],
        tries=sum(report.pairs for report in reports),
        curve={"share": list(shares.values())},
    )


def _asked(form: Form) -> Check:
    def look(effort: Effort) -> Finding:
        seconds = _seconds(effort, _QUICK)
        return finding_of_audit(
            ask_at_length(model_of(form), SCHEMA, seconds=seconds, seed=effort.seed)
        )

    return Check(f"model: {form}", "model", f"answers of a model of the form {form}", look)


def finding_of_audit(audit: ModelAudit) -> Finding:
    """Return the audit of a model as a finding: the share of what is paid for that it used."""
    broken = [one for one in audit.questions if one.needed and not one.yes]
    said = f"{audit.batches} batches of public rows moved no answer farther than is paid for."
    if audit.refused:
        said = f"A plan refuses it: {audit.refused}"
    if broken:
        said = f"No to: {broken[0].question}? {broken[0].where}, {broken[0].figure:.3g}."
    share = audit.share if audit.held or broken else math.inf
    return Finding(
        check="",
        kind="model",
        held=audit.held,
        promised=1.0,
        found=share,
        unit="share",
        said=said,
        tries=audit.batches,
    )


def _seconds(effort: Effort, quick: float) -> float:
    """Return the time of a check: all of it, or little in the audit of a minute."""
    return min(effort.seconds, quick) if effort.seconds <= Effort.seconds else effort.seconds
