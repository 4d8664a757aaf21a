import type { ApiObject } from "../apimachinery/object.ts";

/**
 * Which webhooks or policies are called a second time, by the rule of Kubernetes: those with the reinvocationPolicy IfNeeded after which
 * the object changed. Source: apiserver pkg/admission/plugin, the reinvocation contexts of webhooks and policies.
 */
export interface Reinvocation {
  /** Called, with the policy IfNeeded, and nothing has changed since. */
  readonly candidates: Set<string>;
  readonly repeated: Set<string>;
  /** What the object was after the last call. */
  last: ApiObject | undefined;
}

/** Nothing was called yet. */
export function newReinvocation(): Reinvocation {
  return { candidates: new Set(), repeated: new Set(), last: undefined };
}

/** The object has changed: all candidates are called again. */
export function requireReinvocation({ candidates, repeated }: Reinvocation): void {
  for (const id of candidates) repeated.add(id);
  candidates.clear();
}
