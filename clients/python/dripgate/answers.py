"""What Dripgate answers, and how it is read. What has another form is no answer: LimiterUnavailableError("answer")."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, field
from typing import Any, Mapping, Union

from ._http import Answer
from .errors import LimiterUnavailableError, RequestRefusedError

Members = Mapping[str, Any]


@dataclass(frozen=True)
class PolicyDecision:
    policy: str
    allowed: bool
    remaining: int | None
    reset_after_seconds: int | None
    shadow: bool = False
    unlimited: bool = False
    skipped: bool = False
    replayed: bool = False


@dataclass(frozen=True)
class Decision:
    """status: what the caller should answer (200, 429, 503). retry_after_*: None where waiting does not help. degraded: local, open or
    closed decided in place of the store; open too where Dripgate itself did not answer. id: for refund. headers: to send along.
    problem: the body of a refusal."""

    allowed: bool
    status: int
    policy: str | None = None
    limit: int | None = None
    remaining: int | None = None
    reset_after_seconds: int | None = None
    retry_after_seconds: int | None = None
    retry_after_ms: int | None = None
    degraded: str | None = None
    id: str | None = None
    policies: tuple[PolicyDecision, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    problem: Members | None = None


@dataclass(frozen=True)
class CheckRefusal:
    """One check of a batch that is wrong in itself."""

    status: int
    error: str


@dataclass(frozen=True)
class Permit:
    """id: for observe; None in failure mode open, and of a denial. frozen_until: RFC 3339 UTC."""

    allowed: bool
    id: str | None = None
    remaining_tokens: int | None = None
    retry_after_seconds: int | None = None
    retry_after_ms: int | None = None
    frozen_until: str | None = None
    degraded: str | None = None


@dataclass(frozen=True)
class Observation:
    """refused: a limit of the vendor refused the call, in whatever form it says so. applied: what the vendor's answer changed."""

    refused: bool
    frozen_until: str | None
    remaining_tokens: int | None
    retry_after_ms: int | None
    applied: tuple[str, ...]


@dataclass(frozen=True)
class Verdict:
    """verdict: now, scheduled, dead_letter or accepted. slot: RFC 3339 UTC. duplicate: this id was done before."""

    id: str
    verdict: str
    slot: str | None
    key: str | None
    reason: str | None
    duplicate: bool


@dataclass(frozen=True)
class LineRefusal:
    """One line of a batch that Dripgate did not take."""

    line: int
    status: int
    error: str
    id: str | None


CheckEntry = Union[Decision, CheckRefusal]
PublishEntry = Union[Verdict, LineRefusal]

OPEN_DECISION = Decision(allowed=True, status=200, degraded="open")
OPEN_PERMIT = Permit(allowed=True, degraded="open")


def _strange(what: str) -> LimiterUnavailableError:
    return LimiterUnavailableError(f"{what}: is it Dripgate that answers at this url?", "answer")


def _object(value: object, what: str) -> Members:
    if not isinstance(value, dict):
        raise _strange(f"{what} is no JSON object")
    return value


def _parse(text: bytes | str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        raise _strange("the answer is no JSON") from None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: object) -> int | None:
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


# Dripgate has decided: its store is away, and the limit is closed then.
_CLOSED_TYPE = "/errors/limiter-unavailable"


def _body(answer: Answer, expected: int) -> bytes:
    if answer.status == expected:
        return answer.body
    problem: Members = {}
    with contextlib.suppress(LimiterUnavailableError):  # not from Dripgate: the status alone counts
        problem = _object(_parse(answer.body), "the problem")
    detail = _text(problem.get("detail")) or _text(problem.get("title")) or "no detail"
    message = f"Dripgate answered {answer.status}: {detail[:1000]}"
    kind = _text(problem.get("type")) or "about:blank"
    if answer.status == 429 or answer.status >= 500 or answer.status < 400:
        reason = "closed" if kind == _CLOSED_TYPE else "status"
        raise LimiterUnavailableError(message, reason, answer.status, answer.retry_after_ms)
    raise RequestRefusedError(message, answer.status, kind)


def read_object(answer: Answer) -> Members:
    return _object(_parse(_body(answer, 200)), "the answer")


def _policy(value: object) -> PolicyDecision:
    members = _object(value, "the policy")
    return PolicyDecision(
        policy=str(members.get("policy")),
        allowed=members.get("allowed") is True,
        remaining=_number(members.get("remaining")),
        reset_after_seconds=_number(members.get("resetAfterSeconds")),
        **{name: members.get(name) is True for name in ("shadow", "unlimited", "skipped", "replayed")},
    )


def _decision(members: Members) -> Decision:
    allowed, status, headers = members.get("allowed"), _number(members.get("status")), members.get("headers")
    if not isinstance(allowed, bool) or status is None:
        raise _strange("the decision says neither yes nor no")
    return Decision(
        allowed=allowed,
        status=status,
        policy=_text(members.get("policy")),
        limit=_number(members.get("limit")),
        remaining=_number(members.get("remaining")),
        reset_after_seconds=_number(members.get("resetAfterSeconds")),
        retry_after_seconds=_number(members.get("retryAfterSeconds")),
        retry_after_ms=_number(members.get("retryAfterMs")),
        degraded=_text(members.get("degraded")),
        id=_text(members.get("id")),
        policies=tuple(_policy(one) for one in members.get("policies") or ()),
        headers=_object(headers, "the headers") if headers is not None else {},
        problem=_object(members["problem"], "the problem") if "problem" in members else None,
    )


def read_decision(answer: Answer) -> Decision:
    return _decision(read_object(answer))


def read_decisions(answer: Answer, asked: int) -> list[CheckEntry]:
    decisions = read_object(answer).get("decisions")
    if not isinstance(decisions, list) or len(decisions) != asked:
        raise _strange(f"not {asked} decisions")
    entries: list[CheckEntry] = []
    for one in decisions:
        members = _object(one, "the decision")
        error = _text(members.get("error"))
        entries.append(_decision(members) if error is None else CheckRefusal(_number(members.get("status")) or 400, error))
    return entries


def read_refunded(answer: Answer) -> bool:
    refunded = read_object(answer).get("refunded")
    if not isinstance(refunded, bool):
        raise _strange("the answer does not say whether it refunded")
    return refunded


def read_permit(answer: Answer) -> Permit:
    members = read_object(answer)
    allowed = members.get("allowed")
    if not isinstance(allowed, bool):
        raise _strange("the permit says neither yes nor no")
    return Permit(
        allowed=allowed,
        id=_text(members.get("id")),
        remaining_tokens=_number(members.get("remainingTokens")),
        retry_after_seconds=_number(members.get("retryAfterSeconds")),
        retry_after_ms=_number(members.get("retryAfterMs")),
        frozen_until=_text(members.get("frozenUntil")),
        degraded=_text(members.get("degraded")),
    )


def read_observation(answer: Answer) -> Observation:
    members = read_object(answer)
    applied = members.get("applied")
    return Observation(
        refused=members.get("refused") is True,
        frozen_until=_text(members.get("frozenUntil")),
        remaining_tokens=_number(members.get("remainingTokens")),
        retry_after_ms=_number(members.get("retryAfterMs")),
        applied=tuple(one for one in applied if isinstance(one, str)) if isinstance(applied, list) else (),
    )


def _verdict(members: Members) -> Verdict:
    event_id, verdict = _text(members.get("id")), _text(members.get("verdict"))
    if event_id is None or verdict is None:
        raise _strange("the verdict has no id")
    return Verdict(
        id=event_id,
        verdict=verdict,
        slot=_text(members.get("slot")),
        key=_text(members.get("key")),
        reason=_text(members.get("reason")),
        duplicate=members.get("duplicate") is True,
    )


def read_verdict(answer: Answer) -> Verdict:
    return _verdict(_object(_parse(_body(answer, 202)), "the verdict"))


def read_verdicts(answer: Answer, sent: int) -> list[PublishEntry]:
    lines = [line for line in _body(answer, 202).split(b"\n") if line]
    if len(lines) != sent:
        raise _strange(f"{len(lines)} verdicts for {sent} events")
    entries: list[PublishEntry] = []
    for line in lines:
        members = _object(_parse(line), "the verdict")
        error = _text(members.get("error"))
        if error is None:
            entries.append(_verdict(members))
        else:
            number, status = _number(members.get("line")), _number(members.get("status"))
            entries.append(LineRefusal(number or 0, status or 500, error, _text(members.get("id"))))
    return entries
