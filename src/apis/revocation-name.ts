import { createHash } from "node:crypto";
import type { RevocationTarget } from "./credential-revocation.ts";

/** The name of a revocation: one for each target, so that revoking twice is revoking once. */
export function revocationName(target: RevocationTarget): string {
  const [kind = ""] = Object.keys(target);
  const digest = createHash("sha256").update(JSON.stringify(target)).digest("hex").slice(0, 32);
  return `${kind.toLowerCase()}-${digest}`;
}
