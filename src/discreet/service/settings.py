"""What a service is told: the table ``[service]`` of the project file.

```toml
[service]
store = "service.db"            # keys, jobs and uploaded models: a SQLite file, or a PostgreSQL address
secret = "service.key"          # what digests of keys are made with; made when it is missing
requests_per_minute = 240       # of one key
largest_body = 1_000_000        # bytes

[service.models.risk-2026]
file = "risk.skops"
datasets = ["census"]           # all of them if left out
```
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from discreet.arguments import shown
from discreet.errors import ArgumentError
from discreet.numerics import check_whole
from discreet.plain import conform
from discreet.session.project import Project


@dataclass(frozen=True)
class ModelEntry:
    """A model that the service knows by a name of the owner's.

    Args:
      file: of the model, relative to the project file.
      datasets: whose analysts may ask about it; all if empty.
      output: see ``dc.Model``.
      class_: see ``dc.Model``; written ``class`` in the file.
      bounds: see ``dc.Model``.
      trust: the types of third parties in the file that may run, in a process of their own.
    """

    file: str
    datasets: tuple[str, ...] = ()
    output: str = "auto"
    class_: str | int | None = None
    bounds: tuple[float, float] | None = None
    trust: tuple[str, ...] = ()

    @classmethod
    def read(cls, name: str, plain: Any) -> ModelEntry:
        """Read an entry, or raise one sentence."""
        if not isinstance(plain, Mapping):
            raise ArgumentError(f"service.models.{name} must be a table with a file, got {plain!r}.")
        given = {("class_" if key == "class" else key): value for key, value in plain.items()}
        strange = [key for key in given if key not in {one.name for one in fields(cls)}]
        if strange or not isinstance(given.get("file"), str):
            raise ArgumentError(
                f"service.models.{name} must have file and may have datasets, output, class, "
                f"bounds and trust, got {', '.join(plain)}."
            )
        try:
            for listed in ("datasets", "trust"):
                given[listed] = tuple(conform(given.get(listed, ()), tuple[str, ...], listed))
            if given.get("bounds") is not None:
                given["bounds"] = conform(given["bounds"], tuple[float, float], "bounds")
        except ValueError as error:
            raise ArgumentError(f"service.models.{name} has a fault at {error}.") from None
        return cls(**given)


@dataclass(frozen=True)
class Settings:
    """What a service is told.

    Args:
      store: where keys, jobs and uploaded models are kept.
      secret: the file of what digests of keys are made with.
      requests_per_minute: how often a key may ask.
      strangers_per_minute: how often an address may come with a key that is none.
      largest_body: bytes of a request; models may have ``largest_model``.
      largest_model: bytes of a model's file.
      jobs: how many questions a process answers at once.
      waiting_jobs: how many may wait in a process before more are refused.
      jobs_each: how many of one asker's questions may wait in a process.
      prices: how many prices a process finds at once.
      slowest_price: seconds in which a price must be found, and a question be prepared: neither reads a
        row, so that this limit tells of none.
      keep_days: after which a worker that starts forgets jobs that ended, and the names of their
        requests with them; jobs whose answers are lost are kept.
      model_seconds: of a processor that a model in a process of its own may take for a call.
      model_megabytes: that it may take besides.
      slowest_request: seconds in which a request's head and body must have arrived.
      audit: a report that ``discreet audit --out`` wrote, for auditors.
      models: by name.
    """

    store: str = "service.db"
    secret: str = "service.key"
    requests_per_minute: int = 240
    strangers_per_minute: int = 30
    largest_body: int = 1_000_000
    largest_model: int = 64_000_000
    jobs: int = 2
    waiting_jobs: int = 200
    jobs_each: int = 40
    prices: int = 2
    slowest_price: int = 120
    keep_days: int = 90
    model_seconds: int = 4
    model_megabytes: int = 1_024
    slowest_request: int = 20
    audit: str = "audit.json"
    models: Mapping[str, ModelEntry] = field(default_factory=dict)

    @classmethod
    def of(cls, project: Project) -> Settings:
        """Read the settings of a project, or raise a sentence that names what is wrong."""
        given = dict(project.service)
        models = given.pop("models", {})
        known = {one.name: one for one in fields(cls) if one.name != "models"}
        for name, value in given.items():
            if name not in known:
                raise ArgumentError(
                    f"[service] must have entries of {', '.join(known)} and models, got {name}."
                )
            _check(name, value, known[name].default)
        if not isinstance(models, Mapping):
            raise ArgumentError(f"[service.models] must be tables, got {shown(models)}.")
        return cls(**given, models={name: ModelEntry.read(name, one) for name, one in models.items()})


def _check(name: str, value: Any, default: Any) -> None:
    if isinstance(default, int):
        check_whole(f"service.{name}", value, 1)
    elif not isinstance(value, str):
        raise ArgumentError(f"service.{name} must be a text, got {shown(value)}.")


def path_of(project: Project, where: str) -> Path:
    """Return a path of the settings, which is relative to the project file."""
    return Path(project.resolve(where))
