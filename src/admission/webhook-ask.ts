import {
  StatusError,
  badRequest,
  forbidden,
  internalError,
  type StatusCause,
  type StatusDetails,
} from "../apimachinery/status.ts";
import { WebhookCallError, type CallWebhook } from "../apimachinery/webhook-call.ts";
import { qualifiedNameProblems } from "../apimachinery/names.ts";
import { stringAt } from "../apis/json-fields.ts";
import type { Resource } from "../apis/resource.ts";
import type { AdmissionRequest } from "./admission.ts";
import {
  admissionReview,
  ReviewError,
  reviewAnswer,
  type ReviewAnswer,
  type ReviewVersion,
} from "./admission-review.ts";
import {
  presentedObjects,
  type ConvertObject,
  matchedResource,
  requestMatch,
  type MatchLookups,
  type RequestMatch,
} from "./request-match.ts";
import { type Authorize, judged, type NextTurn } from "./expression-inputs.ts";
import { judgeConditions, matchConditions, type MatchConditions } from "./expression-run.ts";
import type { AdmissionWebhook, WebhookConfiguration } from "../apis/admission-webhook.ts";
import { isJsonObject, ownValue, type JsonObject } from "../apimachinery/json-value.ts";

export interface WebhookPluginOptions {
  /** The webhooks in force, sorted by the name of their configuration, then in its order. */
  readonly webhooks: () => readonly CompiledWebhook[];
  readonly call: CallWebhook;
  readonly lookups: MatchLookups;
  readonly convert: ConvertObject;
  readonly authorize: Authorize;
  readonly turn: NextTurn;
  readonly uuid: () => string;
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
  /** Called when a failed webhook call is ignored. */
  readonly failedOpen: (webhook: string, why: string) => void;
  /** Called after each webhook call, whatever its result. */
  readonly asked: (asked: WebhookAsked) => void;
}

/** One call of a webhook for one request. */
export interface WebhookAsked {
  readonly name: string;
  readonly stage: "mutating" | "validating";
  readonly operation: AdmissionRequest["operation"];
  /** Whether the call ended the request. */
  readonly isRejected: boolean;
  readonly ms: number;
}

/** A webhook to call for a request, which matched as `resource`. */
export interface Invocation {
  readonly hook: CompiledWebhook;
  readonly request: AdmissionRequest;
  readonly resource: Resource;
  /** The deadline of the whole request, by `now`. */
  readonly deadline: number;
}

/** The time limit for all webhooks of a request together, in milliseconds. Source: the request timeout of kube-apiserver. */
export const allWebhooksMs = 34_000;

/** The invocation of a webhook for a request; undefined where they do not match. @throws StatusError where matching fails, which rejects the request */
export async function invocationOf(
  hook: CompiledWebhook,
  { request, deadline }: Pick<Invocation, "request" | "deadline">,
  { lookups, convert, authorize, turn }: WebhookPluginOptions,
): Promise<Invocation | undefined> {
  const resource = matchedResource(hook.match, request, lookups);
  if (resource === undefined) return undefined;
  if (hook.conditions.length > 0) {
    const verdict = await judged({ request, resource, convert, authorize, turn }, (inputs) =>
      judgeConditions(hook.conditions, inputs),
    );
    if ("failed" in verdict) {
      if (hook.webhook.failurePolicy === "Ignore") return undefined;
      throw forbidden(request.resource, request.name, verdict.failed);
    }
    if (!verdict.matches) return undefined;
  }
  return { hook, request, resource, deadline };
}

/** Reports to `options.asked` how long `ask` took and whether it threw. */
export async function timedAsk<T>(
  { hook, request, stage }: Invocation & Pick<WebhookAsked, "stage">,
  { now, asked }: Pick<WebhookPluginOptions, "now" | "asked">,
  ask: () => Promise<T>,
): Promise<T> {
  const begun = now();
  let isRejected = true;
  try {
    const answer = await ask();
    isRejected = false;
    return answer;
  } finally {
    asked({ name: hook.webhook.name, stage, operation: request.operation, isRejected, ms: now() - begun });
  }
}

const maxAnnotation = 10 * 1024;

/**
 * Calls one webhook and passes on its warnings and audit annotations. Undefined where the call failed and failurePolicy ignores it.
 * @throws StatusError where the webhook denies, or the call failed and failurePolicy does not ignore it.
 */
export async function askWebhook(
  invocation: Invocation,
  stage: "mutating" | "validating",
  options: WebhookPluginOptions,
): Promise<ReviewAnswer | undefined> {
  const { hook, request, deadline } = invocation;
  const { webhook } = hook;
  if (deadline <= options.now()) {
    throw new StatusError("Timeout", "Timeout: request did not complete within requested timeout");
  }
  checkDryRun(hook, request);
  let answer: ReviewAnswer;
  try {
    answer = await called(invocation, stage, options);
  } catch (error) {
    if (!(error instanceof WebhookCallError) && !(error instanceof ReviewError)) throw error;
    const what = error instanceof ReviewError ? "received invalid webhook response" : "failed to call webhook";
    return unasked(hook, `${what}: ${error.message}`, options);
  }
  for (const [key, value] of Object.entries(answer.auditAnnotations)) {
    const full = `${webhook.name}/${key}`;
    if (qualifiedNameProblems(full).length === 0) request.annotate(full, value.slice(0, maxAnnotation));
  }
  answer.warnings.forEach(request.warn);
  if (!answer.allowed) throw webhookRefusal(webhook.name, answer.status);
  return answer;
}

/** Applies failurePolicy to a failed call: ignores it, or ends the request. @throws StatusError InternalError for the latter. */
export function unasked({ webhook }: CompiledWebhook, why: string, { failedOpen }: WebhookPluginOptions): undefined {
  const message = `failed calling webhook ${JSON.stringify(webhook.name)}: ${why}`;
  if (webhook.failurePolicy !== "Ignore") throw internalError(message);
  failedOpen(webhook.name, message);
}

function checkDryRun({ webhook }: CompiledWebhook, { dryRun }: AdmissionRequest): void {
  if (!dryRun || webhook.sideEffects === "None" || webhook.sideEffects === "NoneOnDryRun") return;
  throw badRequest(`admission webhook ${JSON.stringify(webhook.name)} does not support dry run`);
}

async function called(
  { hook, request, resource, deadline }: Invocation,
  stage: "mutating" | "validating",
  { call, convert, uuid, now }: WebhookPluginOptions,
): Promise<ReviewAnswer> {
  const { webhook, version } = hook;
  if (version === undefined) {
    throw new WebhookCallError("target", "webhook does not accept known AdmissionReview versions (v1, v1beta1)");
  }
  const uid = uuid();
  const { object, oldObject } = await presentedObjects({ request, resource, convert });
  const answer = await call({
    config: webhook.clientConfig,
    body: admissionReview({ version, uid, request, resource, object, oldObject }),
    timeoutMs: Math.max(1, Math.min(webhook.timeoutSeconds * 1000, deadline - now())),
    announceTimeout: true,
  });
  return reviewAnswer(answer, { version, uid }, stage);
}

/** One webhook of a stored configuration, compiled for repeated calls. */
export interface CompiledWebhook {
  readonly configuration: string;
  /** Identifies the webhook among all of its kind. */
  readonly id: string;
  readonly webhook: AdmissionWebhook;
  readonly match: RequestMatch;
  readonly conditions: MatchConditions;
  /** The first AdmissionReview version that it supports; undefined for none, which makes its call fail. */
  readonly version: ReviewVersion | undefined;
}

/** The webhooks of a configuration, in its order. */
export function compiledWebhooks(configuration: WebhookConfiguration): readonly CompiledWebhook[] {
  const name = configuration.metadata.name ?? "";
  return (configuration.webhooks ?? []).map((webhook) => ({
    configuration: name,
    id: `${name}/${webhook.name}`,
    webhook,
    match: requestMatch(webhook, webhook.rules ?? []),
    conditions: matchConditions(webhook.matchConditions, { params: false }),
    version: webhook.admissionReviewVersions.find((version) => version === "v1" || version === "v1beta1"),
  }));
}

/** The error for a request that a webhook denied, from the Status in its response: at least code 400. Source: apiserver pkg/admission/plugin/webhook/errors ToStatusErr. */
export function webhookRefusal(webhook: string, status: JsonObject = {}): StatusError {
  const denied = `admission webhook ${JSON.stringify(webhook)} denied the request`;
  const [message, reason] = [stringAt(status, "message"), stringAt(status, "reason")];
  const code = ownValue(status, "code");
  const explained = message === "" ? reason : message;
  return new StatusError("", explained === "" ? `${denied} without explanation` : `${denied}: ${explained}`, {
    code: typeof code === "number" && Number.isInteger(code) && code >= 400 && code <= 599 ? code : 400,
    ...(reason === "" ? {} : { foreignReason: reason.slice(0, 256) }),
    ...detailsIn(status),
  });
}

const maxCauses = 64;

function detailsIn(status: JsonObject): { readonly details?: StatusDetails } {
  const details = ownValue(status, "details");
  if (!isJsonObject(details)) return {};
  const retryAfter = ownValue(details, "retryAfterSeconds");
  const causes = ownValue(details, "causes");
  const texts = (["name", "group", "kind", "uid"] as const).flatMap((field) => {
    const text = stringAt(details, field);
    return text === "" ? [] : [[field, text]];
  });
  return {
    details: {
      ...(Object.fromEntries(texts) as StatusDetails),
      ...(Array.isArray(causes) ? { causes: causes.slice(0, maxCauses).filter(isJsonObject).map(causeOf) } : {}),
      ...(typeof retryAfter === "number" && Number.isInteger(retryAfter) && retryAfter > 0
        ? { retryAfterSeconds: Math.min(retryAfter, 2 ** 31 - 1) }
        : {}),
    },
  };
}

function causeOf(cause: JsonObject): StatusCause {
  const field = stringAt(cause, "field");
  return {
    reason: stringAt(cause, "reason"),
    message: stringAt(cause, "message"),
    ...(field === "" ? {} : { field }),
  };
}
