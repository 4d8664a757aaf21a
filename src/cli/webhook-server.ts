import type { AccessReviews, ReviewStage } from "../admission/access-reviews.ts";
import { serveJson, type JsonServer, type JsonServerOptions } from "./json-server.ts";
import { webhookPaths } from "./manifests/webhook-configurations.ts";

export interface WebhookServerOptions extends Omit<JsonServerOptions, "answerTo"> {
  readonly reviews: AccessReviews;
}

/** Answers AdmissionReviews, and GET /livez, /healthz and /readyz, over HTTPS. */
export async function serveWebhook(options: WebhookServerOptions): Promise<JsonServer> {
  const { reviews, ...rest } = options;
  const stages: ReadonlyMap<string, ReviewStage> = new Map([
    [webhookPaths.mutate, "mutating"],
    [webhookPaths.validate, "validating"],
  ]);
  return serveJson({
    ...rest,
    answerTo: (path) => {
      const stage = [...stages].find(([known]) => path.endsWith(known))?.[1];
      return stage === undefined ? undefined : async (asked) => reviews(stage, asked);
    },
  });
}
