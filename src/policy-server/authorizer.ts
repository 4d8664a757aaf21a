import { logEntry } from "../apimachinery/log-entry.ts";
import type { SecureServing, ServingPair } from "../operator/serving/secure-serving.ts";
import { serveReviews, type JsonAnswer } from "../operator/serving/json-server.ts";
import type { WatchedRevocations } from "../operator/watched-revocations.ts";
import type { World } from "../operator/world.ts";
import { askedReview, statusOf, type ReviewStatus } from "./authorizer-review.ts";
import type { DecidingPolicy } from "./deciding-policy.ts";
import { Counter, Gauge, Histogram, Registry } from "../metrics/library.ts";

/** An authorizer and its dependencies. */
interface Authorizer {
  readonly policy: DecidingPolicy;
  /** Checked before the policy. */
  readonly revocations: WatchedRevocations | undefined;
  readonly serving: SecureServing;
  readonly pair: ServingPair;
  readonly metrics: AuthorizerMetrics;
  readonly world: World;
  readonly signal: AbortSignal;
}

/** For an authorizer that only denies revoked credentials. */
export const noPolicy: DecidingPolicy = {
  ask: async () => ({ json: "false" }),
  look: async () => undefined,
  close: () => undefined,
};

const lookEveryMs = 2_000;

/** Answers SubjectAccessReviews over HTTPS until `signal` aborts, and reloads the policy when its files change. @throws OptionError */
export async function serveAuthorizer(authorizer: Authorizer): Promise<void> {
  const { policy, revocations, serving, pair, metrics, world, signal } = authorizer;
  const answer = decide(authorizer);
  await serveReviews({
    program: "the authorizer",
    serving,
    pair,
    world,
    signal,
    answerTo: (path) => (path === "/authorize" ? answer : undefined),
    isReady: () => revocations?.isLoaded() ?? true,
    answersEarly: true,
    metrics: metrics.text,
    whileServing: async () => {
      for (;;) {
        await world.clock.sleep(lookEveryMs, signal);
        if (signal.aborted) return;
        await policy.look();
      }
    },
  });
}

function decide({ policy, revocations, metrics, world: { log } }: Authorizer): JsonAnswer {
  return async (review) => {
    const { apiVersion, spec, input, asked } = askedReview(review);
    const begun = performance.now();
    metrics.begun();
    const denial = revocations?.denial(asked);
    if (denial !== undefined) {
      metrics.decided("denied", (performance.now() - begun) / 1000);
      return { apiVersion, kind: "SubjectAccessReview", spec, status: denial };
    }
    const judgement = await policy.ask(input);
    const { status, problem } = statusOf(judgement);
    metrics.decided(problem === undefined ? decisionOf(status) : "error", (performance.now() - begun) / 1000);
    const { decisionId } = judgement;
    const named = decisionId === undefined ? {} : { decisionId };
    if (problem !== undefined)
      log(
        logEntry("PolicyFailed", "the policy failed; the authorizer denies the request", { error: problem, ...named }),
      );
    else if (decisionId !== undefined) log(logEntry("ReviewDecided", "the policy decided", { ...status, ...named }));
    return { apiVersion, kind: "SubjectAccessReview", spec, status };
  };
}

function decisionOf({ allowed, denied }: ReviewStatus): ReviewDecision {
  return denied === true ? "denied" : allowed ? "allowed" : "no_opinion";
}

/** The file for `--authorization-webhook-config-file` of kube-apiserver. */
export function webhookKubeconfig(server: string, caPem: string, isMutual: boolean): unknown {
  const certificates = { "client-certificate": "/path/to/client.crt", "client-key": "/path/to/client.key" };
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: "authorizer",
        cluster: { server, "certificate-authority-data": Buffer.from(caPem).toString("base64") },
      },
    ],
    users: [{ name: "api-server", user: isMutual ? certificates : {} }],
    contexts: [{ name: "webhook", context: { cluster: "authorizer", user: "api-server" } }],
    "current-context": "webhook",
  };
}

/** The result of a review. */
type ReviewDecision = "allowed" | "denied" | "no_opinion" | "error";

/** The metrics of an authorizer. */
interface AuthorizerMetrics {
  readonly begun: () => void;
  /** Of one that was begun; `seconds` is how long the policy took. */
  readonly decided: (decision: ReviewDecision, seconds: number) => void;
  readonly reloaded: (status: "success" | "failure") => void;
  /** Prometheus text. */
  readonly text: () => Promise<string>;
}

/** Counters of their own, all at zero. */
export function authorizerMetrics(): AuthorizerMetrics {
  const registers = [new Registry()];
  const decisions = new Counter({
    name: "pratique_authorizer_decisions_total",
    help: "Reviews by what was decided; an error denies.",
    labelNames: ["decision"],
    registers,
  });
  const seconds = new Histogram({
    name: "pratique_authorizer_evaluation_seconds",
    help: "How long the policy took.",
    buckets: [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5],
    registers,
  });
  const inFlight = new Gauge({
    name: "pratique_authorizer_evaluations_in_progress",
    help: "Reviews that the policy is being asked about.",
    registers,
  });
  const reloads = new Counter({
    name: "pratique_authorizer_policy_reloads_total",
    help: "Changes of the files of the policy.",
    labelNames: ["status"],
    registers,
  });
  return {
    begun: () => inFlight.inc(),
    decided: (decision, taken) => {
      inFlight.dec();
      decisions.inc({ decision });
      seconds.observe(taken);
    },
    reloaded: (status) => reloads.inc({ status }),
    text: async () => (await Promise.all(registers.map((each) => each.metrics()))).join(""),
  };
}
