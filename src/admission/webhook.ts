import type { AdmissionWebhook, WebhookConfiguration } from "../apis/admission-webhook.ts";
import type { ReviewVersion } from "./admission-review.ts";
import { matchConditions, type MatchConditions } from "./match-conditions.ts";
import { requestMatch, type RequestMatch } from "./request-match.ts";

/** One webhook of a stored configuration, made ready for being asked again and again. */
export interface CompiledWebhook {
  readonly configuration: string;
  /** Tells the webhook from all others of its kind. */
  readonly id: string;
  readonly webhook: AdmissionWebhook;
  readonly match: RequestMatch;
  readonly conditions: MatchConditions;
  /** The first version it understands; undefined for none, which is an error when it is asked. */
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
