import { credentialOf, type Credential, type FoundRevocation } from "../resources/revocation-index.ts";
import type { Authenticator } from "./authenticator.ts";

/** Who sent what was refused, as far as that is known. */
export interface Sender {
  readonly user: string;
  readonly address: string | undefined;
  readonly userAgent: string | undefined;
}

/**
 * Rejects what `revocationOf` finds to be revoked, whoever else the request could be: it ends as 401. It is asked with each request,
 * as nothing of its answer may be remembered, and throws where it cannot know. The credential comes along in the result, and
 * `saw` is told of whoever may come in, `refused` of what keeps somebody out.
 */
export function unlessRevoked(
  member: Authenticator,
  revocationOf: (credential: Credential) => FoundRevocation | undefined,
  told: {
    readonly saw: (credential: Credential) => void;
    readonly refused: (found: FoundRevocation, by: Sender) => void;
  },
): Authenticator {
  return async function unrevoked(request) {
    const result = await member(request);
    if (result.kind !== "authenticated") return result;
    const credential = result.credential ?? credentialOf(result.user);
    const found = revocationOf(credential);
    if (found === undefined) {
      // With an expired certificate nobody comes in as its holder.
      if (credential.username === result.user.username) told.saw(credential);
      return result.credential === undefined ? { ...result, credential } : result;
    }
    told.refused(found, { user: credential.username, address: request.address, userAgent: request.userAgent });
    return { kind: "rejected", reason: `the credential is revoked: ${found.name}` };
  };
}
