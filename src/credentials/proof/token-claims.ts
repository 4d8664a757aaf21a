import { parsedJson } from "../../client/replies.ts";
import { dnsLabelProblems, pathSegmentProblems } from "../../apimachinery/names.ts";

/** The claims of a ServiceAccount token, unverified: enough for a schedule, not for trust. Times in milliseconds since the epoch. */
export interface TokenClaims {
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly audiences: readonly string[];
  readonly issuedAt: number;
  readonly expiresAt: number;
}

const maxTokenCharacters = 65_536;
const subjectPrefix = "system:serviceaccount:";

/** Reads the claims of a token in the compact form of a JWT, or undefined where it is not of a ServiceAccount. @see RFC 7519 */
export function tokenClaims(token: string): TokenClaims | undefined {
  if (token.length > maxTokenCharacters) return undefined;
  const { sub, aud, iat, exp } = parsed(/^[\w-]+\.([\w-]+)\.[\w-]+$/.exec(token)?.[1] ?? "");
  const subject = subjectOf(sub);
  const issuedAt = timeOf(iat);
  const expiresAt = timeOf(exp);
  if (subject === undefined || issuedAt === undefined || expiresAt === undefined || expiresAt <= issuedAt) {
    return undefined;
  }
  const audiences = (Array.isArray(aud) ? aud : [aud]).filter((one) => typeof one === "string");
  return { ...subject, audiences, issuedAt, expiresAt };
}

type Payload = Partial<Record<"sub" | "aud" | "iat" | "exp", unknown>>;

function parsed(payload: string): Payload {
  const value = parsedJson(Buffer.from(payload, "base64url"));
  return typeof value === "object" && value !== null ? value : {};
}

/** Both parts become segments of a path. */
function subjectOf(sub: unknown): Pick<TokenClaims, "namespace" | "serviceAccount"> | undefined {
  if (typeof sub !== "string" || !sub.startsWith(subjectPrefix)) return undefined;
  const [namespace = "", serviceAccount = "", ...more] = sub.slice(subjectPrefix.length).split(":");
  if (more.length > 0 || dnsLabelProblems(namespace).length > 0) return undefined;
  if (serviceAccount === "" || !/^[a-z0-9.-]+$/.test(serviceAccount)) return undefined;
  return pathSegmentProblems(serviceAccount).length > 0 ? undefined : { namespace, serviceAccount };
}

const latestSeconds = 253_402_300_799;

function timeOf(value: unknown): number | undefined {
  const isTime = typeof value === "number" && Number.isFinite(value) && value >= 0 && value <= latestSeconds;
  return isTime ? Math.floor(value) * 1000 : undefined;
}
