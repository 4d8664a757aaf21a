import type { AuthorizerChain, ChainDecision } from "./chain.ts";
import { decisionBounds, familiesText, histogram, type Sample } from "../metrics/family.ts";

/** What is counted of the authorization of requests that come over the network. */
export interface RequestAuthorizationMetrics {
  /** The same chain, its decisions counted. */
  readonly counted: (chain: AuthorizerChain) => AuthorizerChain;
  /** Prometheus text. */
  readonly text: () => string;
}

/** Counts from zero; `now` in milliseconds of a clock that is not set back. Source: apiserver pkg/endpoints/filters/metrics.go. */
export function requestAuthorizationMetrics(now: () => number): RequestAuthorizationMetrics {
  const attempts = { allowed: 0, denied: 0, "no-opinion": 0, error: 0 };
  const durations = histogram({
    name: "authorization_duration_seconds",
    help: "How long authorizations took, by result.",
    bounds: decisionBounds,
  });
  const took = {
    allowed: durations.observerOf('result="allowed"'),
    denied: durations.observerOf('result="denied"'),
    "no-opinion": durations.observerOf('result="no-opinion"'),
    error: durations.observerOf('result="error"'),
  };
  return {
    counted: (chain) => {
      const decide: AuthorizerChain["decide"] = async (attributes, wanted) => {
        const begun = now();
        const decision = await chain.decide(attributes, wanted);
        const result = resultOf(decision);
        attempts[result] += 1;
        took[result]((now() - begun) / 1000);
        return decision;
      };
      return {
        decide,
        authorize: (attributes) => decide(attributes),
        get names() {
          return chain.names;
        },
      };
    },
    text: () =>
      familiesText([
        {
          name: "authorization_attempts_total",
          type: "counter",
          help: "Authorizations of requests, by result.",
          samples: Object.entries(attempts).map(([result, count]): Sample => [`result="${result}"`, count]),
        },
      ]) + durations.text(),
  };
}

function resultOf({ verdict, error }: ChainDecision): "allowed" | "denied" | "no-opinion" | "error" {
  if (verdict === "allow") return "allowed";
  if (error !== undefined) return "error";
  return verdict === "deny" ? "denied" : "no-opinion";
}
