import { DecodeError } from "../apimachinery/decode-error.ts";
import { jsonEqual } from "../apimachinery/equal.ts";
import { applyJsonPatch } from "../apimachinery/json-patch.ts";
import { isJsonArray, isJsonObject } from "../apimachinery/json-value.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { PatchError } from "../apimachinery/patch-error.ts";
import { internalError } from "../apimachinery/status.ts";
import type { Resource } from "../apis/resource.ts";
import {
  type AdmissionPlugin,
  type AdmissionRequest,
  type MutationRound,
  newReinvocation,
  requireReinvocation,
  type Reinvocation,
} from "./admission.ts";
import { decoded } from "./policy-patch.ts";
import { isExempt, changedObject } from "./request-match.ts";
import {
  allWebhooksMs,
  askWebhook,
  invocationOf,
  timedAsk,
  unasked,
  type Invocation,
  type WebhookPluginOptions,
  type CompiledWebhook,
} from "./webhook-ask.ts";

/** The called webhooks, by their id. */
interface Memory extends Reinvocation {
  /** The deadline of both rounds. */
  readonly deadline: number;
}

/** Calls the matching webhooks one after the other, and applies their patches. Source: apiserver pkg/admission/plugin/webhook/mutating. */
export function mutatingWebhooks(options: WebhookPluginOptions): AdmissionPlugin {
  const memories = new WeakMap<object, Memory>();
  return {
    name: "MutatingAdmissionWebhook",
    mutate: async (request, round) => {
      const hooks = options.webhooks();
      if (hooks.length === 0 || isExempt(request)) return undefined;
      const memory = memories.get(round.request) ?? { ...newReinvocation(), deadline: options.now() + allWebhooksMs };
      memories.set(round.request, memory);
      if (round.number === 1 && !jsonEqual(memory.last, request.object)) requireReinvocation(memory);
      memory.last = await askAll(hooks, { request, round, memory, options });
      return memory.last;
    },
  };
}

interface Passage {
  readonly request: AdmissionRequest;
  readonly round: MutationRound;
  readonly memory: Memory;
  readonly options: WebhookPluginOptions;
}

async function askAll(hooks: readonly CompiledWebhook[], passage: Passage): Promise<ApiObject | undefined> {
  const { round, memory, options } = passage;
  let object = passage.request.object;
  for (const [index, hook] of hooks.entries()) {
    const request = { ...passage.request, object };
    const invocation = await invocationOf(hook, { request, deadline: memory.deadline }, options);
    if (invocation === undefined) continue;
    // A second round never calls a webhook for the first time.
    if (round.number === 1 && !memory.repeated.has(hook.id)) continue;
    const place = `round_${round.number}_index_${index}`;
    const next = await timedAsk({ ...invocation, stage: "mutating" }, options, () =>
      changedBy(invocation, place, options),
    );
    const isChanged = next !== object && !jsonEqual(next, object);
    request.annotate(
      `mutation.webhook.admission.k8s.io/${place}`,
      JSON.stringify({ configuration: hook.configuration, webhook: hook.webhook.name, mutated: isChanged }),
    );
    if (isChanged) {
      requireReinvocation(memory);
      round.again();
      object = next;
    }
    if (hook.webhook.reinvocationPolicy === "IfNeeded") memory.candidates.add(hook.id);
  }
  return object;
}

/** The object after a webhook call, in the version of the request. */
async function changedBy(
  invocation: Invocation,
  place: string,
  options: WebhookPluginOptions,
): Promise<ApiObject | undefined> {
  const { hook, request } = invocation;
  const noted = noting(invocation, `failed-open.mutation.webhook.admission.k8s.io/${place}`, options);
  const answer = await askWebhook(invocation, "mutating", noted);
  if (answer?.patch === undefined) return request.object;
  const patch = decodedPatch(answer.patch.base64);
  if (patch === undefined) {
    return unasked(hook, "received undecodable patch in webhook response", noted) ?? request.object;
  }
  if (patch.length === 0) return request.object;
  const { type } = answer.patch;
  if (type !== "JSONPatch") {
    const why = `unsupported patch type ${JSON.stringify(type.slice(0, 100))}`;
    return unasked(hook, why, noted) ?? request.object;
  }
  if (request.object === undefined) {
    const what = "attempted to modify the object, which is not supported for this operation";
    throw internalError(`admission webhook ${JSON.stringify(hook.webhook.name)} ${what}`);
  }
  const { resource } = invocation;
  return changedObject({ request, resource, convert: options.convert }, request.object, (object, kind) =>
    patched(object, patch, kind),
  );
}

function decodedPatch(base64: string): readonly unknown[] | undefined {
  try {
    const patch = JSON.parse(Buffer.from(base64, "base64").toString("utf8")) as unknown;
    return isJsonArray(patch) ? patch : undefined;
  } catch {
    return undefined;
  }
}

/** The patched object, decoded like that of a client: unknown fields are dropped, wrong types are an error. @throws StatusError InternalError. */
function patched(object: ApiObject, patch: readonly unknown[], resource: Resource): ApiObject {
  try {
    const value = applyJsonPatch(object, patch);
    if (!isJsonObject(value) || value["kind"] !== object.kind || value["apiVersion"] !== object.apiVersion) {
      throw new PatchError("failed", `the patch makes no object of kind ${object.kind}`);
    }
    return decoded(value, resource).object;
  } catch (error) {
    if (error instanceof PatchError || error instanceof DecodeError) throw internalError(error.message);
    throw error;
  }
}

/** Calls all matching webhooks concurrently, and denies when one of them does. Source: apiserver pkg/admission/plugin/webhook/validating. */
export function validatingWebhooks(options: WebhookPluginOptions): AdmissionPlugin {
  return {
    name: "ValidatingAdmissionWebhook",
    validate: async (request) => {
      const hooks = options.webhooks();
      if (hooks.length === 0 || isExempt(request)) return;
      const deadline = options.now() + allWebhooksMs;
      const invocations: Invocation[] = [];
      for (const hook of hooks) {
        const invocation = await invocationOf(hook, { request, deadline }, options);
        if (invocation !== undefined) invocations.push(invocation);
      }
      const results = await Promise.allSettled(
        invocations.map((invocation, index) => {
          const annotation = `failed-open.validating.webhook.admission.k8s.io/round_0_index_${index}`;
          return timedAsk({ ...invocation, stage: "validating" }, options, () =>
            askWebhook(invocation, "validating", noting(invocation, annotation, options)),
          );
        }),
      );
      // All are awaited, so that none continues after the request has ended; the first denial in order is returned.
      for (const result of results) if (result.status === "rejected") throw result.reason;
    },
  };
}

/** The options that also write an ignored webhook failure to the audit event. */
function noting({ request }: Invocation, annotation: string, options: WebhookPluginOptions): WebhookPluginOptions {
  return {
    ...options,
    failedOpen: (webhook, why) => {
      request.annotate(annotation, webhook);
      options.failedOpen(webhook, why);
    },
  };
}
