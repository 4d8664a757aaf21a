/** A verdict with a success of any shape. */
type Verdict<Success> = Success | { readonly kind: "absent" } | { readonly kind: "rejected"; readonly reason: string };

/**
 * Calls the members in order. The first success wins, even after a rejection; without one, any rejection rejects, with every
 * reason; where all are absent the result is absent. An error that a member throws is an outage and ends the union.
 * Works over requests and over tokens alike. @see apiserver/pkg/authentication/request/union
 */
export function firstAuthenticated<Input, Success extends { readonly kind: "authenticated" }>(
  ...members: readonly ((input: Input) => Promise<Verdict<Success>>)[]
): (input: Input) => Promise<Verdict<Success>> {
  return async function union(input) {
    const reasons: string[] = [];
    for (const member of members) {
      const verdict = await member(input);
      if (verdict.kind === "authenticated") return verdict;
      if (verdict.kind === "rejected") reasons.push(verdict.reason);
    }
    const [reason, another] = reasons;
    if (reason === undefined) return { kind: "absent" };
    return { kind: "rejected", reason: another === undefined ? reason : `[${reasons.join(", ")}]` };
  };
}
