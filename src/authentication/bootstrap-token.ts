import type { ApiObject } from "../apimachinery/object.ts";
import { parseToken } from "../trust/token.ts";
import { judgeToken } from "../trust/token-rules.ts";
import { readTokenSecret, tokenSecretName, tokenSecretNamespace, type TokenFacts } from "../trust/token-secret.ts";
import { credentialOf } from "../apis/revocation-index.ts";
import type { TokenAuthenticator } from "./bearer.ts";

/**
 * Authenticates bootstrap tokens against their Secrets. `lookup` returns the Secret `kube-system/bootstrap-token-<id>` or
 * undefined, and throws when it cannot decide; `now` is in milliseconds since the epoch. Every failure is `absent`, so that the
 * reply is the same for a token that is unknown, expired or wrong.
 * @see plugin/pkg/auth/authenticator/token/bootstrap
 */
export function bootstrapTokens(
  lookup: (id: string) => ApiObject | undefined | Promise<ApiObject | undefined>,
  now: () => number,
): TokenAuthenticator {
  // The parsed Secret, by object identity: each write creates a new object. The token and the time are checked each time.
  const known = new WeakMap<ApiObject, TokenFacts>();
  const factsOf = (secret: ApiObject): TokenFacts => {
    const found = known.get(secret);
    if (found !== undefined) return found;
    const facts = readTokenSecret(secret);
    known.set(secret, facts);
    return facts;
  };
  return async function bootstrapToken(text) {
    const token = parseToken(text);
    if (token === undefined) return { kind: "absent" };
    const secret = await lookup(token.id);
    const verdict = judgeToken(token, secret === undefined ? undefined : factsOf(secret), now());
    if (verdict.kind !== "authenticated") return { kind: "absent" };
    const stored = `${tokenSecretNamespace}/${tokenSecretName(token.id)}`;
    const secretVersion = secret?.metadata.resourceVersion;
    const on = { secret: stored, ...(secretVersion === undefined ? {} : { secretVersion }) };
    return { ...verdict, credential: { ...credentialOf(verdict.user), ...on } };
  };
}
