/** Reads what Dripgate answers. What has another form is no answer: LimiterUnavailableError("answer"). */
import { LimiterUnavailableError, RequestRefusedError } from "./errors.js";
import type { Answer } from "./transport.js";
import type { CheckRefusal, Decision, LineRefusal, Observation, Permit, Verdict } from "./types.js";

export type Members = Readonly<Record<string, unknown>>;

const strange = (what: string): LimiterUnavailableError =>
  new LimiterUnavailableError(`${what}: is it Dripgate that answers at this url?`, "answer");

function membersOf(value: unknown, what: string): Members {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw strange(`${what} is no JSON object`);
  return value as Members;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw strange("the answer is no JSON");
  }
}

const textOrNull = (value: unknown): string | null => (typeof value === "string" ? value : null);
const numberOrNull = (value: unknown): number | null => (typeof value === "number" ? value : null);

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : [];
}

/** Statuses that say nothing about the request: another try, or the failure mode. */
const isUnavailable = (status: number): boolean => status === 429 || status >= 500 || status < 400;

/** Dripgate has decided: its store is away, and the limit is closed then. */
const CLOSED_TYPE = "/errors/limiter-unavailable";

/** The answer's body, if its status is the expected one. */
export function bodyOf(answer: Answer, expected: number): string {
  const text = answer.body.toString("utf8");
  if (answer.status === expected) return text;
  let problem: Members = {};
  try {
    problem = membersOf(JSON.parse(text), "the problem");
  } catch {
    // Not from Dripgate: the status alone counts.
  }
  const detail = textOrNull(problem["detail"]) ?? textOrNull(problem["title"]) ?? "no detail";
  const message = `Dripgate answered ${answer.status}: ${detail.slice(0, 1000)}`;
  const type = textOrNull(problem["type"]) ?? "about:blank";
  const reason = type === CLOSED_TYPE ? "closed" : "status";
  if (isUnavailable(answer.status)) throw new LimiterUnavailableError(message, reason, answer.status, answer.retryAfterMs);
  throw new RequestRefusedError(message, answer.status, type);
}

export const objectOf = (answer: Answer): Members => membersOf(parse(bodyOf(answer, 200)), "the answer");

/** A decision as it is on the wire: its names are ours. */
function decisionOf(value: unknown): Decision {
  const members = membersOf(value, "the decision");
  if (typeof members["allowed"] !== "boolean" || typeof members["status"] !== "number") throw strange("the decision says neither yes nor no");
  return members as unknown as Decision;
}

export const readDecision = (answer: Answer): Decision => decisionOf(objectOf(answer));

export function readDecisions(answer: Answer, asked: number): (Decision | CheckRefusal)[] {
  const decisions = objectOf(answer)["decisions"];
  if (!Array.isArray(decisions) || decisions.length !== asked) throw strange(`not ${asked} decisions`);
  return decisions.map((one: unknown) => {
    const members = membersOf(one, "the decision");
    if (typeof members["error"] === "string") return { status: numberOrNull(members["status"]) ?? 400, error: members["error"] };
    return decisionOf(members);
  });
}

export function readRefunded(answer: Answer): boolean {
  const refunded = objectOf(answer)["refunded"];
  if (typeof refunded !== "boolean") throw strange("the answer does not say whether it refunded");
  return refunded;
}

export function readPermit(answer: Answer): Permit {
  const members = objectOf(answer);
  if (typeof members["allowed"] !== "boolean") throw strange("the permit says neither yes nor no");
  return {
    allowed: members["allowed"],
    id: textOrNull(members["id"]),
    remainingTokens: numberOrNull(members["remainingTokens"]),
    retryAfterSeconds: numberOrNull(members["retryAfterSeconds"]),
    retryAfterMs: numberOrNull(members["retryAfterMs"]),
    frozenUntil: textOrNull(members["frozenUntil"]),
    degraded: textOrNull(members["degraded"]) as Permit["degraded"],
  };
}

export function readObservation(answer: Answer): Observation {
  const members = objectOf(answer);
  return {
    refused: members["refused"] === true,
    frozenUntil: textOrNull(members["frozenUntil"]),
    remainingTokens: numberOrNull(members["remainingTokens"]),
    retryAfterMs: numberOrNull(members["retryAfterMs"]),
    applied: textsOf(members["applied"]),
  };
}

function verdictOf(members: Members): Verdict {
  const { id, verdict } = members;
  if (typeof id !== "string" || typeof verdict !== "string") throw strange("the verdict has no id");
  return {
    id,
    verdict: verdict as Verdict["verdict"],
    slot: textOrNull(members["slot"]),
    key: textOrNull(members["key"]),
    reason: textOrNull(members["reason"]),
    duplicate: members["duplicate"] === true,
  };
}

export const readVerdict = (answer: Answer): Verdict => verdictOf(membersOf(parse(bodyOf(answer, 202)), "the verdict"));

export function readVerdicts(answer: Answer, sent: number): (Verdict | LineRefusal)[] {
  const lines = bodyOf(answer, 202).split("\n").filter((line) => line !== "");
  if (lines.length !== sent) throw strange(`${lines.length} verdicts for ${sent} events`);
  return lines.map((line) => {
    const members = membersOf(parse(line), "the verdict");
    if (typeof members["error"] !== "string") return verdictOf(members);
    return {
      line: numberOrNull(members["line"]) ?? 0,
      status: numberOrNull(members["status"]) ?? 500,
      error: members["error"],
      id: textOrNull(members["id"]),
    };
  });
}
