import { X509Certificate } from "node:crypto";
import type { ResolvedKubeconfig } from "../client/resolve-kubeconfig.ts";
import { isJsonObject } from "../apimachinery/json-value.ts";

/**
 * What of a kubeconfig's credentials has ended by `now`, in milliseconds since the epoch, and when, in a sentence; undefined where
 * nothing has, or says when it does. Nothing is verified: it explains a refusal, and decides nothing.
 */
export function endedCredential(
  { clientCertPem, token }: Pick<ResolvedKubeconfig, "clientCertPem" | "token">,
  now: number,
): string | undefined {
  const ends = [
    { what: "client certificate", at: clientCertPem === undefined ? undefined : certificateEnd(clientCertPem) },
    { what: "token", at: token === undefined ? undefined : tokenEnd(token) },
  ];
  const ended = ends.find(({ at }) => at !== undefined && at <= now);
  if (ended?.at === undefined) return undefined;
  return `The ${ended.what} of the kubeconfig ended at ${new Date(ended.at).toISOString().replace(/\.\d+Z$/, "Z")}.`;
}

function certificateEnd(pem: string): number | undefined {
  try {
    return dated(Date.parse(new X509Certificate(pem).validTo));
  } catch {
    return undefined;
  }
}

/** Of a JSON web token; others do not say. */
function tokenEnd(token: string): number | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
    const exp = isJsonObject(claims) ? claims["exp"] : undefined;
    return typeof exp === "number" ? dated(exp * 1000) : undefined;
  } catch {
    return undefined;
  }
}

/** Beyond that no date can be written. */
function dated(ms: number): number | undefined {
  return Number.isFinite(ms) && Math.abs(ms) <= 8.64e15 ? ms : undefined;
}
