"""Try to break it: exact and sampled privacy losses, hunts for certificates, attacks on releases.

```python
import discreet as dc

dc.audit.exact(law, pairs=[(0, 1)], epsilon=1.0)  # the true loss of a law that can be computed
dc.audit.sample(mechanism, first, second)  # a lower bound on epsilon of anything that can be run
dc.audit.hunt(plan, schema, model)  # neighbours that move a sum farther than its certificate says
dc.audit.model(model, schema)  # does it answer each row by itself?
dc.audit.run()  # all of it, on this product
```

Nothing here is part of a release. Audits run on tables that are public or made up, on mechanisms of
ours or of anybody's.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOMES = {
    "AttackResult": "discreet.audit.attacks.scoring",
    "Ceiling": "discreet.audit.attacks.ceiling",
    "ask_session": "discreet.audit.attacks.difference",
    "attack_attribute": "discreet.audit.attacks.attributes",
    "attack_membership": "discreet.audit.attacks.membership",
    "attack_repeats": "discreet.audit.attacks.difference",
    "attack_training": "discreet.audit.attacks.simulated.shadow",
    "attribute_tables": "discreet.audit.attacks.attributes",
    "ceiling_of": "discreet.audit.attacks.ceiling",
    "exact": "discreet.audit.laws.exact_audit",
    "exact_target": "discreet.audit.attacks.targets",
    "hunt": "discreet.audit.hunting.hunter",
    "infer_attribute": "discreet.audit.attacks.attributes",
    "lattice": "discreet.audit.sampling.float_lattice",
    "linkage": "discreet.audit.attacks.linkage",
    "lower_bounds": "discreet.audit.limits.table",
    "membership": "discreet.audit.attacks.membership",
    "model": "discreet.audit.hunting.answers",
    "one_run": "discreet.audit.sampling.canaries",
    "product_checks": "discreet.audit.suite",
    "reconstruct_background": "discreet.audit.attacks.simulated.backgrounds",
    "reconstruct_queries": "discreet.audit.attacks.simulated.reconstruction",
    "run": "discreet.audit.suite",
    "sample": "discreet.audit.sampling.auditing",
    "sums_target": "discreet.audit.attacks.targets",
    "timing": "discreet.audit.sampling.run_time",
    "trace_records": "discreet.audit.attacks.simulated.fingerprinting",
}
"""Names are imported when they are first used: attacks import models, models import much."""

__all__ = sorted(_HOMES)

if TYPE_CHECKING:
    from discreet.audit.attacks.attributes import attack_attribute as attack_attribute
    from discreet.audit.attacks.attributes import attribute_tables as attribute_tables
    from discreet.audit.attacks.attributes import infer_attribute as infer_attribute
    from discreet.audit.attacks.ceiling import Ceiling as Ceiling
    from discreet.audit.attacks.ceiling import ceiling_of as ceiling_of
    from discreet.audit.attacks.difference import ask_session as ask_session
    from discreet.audit.attacks.difference import attack_repeats as attack_repeats
    from discreet.audit.attacks.linkage import linkage as linkage
    from discreet.audit.attacks.membership import attack_membership as attack_membership
    from discreet.audit.attacks.membership import membership as membership
    from discreet.audit.attacks.scoring import AttackResult as AttackResult
    from discreet.audit.attacks.simulated.backgrounds import (
        reconstruct_background as reconstruct_background,
    )
    from discreet.audit.attacks.simulated.fingerprinting import trace_records as trace_records
    from discreet.audit.attacks.simulated.reconstruction import (
        reconstruct_queries as reconstruct_queries,
    )
    from discreet.audit.attacks.simulated.shadow import attack_training as attack_training
    from discreet.audit.attacks.targets import exact_target as exact_target
    from discreet.audit.attacks.targets import sums_target as sums_target
    from discreet.audit.hunting.answers import model as model
    from discreet.audit.hunting.hunter import hunt as hunt
    from discreet.audit.laws.exact_audit import exact as exact
    from discreet.audit.limits.table import lower_bounds as lower_bounds
    from discreet.audit.sampling.auditing import sample as sample
    from discreet.audit.sampling.canaries import one_run as one_run
    from discreet.audit.sampling.float_lattice import lattice as lattice
    from discreet.audit.sampling.run_time import timing as timing
    from discreet.audit.suite import product_checks as product_checks
    from discreet.audit.suite import run as run


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.audit' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
