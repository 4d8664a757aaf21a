import type { Client } from "../../client/client.ts";
import type { Clock } from "../../core/clock.ts";
import type { ApiObject } from "../../core/object.ts";
import type { LogEntry } from "../../hub/hub-options.ts";
import { mutatingWebhookConfigurations } from "../../resources/mutating-webhook-configuration.ts";
import { validatingWebhookConfigurations } from "../../resources/validating-webhook-configuration.ts";
import type { Resource } from "../../resources/resource.ts";
import { failureOf } from "../failure.ts";

export interface RegistrationOptions {
  readonly client: Client;
  readonly clock: Clock;
  /** By which kube-apiserver is to know the webhook. */
  readonly caPem: string;
  /** The names of the configurations, of which there is one of each kind. */
  readonly names: readonly string[];
  readonly log: (entry: LogEntry) => void;
  readonly signal: AbortSignal;
}

interface Configuration extends ApiObject {
  readonly webhooks?: readonly { readonly clientConfig?: { readonly caBundle?: string } }[];
}

const againMs = 2_000;
/** How often the configurations are looked at again: whoever made them anew left the CA out. */
const lookMs = 60_000;

/** Puts the CA into the webhook configurations, once they are there, and again where it is gone, until `signal` aborts; never rejects. */
export async function registerWebhook(options: RegistrationOptions): Promise<void> {
  const { clock, log, signal } = options;
  while (!signal.aborted) {
    try {
      const changed = [];
      for (const name of options.names) {
        for (const resource of configurations) changed.push(await register(options, resource, name));
      }
      if (changed.includes(true)) log({ level: "info", message: "the webhook is registered" });
      await clock.sleep(lookMs, signal);
    } catch (error) {
      log({ level: "warn", message: "the webhook is not registered", error: failureOf(error).message });
      await clock.sleep(againMs, signal);
    }
  }
}

const configurations: readonly Resource[] = [mutatingWebhookConfigurations, validatingWebhookConfigurations];

/** Whether there was something to change. */
async function register({ client, caPem }: RegistrationOptions, resource: Resource, name: string): Promise<boolean> {
  const found = await client.get<Configuration>(resource, { name });
  const caBundle = Buffer.from(caPem).toString("base64");
  const hooks = found.webhooks ?? [];
  if (hooks.every(({ clientConfig }) => clientConfig?.caBundle === caBundle)) return false;
  const webhooks = hooks.map((hook) => ({ ...hook, clientConfig: { ...hook.clientConfig, caBundle } }));
  const types = { apiVersion: `${resource.group}/${resource.version}`, kind: resource.kind };
  await client.update(resource, { ...found, ...types, webhooks });
  return true;
}
