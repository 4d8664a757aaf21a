import { isExempt } from "./request-match.ts";
import type { AdmissionPlugin } from "./admission.ts";
import {
  allWebhooksMs,
  askWebhook,
  invocationOf,
  timedAsk,
  type Invocation,
  type WebhookPluginOptions,
} from "./webhook-ask.ts";

/**
 * Asks all webhooks that match, at the same time, and refuses when one of them does.
 * Source: apiserver pkg/admission/plugin/webhook/validating.
 */
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
        invocations.map((invocation, index) =>
          timedAsk(invocation, "validating", options, () => ask(invocation, index, options)),
        ),
      );
      // All are waited for, so that none goes on behind a finished request; the first in order is told.
      for (const result of results) if (result.status === "rejected") throw result.reason;
    },
  };
}

async function ask(invocation: Invocation, index: number, options: WebhookPluginOptions): Promise<void> {
  const { hook, request } = invocation;
  await askWebhook(invocation, "validating", {
    ...options,
    failedOpen: (webhook, why) => {
      request.annotate(`failed-open.validating.webhook.admission.k8s.io/round_0_index_${index}`, hook.webhook.name);
      options.failedOpen(webhook, why);
    },
  });
}
