import type { AccessReviews } from "../admission/access-reviews.ts";
import type { ClusterReviews } from "../admission/cluster-reviews.ts";
import type { ReviewStage } from "../admission/review-answer.ts";
import type { JsonServerOptions } from "./serving/json-server.ts";
import { clusterWebhookPaths } from "./manifests/cluster-webhooks.ts";
import { webhookPaths } from "./manifests/webhook-configurations.ts";

export interface WebhookReviews {
  readonly reviews: AccessReviews;
  /** Absent where clusters are no concern. */
  readonly clusters?: ClusterReviews | undefined;
  /** Answers ConversionReviews; absent where nothing is converted. */
  readonly conversion?: ((review: unknown) => unknown) | undefined;
}

type Answered = readonly [path: string, stage: ReviewStage, by: AccessReviews | ClusterReviews];

/** What a server answers to AdmissionReviews and ConversionReviews, by path. */
export function webhookAnswers({
  reviews,
  clusters,
  conversion,
}: WebhookReviews): Pick<JsonServerOptions, "answerTo" | "takesAnyJson"> {
  const answered: readonly Answered[] = [
    [webhookPaths.mutate, "mutating", reviews],
    [webhookPaths.validate, "validating", reviews],
    ...(clusters === undefined
      ? []
      : ([
          [clusterWebhookPaths.mutate, "mutating", clusters],
          [clusterWebhookPaths.validate, "validating", clusters],
          [clusterWebhookPaths.validateBinding, "validating", clusters],
          [clusterWebhookPaths.validateAddOn, "validating", clusters],
        ] as const)),
  ];
  return {
    takesAnyJson: isConversion,
    answerTo: (path) => {
      if (conversion !== undefined && isConversion(path)) return async (asked) => conversion(asked);
      const found = answered.find(([known]) => path.endsWith(known));
      if (found === undefined) return undefined;
      const [, stage, by] = found;
      return async (asked) => by(stage, asked);
    },
  };
}

function isConversion(path: string): boolean {
  return path.endsWith(clusterWebhookPaths.convert);
}
