import type { Client } from "../client/client.ts";
import type { Clock } from "../apimachinery/clock.ts";
import { jsonEqual } from "../apimachinery/equal.ts";
import type { JsonObject } from "../apimachinery/json-value.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { StatusError } from "../apimachinery/status.ts";
import { logEntry, type LogEntry } from "../apimachinery/log-entry.ts";
import { customResourceDefinitions } from "../apis/custom-resource-definition.ts";
import { fieldsAt } from "../apis/json-fields.ts";
import { mutatingWebhookConfigurations, validatingWebhookConfigurations } from "../apis/admission-webhook.ts";
import type { Resource } from "../apis/resource.ts";
import { failureMessage } from "../client/api-errors.ts";

export interface RegistrationOptions {
  readonly client: Client;
  readonly clock: Clock;
  /** The CA by which kube-apiserver verifies the webhook. */
  readonly caPem: string;
  /** The names of the configurations; there is one of each kind. */
  readonly names: readonly string[];
  /** The definitions whose versions the webhook converts, with their conversion but for the CA. */
  readonly conversions: readonly { readonly definition: string; readonly clientConfig: JsonObject }[];
  readonly log: (entry: LogEntry) => void;
  readonly signal: AbortSignal;
}

interface Configuration extends ApiObject {
  readonly webhooks?: readonly { readonly clientConfig?: { readonly caBundle?: string } }[];
}

const againMs = 2_000;
/** How often the configurations are checked: one that was created again has no CA. */
const lookMs = 60_000;

/** Writes the CA into webhook configurations and definitions once they exist, and again where it is missing, until `signal` aborts; never rejects. */
export async function registerWebhook(options: RegistrationOptions): Promise<void> {
  const { clock, log, signal } = options;
  let isReported = false;
  while (!signal.aborted) {
    try {
      const changed = await registerAll(options);
      // Also where nothing was to change: an API server that timed out may have done the earlier write.
      if (!isReported || changed) log(logEntry("WebhookRegistered", "the webhook is registered"));
      isReported = true;
      await clock.sleep(lookMs, signal);
    } catch (error) {
      isReported = false;
      log(
        logEntry("WebhookRegistrationFailed", "the webhook cannot be registered; it tries again", {
          error: failureMessage(error),
        }),
      );
      await clock.sleep(againMs, signal);
    }
  }
}

/** Whether there was something to change. */
async function registerAll(options: RegistrationOptions): Promise<boolean> {
  const changed: boolean[] = [];
  for (const name of options.names) {
    for (const resource of configurations) changed.push(await register(options, resource, name));
  }
  for (const one of options.conversions) changed.push(await registerConversion(options, one));
  return changed.includes(true);
}

const configurations: readonly Resource[] = [mutatingWebhookConfigurations, validatingWebhookConfigurations];

async function register({ client, caPem }: RegistrationOptions, resource: Resource, name: string): Promise<boolean> {
  const found = await client.get<Configuration>(resource, { name });
  const caBundle = base64(caPem);
  const hooks = found.webhooks ?? [];
  if (hooks.every(({ clientConfig }) => clientConfig?.caBundle === caBundle)) return false;
  const webhooks = hooks.map((hook) => ({ ...hook, clientConfig: { ...hook.clientConfig, caBundle } }));
  await client.update(resource, { ...found, ...typesOf(resource), webhooks });
  return true;
}

/** As `register`, of a definition. @throws StatusError Conflict where something else converts it, and its CA is none of ours */
async function registerConversion(
  { client, caPem }: RegistrationOptions,
  { definition, clientConfig }: RegistrationOptions["conversions"][number],
): Promise<boolean> {
  const resource = customResourceDefinitions;
  const found = await client.get(resource, { name: definition });
  const [spec, conversion] = [fieldsAt(found, "spec"), fieldsAt(found, "spec", "conversion")];
  const { caBundle: known, ...there } = fieldsAt(conversion, "webhook", "clientConfig");
  if (!jsonEqual(there, clientConfig)) {
    const message = `definition ${definition} is not converted here; see pratique manifests --older-add-ons`;
    throw new StatusError("Conflict", message);
  }
  const caBundle = base64(caPem);
  if (known === caBundle) return false;
  const webhook = { ...fieldsAt(conversion, "webhook"), clientConfig: { ...there, caBundle } };
  const next = { ...found, ...typesOf(resource), spec: { ...spec, conversion: { ...conversion, webhook } } };
  await client.update(resource, next);
  return true;
}

function typesOf({ group, version, kind }: Resource): { readonly apiVersion: string; readonly kind: string } {
  return { apiVersion: `${group}/${version}`, kind };
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
