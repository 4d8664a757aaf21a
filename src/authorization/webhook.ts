import { createHash } from "node:crypto";
import type { NamedAuthorizer, Attributes, Decision } from "./authorizer.ts";
import type { WebhookConfiguration } from "./configuration.ts";
import { matchConditions, type Match, type MatchConditions } from "./match-conditions.ts";
import { ConnectionError } from "../client/client.ts";
import type { Clock } from "../apimachinery/clock.ts";
import type { AuthorizationMetrics } from "./metrics.ts";
import { openKubeconfigTarget, TargetError, webhookFailure, retriedReview } from "../webhooks/kubeconfig-target.ts";
import { isFields, valueAt } from "../apis/json-fields.ts";
import { accessReviewSpec, type AskedSpec } from "./access-review-spec.ts";

const maxBytes = 1 << 20;

export interface AuthorizationWebhookOptions {
  /** The option that names the file, for messages. */
  readonly flag: string;
  readonly name: string;
  readonly webhook: WebhookConfiguration;
  readonly clock: Clock;
  readonly release: string;
  readonly metrics: AuthorizationMetrics;
  /** Replaces the service; the file is then not read. */
  readonly answer?: ((review: object) => Promise<unknown>) | undefined;
}

/** Reads the file that names the service. There is no call before the first request. @throws HubError that names option, file and field. */
export async function openAuthorizationWebhook(
  options: AuthorizationWebhookOptions,
): Promise<{ readonly authorizer: NamedAuthorizer; readonly close: () => void }> {
  const { name, webhook, clock, metrics } = options;
  const service = options.answer === undefined ? await openService(options) : inProcess(options.answer);
  const authorizer = webhookAuthorizer({
    ...webhook,
    ...(webhook.matchConditions.length === 0 ? {} : { match: matchConditions(webhook.matchConditions) }),
    now: () => clock.now(),
    post: service.post,
    failedOpen: () => metrics.failedOpen(name),
    excluded: () => metrics.excluded(name),
  });
  return { authorizer: { name, ...authorizer }, close: service.close };
}

interface Service {
  readonly post: (review: object) => Promise<unknown>;
  readonly close: () => void;
}

async function openService(options: AuthorizationWebhookOptions): Promise<Service> {
  const { flag, name, webhook, clock, release, metrics } = options;
  const { kubeconfigFile: file, timeoutMs } = webhook;
  const target = await openKubeconfigTarget({ flag, file, clock, release, timeoutMs, maxBytes });
  const usable = async (review: object): Promise<unknown> => {
    const reply = await target.post(review);
    webhookAnswer(reply, webhook.version);
    return reply;
  };
  const ask = retriedReview((review) => measured(usable(review), name, metrics), clock);
  const post: Service["post"] = async (review) => {
    try {
      return await ask(review);
    } catch (error) {
      throw error instanceof WebhookAnswerError ? error : webhookFailure(error);
    }
  };
  return { post, close: () => target.close() };
}

function inProcess(post: Service["post"]): Service {
  return { post, close: () => undefined };
}

async function measured(answer: Promise<unknown>, name: string, metrics: AuthorizationMetrics): Promise<unknown> {
  const begun = performance.now();
  const taken = (): number => (performance.now() - begun) / 1000;
  try {
    const value = await answer;
    metrics.asked(name, "success", taken());
    return value;
  } catch (error) {
    metrics.asked(name, isTimeout(error) ? "timeout" : "error", taken());
    throw error;
  }
}

function isTimeout(error: unknown): boolean {
  if (error instanceof ConnectionError) return error.code === "TIMEOUT" || error.code === "ETIMEDOUT";
  return error instanceof TargetError && error.status === 504;
}

/** The decision of a service on a request. */
interface Answer {
  readonly allowed: boolean;
  readonly denied: boolean;
  readonly reason: string;
}

export interface WebhookAuthorizerOptions extends Pick<
  WebhookConfiguration,
  "version" | "onError" | "authorizedMs" | "unauthorizedMs"
> {
  /** Sends a review and resolves to the response; retries and time-outs are its own. Rejects where there is no response. */
  readonly post: (review: object) => Promise<unknown>;
  /** Which requests are sent to the service; absent: all. */
  readonly match?: MatchConditions;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** How many decisions are cached; default 8192. */
  readonly capacity?: number;
  /** Called for each request that is passed on without a decision. */
  readonly failedOpen?: () => void;
  /** Called for each request that the conditions exclude. */
  readonly excluded?: () => void;
}

/** From this many characters that a client chooses, decisions are not cached. Source: apiserver maxControlledAttrCacheSize. */
const maxCachedCharacters = 10_000;
const defaultCapacity = 8192;
/** The maximum number of calls in flight; beyond it requests fail at once, as they would after the time-out of a service that hangs. */
const maxInFlight = 512;
const everyRequest: Match = { matches: true };
const matchesAll: MatchConditions = () => everyRequest;
const bothText = "webhook subject access review returned both allow and deny response";

/**
 * Calls a service of the operator. Decisions are cached for a short time, errors never; equal requests share one call
 * in flight. A response that is no SubjectAccessReview of the requested version counts as an error.
 * It can report whether the service was called. Source: apiserver plugin/pkg/authorizer/webhook.
 */
export function webhookAuthorizer(
  options: WebhookAuthorizerOptions,
): Required<Pick<NamedAuthorizer, "authorize" | "explain">> {
  const { match = matchesAll } = options;
  const answers = answerCache(options);
  const inFlight = new Map<string, Promise<Answer>>();
  const notes = new WeakMap<Decision, string>();
  const noted = (decision: Decision, note: string): Decision => {
    notes.set(decision, note);
    return decision;
  };

  function answered(spec: AskedSpec, attributes: Attributes): Promise<Answer> | Answer {
    const key = createHash("sha256").update(JSON.stringify(spec), "utf8").digest("base64");
    const known = answers.get(key);
    if (known !== undefined) return known;
    const pending = inFlight.get(key);
    if (pending !== undefined) return pending;
    if (inFlight.size >= maxInFlight) {
      throw new WebhookAnswerError("crowded", "too many questions to the authorization webhook are under way");
    }
    const call = ask(spec, options)
      .then((answer) => {
        if (isSmall(attributes, answer)) answers.add(key, answer);
        return answer;
      })
      .finally(() => inFlight.delete(key));
    inFlight.set(key, call);
    return call;
  }

  async function webhook(attributes: Attributes): Promise<Decision> {
    const spec = accessReviewSpec(attributes);
    const matched = match(spec);
    if ("error" in matched) {
      return noted({ verdict: options.onError, reason: "", error: matched.error }, "its service was not asked");
    }
    if (!matched.matches) {
      options.excluded?.();
      return noted({ verdict: "noOpinion", reason: "" }, "its matchConditions leave this request out");
    }
    try {
      const answer = answered(spec, attributes);
      return answer instanceof Promise
        ? decisionOf(await answer)
        : noted(decisionOf(answer), "an answer that was kept");
    } catch (error) {
      if (options.onError === "noOpinion") options.failedOpen?.();
      const why = error instanceof Error ? error.message : "the authorization webhook failed";
      const counts = options.onError === "deny" ? "a denial" : "no opinion";
      return noted({ verdict: options.onError, reason: "", error: why }, `no answer counts as ${counts} here`);
    }
  }

  return {
    authorize: webhook,
    explain: (decision) => {
      const note = notes.get(decision);
      return note === undefined ? {} : { note };
    },
  };
}

function decisionOf({ allowed, denied, reason }: Answer): Decision {
  if (denied) return allowed ? { verdict: "deny", reason, error: bothText } : { verdict: "deny", reason };
  return { verdict: allowed ? "allow" : "noOpinion", reason };
}

/** Evicts the least recently used decisions first. */
function answerCache({ now, authorizedMs, unauthorizedMs, capacity = defaultCapacity }: WebhookAuthorizerOptions): {
  readonly get: (key: string) => Answer | undefined;
  readonly add: (key: string, answer: Answer) => void;
} {
  const cached = new Map<string, { readonly from: number; readonly until: number; readonly answer: Answer }>();
  return {
    get: (key) => {
      const found = cached.get(key);
      if (found === undefined) return undefined;
      cached.delete(key);
      // With a clock that was set back to before the decision, its age is unknown.
      if (now() < found.from || now() >= found.until) return undefined;
      cached.set(key, found);
      return found.answer;
    },
    add: (key, answer) => {
      const ttl = answer.allowed ? authorizedMs : unauthorizedMs;
      if (ttl <= 0) return;
      const from = now();
      cached.set(key, { from, until: from + ttl, answer });
      for (const oldest of cached.keys()) {
        if (cached.size <= capacity) return;
        cached.delete(oldest);
      }
    },
  };
}

/** Large requests may be an attempt to fill the memory; a large reason would have the same effect. */
function isSmall(attributes: Attributes, { reason }: Answer): boolean {
  const { namespace, verb, group, version, resource, subresource, name, path = "" } = attributes;
  const texts = [namespace, verb, group, version, resource, subresource, name, path];
  return reason.length < maxCachedCharacters && texts.reduce((sum, text) => sum + text.length, 0) < maxCachedCharacters;
}

async function ask(spec: AskedSpec, { version, post }: WebhookAuthorizerOptions): Promise<Answer> {
  const apiVersion = `authorization.k8s.io/${version}`;
  const sent = version === "v1" ? spec : inOldForm(spec);
  const reply = await post({
    kind: "SubjectAccessReview",
    apiVersion,
    metadata: {},
    spec: sent,
    status: { allowed: false },
  });
  return webhookAnswer(reply, version);
}

/** What v1 calls `groups` is `group` in v1beta1. */
function inOldForm({ groups, ...spec }: AskedSpec): object {
  return groups === undefined ? spec : { ...spec, group: groups };
}

/** A call without a response, or with an invalid one; the message never contains text of the service. */
class WebhookAnswerError extends Error {
  override readonly name = "WebhookAnswerError";
  readonly code: "answer" | "crowded";
  constructor(code: WebhookAnswerError["code"], message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Reads a response to a review of that version. As in Kubernetes, its kind and any field may be absent or null;
 * a field that is set must be of the right type. @throws WebhookAnswerError
 */
function webhookAnswer(reply: unknown, version: WebhookAuthorizerOptions["version"]): Answer {
  const apiVersion = `authorization.k8s.io/${version}`;
  if (!isReviewOf(apiVersion, reply)) throw nonsense(`something else than a SubjectAccessReview of ${apiVersion}`);
  const status = valueAt(reply, "status") ?? {};
  const detail = isFields(status) ? status : { allowed: status };
  const [allowed, denied, reason] = [detail["allowed"] ?? false, detail["denied"] ?? false, detail["reason"] ?? ""];
  if (typeof allowed !== "boolean" || typeof denied !== "boolean" || typeof reason !== "string") {
    throw nonsense("a status that cannot be understood");
  }
  return { allowed, denied, reason };
}

function isReviewOf(apiVersion: string, reply: unknown): boolean {
  if (!isFields(reply)) return false;
  const { kind, apiVersion: version } = reply;
  return (
    ["", "SubjectAccessReview"].includes((kind ?? "") as string) && ["", apiVersion].includes((version ?? "") as string)
  );
}

function nonsense(what: string): WebhookAnswerError {
  return new WebhookAnswerError("answer", `the authorization webhook answered with ${what}`);
}
