"""A server: which data sets, models and questions it has, and the jobs that run there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote

from discreet.arguments import shown
from discreet.cards import Card
from discreet.client.driving import AwaitedLine, BlockingLine, awaited, blocking
from discreet.client.jobs import JobFacts, cancel, wait_for
from discreet.client.sending import Request, Steps, ask
from discreet.client.session import (
    AsyncRemoteSession,
    RemoteDataset,
    RemoteModel,
    RemoteSession,
    remote_model,
)
from discreet.errors import AccessDenied, ArgumentError
from discreet.plans import Release
from discreet.session import Remaining

if TYPE_CHECKING:
    import pandas as pd


class RemoteJob:
    """A question that a server works on, or worked on; its facts are of when it was looked up.

    Attributes:
      facts: state, phase, questions and what paid for them.
    """

    def __init__(
        self, line: BlockingLine | AwaitedLine, facts: JobFacts, progress: bool | None = None
    ) -> None:
        self._line, self.facts, self._progress = line, facts, progress

    def __repr__(self) -> str:
        asked = ", ".join(self.facts.plans)
        return f"{type(self).__name__}({self.facts.id!r}, {self.facts.state}: {asked})"

    def __reduce__(self) -> NoReturn:
        raise AccessDenied("A job of a server cannot be copied or saved: it holds a key.")

    def _releases(self) -> Steps[list[Release]]:
        """Wait until it has ended, and return its releases; its error is raised."""
        return (yield from wait_for(self.facts.id, self._progress))

    def _cancel(self) -> Steps[bool]:
        """Cancel it if nothing was charged yet; False if it was, and goes on."""
        return (yield from cancel(self.facts.id))

    def _again(self) -> Steps[list[Release]]:
        """Ask again, for another charge, what was charged and lost; the owner's call."""
        found = yield from ask(Request("POST", f"/v1/jobs/{quote(self.facts.id, safe='')}/again"))
        return (yield from wait_for(JobFacts.read(found["job"]).id, self._progress))


class BlockingJob(RemoteJob):
    """A job of a server."""

    releases = blocking(RemoteJob._releases)
    cancel = blocking(RemoteJob._cancel)
    again = blocking(RemoteJob._again)


class AwaitedJob(RemoteJob):
    """A job of a server, for programs that wait for many things at once."""

    releases = awaited(RemoteJob._releases)
    cancel = awaited(RemoteJob._cancel)
    again = awaited(RemoteJob._again)


class RemoteServer:
    """What is known of a server, and every question to it as steps.

    Attributes:
      role: what the key may do: owner, analyst or auditor.
      analyst: whose allotment pays; None is the owner.
    """

    _session: type[RemoteDataset]
    _job_kind: type[RemoteJob]

    def __init__(self, line: BlockingLine | AwaitedLine, *, progress: bool | None = None) -> None:
        self._line, self._progress = line, progress
        self.role = ""
        self.analyst: str | None = None

    def __repr__(self) -> str:
        whose = "" if self.analyst is None else f" {self.analyst}"
        return f"{type(self).__name__}({self._line.address}, {self.role}{whose})"

    def __reduce__(self) -> NoReturn:
        raise AccessDenied("A server cannot be copied or saved: it holds a key. Connect again.")

    def _meet(self) -> Steps[None]:
        """Learn what the key may do; a wrong key is refused here."""
        told = yield from ask(Request("GET", "/v1/me"))
        self.role, self.analyst = str(told["role"]), told.get("analyst")

    def _datasets(self) -> Steps[pd.DataFrame]:
        """Return the data sets that the key opens, with what is left of their budgets.

        One that cannot be opened now has a ``reason``, and nothing else but its name.
        """
        import pandas as pd

        told = yield from ask(Request("GET", "/v1/datasets"))
        return pd.DataFrame([_dataset_row(entry) for entry in told])

    def _dataset(self, name: str, *, public_key: str | None = None) -> Steps[Any]:
        """Return a data set, to price and release questions about it.

        Args:
          name: of the data set.
          public_key: the owner's, as you got it from the owner in another way; the server's card must
            be signed with it.
        """
        _check_text("name", name)
        card = yield from self._card(name, public_key)
        return self._session(self._line, card, analyst=self.analyst, progress=self._progress)

    def _card(self, name: str, public_key: str | None = None) -> Steps[Card]:
        plain = yield from ask(Request("GET", f"/v1/datasets/{quote(name, safe='')}"))
        return Card.from_json(plain, public_key=public_key)

    def _model(self, name: str) -> Steps[RemoteModel]:
        """Return a model of the server by its name, to make plans of."""
        _check_text("name", name)
        told = yield from ask(Request("GET", "/v1/datasets"))
        holding = [entry["dataset"] for entry in told if name in _models_of(entry)]
        if not holding:
            known = (
                ", ".join(sorted({model for entry in told for model in _models_of(entry)})) or "none"
            )
            raise ArgumentError(
                f"name must be one of the server's models ({known}), got {shown(name)}."
            )
        return remote_model((yield from self._card(holding[0])), name)

    def _models(self) -> Steps[pd.DataFrame]:
        """Return the models that may be asked about."""
        import pandas as pd

        return pd.DataFrame((yield from ask(Request("GET", "/v1/models"))))

    def _plans(self) -> Steps[dict[str, Any]]:
        """Return every question as plain data, as ``describe_plans`` does, and whether it travels."""
        told: dict[str, Any] = yield from ask(Request("GET", "/v1/plans"))
        return told

    def _jobs(self) -> Steps[pd.DataFrame]:
        """Return your jobs, newest first."""
        import pandas as pd

        return pd.DataFrame((yield from ask(Request("GET", "/v1/jobs"))))

    def _job(self, id: str) -> Steps[Any]:
        """Return a job by its id: how far it is, and its releases once it has ended."""
        _check_text("id", id)
        jobs = yield from ask(Request("GET", "/v1/jobs"))
        found = [job for job in jobs if job["id"] == id]
        if not found:
            raise ArgumentError(f"id must be one of your jobs, got {shown(id)}. See server.jobs().")
        return self._job_kind(self._line, JobFacts.read(found[0]), self._progress)


class Server(RemoteServer):
    """A server of data sets; made by ``connect``."""

    _line: BlockingLine
    _session = RemoteSession
    _job_kind = BlockingJob

    meet = blocking(RemoteServer._meet)
    datasets = blocking(RemoteServer._datasets)
    dataset = blocking(RemoteServer._dataset)
    model = blocking(RemoteServer._model)
    models = blocking(RemoteServer._models)
    plans = blocking(RemoteServer._plans)
    jobs = blocking(RemoteServer._jobs)
    job = blocking(RemoteServer._job)

    def close(self) -> None:
        """Close the connection."""
        self._line.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


class AsyncServer(RemoteServer):
    """A server of data sets, for programs that wait for many things at once; see ``connect_async``."""

    _line: AwaitedLine
    _session = AsyncRemoteSession
    _job_kind = AwaitedJob

    meet = awaited(RemoteServer._meet)
    datasets = awaited(RemoteServer._datasets)
    dataset = awaited(RemoteServer._dataset)
    model = awaited(RemoteServer._model)
    models = awaited(RemoteServer._models)
    plans = awaited(RemoteServer._plans)
    jobs = awaited(RemoteServer._jobs)
    job = awaited(RemoteServer._job)

    async def close(self) -> None:
        """Close the connection."""
        await self._line.close()

    async def __aenter__(self) -> AsyncServer:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()


def _dataset_row(entry: dict[str, Any]) -> dict[str, Any]:
    """Return a data set as a row: what is left as numbers of its accountant's unit."""
    left = {part: entry.get(part) for part in ("remaining", "yours")}
    numbers = {part: None if told is None else _loss(told) for part, told in left.items()}
    return {**entry, **numbers, "models": ", ".join(_models_of(entry)), "reason": entry.get("reason")}


def _models_of(entry: dict[str, Any]) -> list[str]:
    """Return the models of a data set; of one that cannot be asked now, which has a reason, none."""
    return list(entry.get("models", ()))


def _loss(told: dict[str, Any]) -> float:
    return Remaining.from_json(told.get("remaining", told)).loss


def _check_text(name: str, value: Any) -> None:
    if not isinstance(value, str) or not value:
        raise ArgumentError(f"{name} must be a text, got {shown(value)}.")
