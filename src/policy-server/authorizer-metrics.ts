import { Counter, Gauge, Histogram, Registry } from "../metrics/library.ts";

/** What became of a review. */
export type ReviewDecision = "allowed" | "denied" | "no_opinion" | "error";

/** What an authorizer counts. */
export interface AuthorizerMetrics {
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
  const underWay = new Gauge({
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
    begun: () => underWay.inc(),
    decided: (decision, taken) => {
      underWay.dec();
      decisions.inc({ decision });
      seconds.observe(taken);
    },
    reloaded: (status) => reloads.inc({ status }),
    text: async () => (await Promise.all(registers.map((each) => each.metrics()))).join(""),
  };
}
