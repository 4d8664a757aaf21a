import type { AuthorizerChain, ChainDecision } from "./chain.ts";
import { decisions } from "../metrics/family.ts";

/** Counters of the authorization of requests from the network. */
export interface RequestAuthorizationMetrics {
  /** The same chain, its decisions counted. */
  readonly counted: (chain: AuthorizerChain) => AuthorizerChain;
  /** Prometheus text. */
  readonly text: () => string;
}

/** Counts from zero; `now` in milliseconds of a monotonic clock. Source: apiserver pkg/endpoints/filters/metrics.go. */
export function requestAuthorizationMetrics(now: () => number): RequestAuthorizationMetrics {
  const attempts = decisions(["allowed", "denied", "no-opinion", "error"], {
    counts: { name: "authorization_attempts_total", help: "Authorizations of requests, by result." },
    durations: { name: "authorization_duration_seconds", help: "How long authorizations took, by result." },
  });
  return {
    counted: (chain) => {
      const decide: AuthorizerChain["decide"] = async (attributes, wanted) => {
        const begun = now();
        const decision = await chain.decide(attributes, wanted);
        attempts.observe(resultOf(decision), (now() - begun) / 1000);
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
    text: () => attempts.counts() + attempts.durations(),
  };
}

function resultOf({ verdict, error }: ChainDecision): "allowed" | "denied" | "no-opinion" | "error" {
  if (verdict === "allow") return "allowed";
  if (error !== undefined) return "error";
  return verdict === "deny" ? "denied" : "no-opinion";
}
