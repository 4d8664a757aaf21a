import type { ApiObject } from "../core/object.ts";
import { parseToken } from "../trust/token.ts";
import { authenticateToken } from "../trust/token-rules.ts";
import type { TokenAuthenticator } from "./bearer.ts";

/**
 * Authenticates bootstrap tokens against their Secrets. `lookup` gives the Secret `kube-system/bootstrap-token-<id>` or
 * undefined, and throws when it cannot know; `now` is in milliseconds since the epoch. Every failure is `absent`, so that the
 * reply is the same for a token that is unknown, expired or wrong.
 * @see plugin/pkg/auth/authenticator/token/bootstrap
 */
export function bootstrapTokens(
  lookup: (id: string) => ApiObject | undefined | Promise<ApiObject | undefined>,
  now: () => number,
): TokenAuthenticator {
  return async function bootstrapToken(text) {
    const token = parseToken(text);
    if (token === undefined) {
      return { kind: "absent" };
    }
    const verdict = authenticateToken(text, await lookup(token.id), now());
    return verdict.kind === "authenticated" ? verdict : { kind: "absent" };
  };
}
