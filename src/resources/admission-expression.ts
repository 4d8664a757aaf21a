import type { ExpressionCheck } from "./admission-match.ts";

/** Compiles a match condition; `params` says whether it may speak of parameters. */
export function checkMatchCondition(_options: { readonly params: boolean }): ExpressionCheck {
  return () => [];
}
