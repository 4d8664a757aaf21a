import { compiledWebhooks, type CompiledWebhook } from "../../admission/webhook.ts";
import { objectOf } from "../../registry/entry.ts";
import type { WebhookConfiguration } from "../../apis/admission-webhook.ts";
import { storagePrefix } from "../../apis/resource.ts";
import type { WatchCache } from "../../storage/watch-cache.ts";
import { compiledObjects } from "../../storage/compiled-objects.ts";

/** The webhooks in force, by the name of their configuration and then as listed: a configuration counts before its write is acknowledged. */
export function webhookConfigurations(
  cache: WatchCache,
  plural: "mutatingwebhookconfigurations" | "validatingwebhookconfigurations",
): () => readonly CompiledWebhook[] {
  const configurations = compiledObjects(cache, {
    prefix: storagePrefix({ group: "admissionregistration.k8s.io", plural }),
    compile: (entry) => compiledWebhooks(objectOf(entry) as WebhookConfiguration),
  });
  let from: ReturnType<typeof configurations> | undefined;
  let webhooks: readonly CompiledWebhook[] = [];
  return () => {
    const now = configurations();
    if (now !== from) {
      from = now;
      webhooks = now.flat();
    }
    return webhooks;
  };
}
