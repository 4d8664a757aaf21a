import type { NamedAuthorizer } from "./authorizer.ts";
import type { WebhookConfiguration } from "./configuration.ts";
import { matchConditions } from "./match-conditions.ts";
import { webhookAuthorizer, webhookAnswer, WebhookAnswerError } from "./webhook.ts";
import { ConnectionError } from "../client/client.ts";
import type { Clock } from "../apimachinery/clock.ts";
import type { AuthorizationMetrics } from "./metrics.ts";
import { openKubeconfigTarget, TargetError } from "../webhooks/kubeconfig-target.ts";
import { webhookFailure } from "../webhooks/webhook-failure.ts";
import { retriedReview } from "../webhooks/webhook-retry.ts";

const maxBytes = 1 << 20;

export interface AuthorizationWebhookOptions {
  /** The option that names the file, for messages. */
  readonly flag: string;
  readonly name: string;
  readonly webhook: WebhookConfiguration;
  readonly clock: Clock;
  readonly release: string;
  readonly metrics: AuthorizationMetrics;
  /** Answers in place of the service; the file is then not read. */
  readonly answer?: ((review: object) => Promise<unknown>) | undefined;
}

/** Reads the file that says where the service is. Nobody is asked before the first request. @throws HubError that names option, file and field. */
export async function openAuthorizationWebhook(
  options: AuthorizationWebhookOptions,
): Promise<{ readonly authorizer: NamedAuthorizer; readonly close: () => void }> {
  const { name, webhook, clock, metrics } = options;
  const service = options.answer === undefined ? await openService(options) : inProcess(options.answer);
  const authorizer = webhookAuthorizer({
    version: webhook.version,
    onError: webhook.onError,
    authorizedMs: webhook.authorizedMs,
    unauthorizedMs: webhook.unauthorizedMs,
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

async function openService({
  flag,
  name,
  webhook,
  clock,
  release,
  metrics,
}: AuthorizationWebhookOptions): Promise<Service> {
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
