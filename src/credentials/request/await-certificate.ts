import { jitteredBackoffMs, type Backoff } from "../../client/backoff.ts";
import type { Client } from "../../client/client.ts";
import { ConnectionError } from "../../client/client.ts";
import type { Clock } from "../../apimachinery/clock.ts";
import type { Condition } from "../../apimachinery/object.ts";
import { StatusError } from "../../apimachinery/status.ts";
import { waitingText } from "../../apis/csr-conditions.ts";
import { inWords } from "../../host/clock-skew.ts";
import { connectionFailure, type CallTarget } from "./connection-failure.ts";
import { JoinError, plainText, stopIfAborted } from "../join-error.ts";
import { certificateOf, certificateRequests, type NodeRequest, type RequestObject } from "./certificate-request.ts";

/** The pauses and deadlines of a wait; times in milliseconds. */
export interface Waiting {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  readonly target: CallTarget;
  /** Returns [0, 1). Where it is set, pauses after failures grow to half a minute with jitter, so that a fleet does not retry at once. */
  readonly random?: () => number;
  /** Whether messages name the next command; an agent's do not. Default true. */
  readonly advise?: boolean;
  /**
   * Called with why there is no certificate yet, from the request's conditions: reason and message. On each change, and once when an
   * approved request stays unsigned for half a minute.
   */
  readonly waitsFor?: ((message: string) => void) | undefined;
  /** Called with each new failure to reach the hub, and with undefined once the hub answers again. */
  readonly connection?: ((failure: JoinError | undefined) => void) | undefined;
  /** Called once when there is no decision after a second, and once at the approval. */
  readonly on: (state: "pending" | "approved") => void;
}

const quietMs = 1000;
const pollMs = 2000;
/** How long an approved request may stay unsigned before that is reported. */
const unsignedMs = 30_000;

/**
 * Waits until the request has a certificate and returns its PEM, not yet verified. Lists and watches by name; when a stream ends or fails
 * it lists again after 2 seconds, or after the longer pause that the hub requests, so that it survives a restart of the hub. @throws
 * JoinError denied, failed, deleted, csr-conflict, timeout-waiting, tls-mismatch, clock-skew, aborted @throws StatusError when the hub
 * rejects the caller: Unauthorized, Forbidden
 */
export async function awaitCertificate(client: Client, request: NodeRequest, waiting: Waiting): Promise<string> {
  const over = new AbortController();
  const signal = waiting.signal === undefined ? over.signal : AbortSignal.any([over.signal, waiting.signal]);
  const observation: Observation = { state: "new" };
  const notify = (state: "pending" | "approved"): void => {
    if (signal.aborted || observation.state === state || observation.state === "approved") return;
    observation.state = state;
    waiting.on(state);
    if (state !== "approved") return;
    // The approval supersedes what was reported before.
    delete observation.lastMessage;
    void waiting.clock.sleep(unsignedMs, signal).then(() => {
      if (!signal.aborted && observation.lastMessage === undefined) waiting.waitsFor?.(unsigned(observation.signer));
    });
  };
  void waiting.clock.sleep(quietMs, signal).then(() => notify("pending"));
  const observing: Observing = { ...waiting, notify, signal, observation };
  const watching = observe(client, request, observing);
  const deadline = waiting.clock.sleep(waiting.timeoutMs, signal).then(() => {
    stopIfAborted(waiting.signal);
    throw timeoutError(request, waiting, observation);
  });
  try {
    return await Promise.race([watching, deadline]);
  } finally {
    over.abort();
  }
}

interface Observation {
  state: "new" | "pending" | "approved";
  /** The last conditions from the hub. */
  lastMessage?: string;
  /** The signer of the request. */
  signer?: string;
  /** The last failure to reach the hub. */
  trouble?: JoinError;
}

type Observing = Waiting & {
  readonly notify: (state: "pending" | "approved") => void;
  readonly signal: AbortSignal;
  readonly observation: Observation;
};

async function observe(client: Client, request: NodeRequest, observing: Observing): Promise<string> {
  for (let failures = 0; ;) {
    let pauseMs = pollMs;
    try {
      const pem = await listAndWatch(client, request, observing);
      if (pem !== undefined) return pem;
      failures = 0;
    } catch (error) {
      const trouble = passing(error, observing);
      if (observing.observation.trouble?.message !== trouble.message) observing.connection?.(trouble);
      observing.observation.trouble = trouble;
      failures += 1;
      pauseMs = troublePause(error, failures, observing);
    }
    await observing.clock.sleep(pauseMs, observing.signal);
    stopIfAborted(observing.signal);
  }
}

const backoff: Backoff = { initialMs: 2 * pollMs, maxMs: 30_000 };

function troublePause(error: unknown, failures: number, { random }: Observing): number {
  const asked = error instanceof StatusError ? (error.details?.retryAfterSeconds ?? 0) * 1000 : 0;
  return Math.max(random === undefined ? pollMs : jitteredBackoffMs(backoff, failures, random), asked);
}

async function listAndWatch(client: Client, request: NodeRequest, observing: Observing): Promise<string | undefined> {
  const { signal, observation } = observing;
  const fieldSelector = `metadata.name=${request.name}`;
  const list = await client.list<RequestObject>(certificateRequests, { fieldSelector });
  if (observation.trouble !== undefined) observing.connection?.(undefined);
  delete observation.trouble;
  const present = list.items.find((item) => item.metadata.name === request.name);
  if (present === undefined) throw deleted(request, observing);
  const pem = certificateIn(present, request, observing);
  if (pem !== undefined) return pem;
  const { resourceVersion } = list.metadata;
  for await (const event of client.watch<RequestObject>(certificateRequests, {
    fieldSelector,
    resourceVersion,
    signal,
  })) {
    if (event.type === "BOOKMARK" || event.object.metadata.name !== request.name) continue;
    if (event.type === "DELETED") throw deleted(request, observing);
    const issued = certificateIn(event.object, request, observing);
    if (issued !== undefined) return issued;
  }
  return undefined;
}

/** The failure, when it is temporary. @throws it when it is not */
function passing(error: unknown, { target }: Observing): JoinError {
  if (error instanceof ConnectionError) {
    const failure = connectionFailure(error, target);
    if (failure.code === "unreachable" || failure.code === "not-a-hub") return failure;
    throw failure;
  }
  if (error instanceof StatusError && (error.code === 410 || error.code === 429 || error.code >= 500)) {
    return new JoinError("unreachable", `the hub answers: ${plainText(error.message)}`, { causeCode: error.reason });
  }
  throw error;
}

function certificateIn(object: RequestObject, request: NodeRequest, observing: Observing): string | undefined {
  requireOpen(object, request, observing);
  const { signerName } = object.spec ?? {};
  if (signerName !== undefined) observing.observation.signer = signerName;
  const conditions = object.status?.conditions ?? [];
  const isApproved = trueCondition(conditions, "Approved") !== undefined;
  const pem = isApproved ? certificateOf(object) : "";
  if (pem !== "") return pem;
  if (isApproved) observing.notify("approved");
  reportWaitReason(plainText(waitingText(conditions) ?? "", 500), observing);
  return undefined;
}

function trueCondition(conditions: readonly Condition[], type: string): Condition | undefined {
  return conditions.find((condition) => condition.type === type && condition.status === "True");
}

/** @throws JoinError csr-conflict, denied, failed */
function requireOpen({ metadata, status }: RequestObject, request: NodeRequest, { advise = true }: Observing): void {
  const advice = (text: string): string => (advise ? text : "");
  if (request.uid !== "" && metadata.uid !== request.uid) {
    throw new JoinError(
      "csr-conflict",
      `the request ${request.name} was replaced by another one of the same name while it waited${advice("; join again")}`,
    );
  }
  const conditions = status?.conditions ?? [];
  const denial = trueCondition(conditions, "Denied");
  if (denial !== undefined) {
    throw new JoinError(
      "denied",
      `the request ${request.name} was denied${given(denial)}${advice(`. If that was a mistake, have it deleted (\`kubectl delete csr ${request.name}\`) and join again, or join with --force, which creates a new request with a new key`)}`,
      { causeCode: denial.reason },
    );
  }
  const failure = trueCondition(conditions, "Failed");
  if (failure !== undefined) {
    throw new JoinError(
      "failed",
      `the hub approved the request ${request.name} but could not sign it${given(failure)}${advice(". Once that is repaired, join with --force, which creates a new request with a new key")}`,
      { causeCode: failure.reason },
    );
  }
}

function unsigned(signer = "of the request"): string {
  return `approved, and not signed within ${inWords(unsignedMs)}: check that the signer ${plainText(signer, 200)} runs`;
}

function reportWaitReason(message: string, { observation, waitsFor }: Observing): void {
  if (message === "" || observation.lastMessage === message) return;
  observation.lastMessage = message;
  waitsFor?.(message);
}

function given(condition: Pick<Condition, "reason" | "message">): string {
  const reason = plainText(condition.reason ?? "", 200);
  const message = plainText(condition.message ?? "");
  return [reason, message]
    .filter((part) => part !== "")
    .map((part) => `: ${part}`)
    .join("");
}

function deleted(request: NodeRequest, { advise = true }: Observing): JoinError {
  return new JoinError(
    "deleted",
    `the request ${request.name} was deleted before it was answered${advise ? "; join again to create a new request" : ""}`,
  );
}

function timeoutError(
  request: NodeRequest,
  { timeoutMs, advise = true }: Waiting,
  { state, trouble, lastMessage: answer }: Observation,
): JoinError {
  const time = inWords(timeoutMs);
  if (trouble !== undefined) {
    return new JoinError(
      "timeout-waiting",
      `no answer to the request ${request.name} within ${time}; last trouble: ${trouble.message}`,
      {
        cause: trouble,
        causeCode: trouble.causeCode,
      },
    );
  }
  const what =
    state === "approved"
      ? `the request ${request.name} is approved but was not signed within ${time}${answer === undefined ? "" : ` (the hub says: ${answer})`}: check that the hub's signer runs`
      : `no approver decided on the request ${request.name} within ${time}${answer === undefined ? "" : ` (the hub says: ${answer})`}; ${stepAfter(answer) ?? `have it approved with \`pratique approve csr/${request.name}\``}`;
  const next = advise ? ", then run the same join again: it resumes with the same key" : "";
  return new JoinError("timeout-waiting", `${what}${next}`);
}

/** For requests that an approval alone does not help. By the reason of the condition with which the hub leaves a request to an approver. */
const stepsByReason: Readonly<Record<string, string>> = {
  NodeNameInUse: "join with another --node-name, or have the certificate in use revoked on the hub",
  UserRevoked:
    "have the revocation of the user deleted on the hub (pratique revocations list), until when an approval issues nothing",
};

function stepAfter(answer: string | undefined): string | undefined {
  const [reason = ""] = answer?.split(": ", 1) ?? [];
  return Object.hasOwn(stepsByReason, reason) ? stepsByReason[reason] : undefined;
}
