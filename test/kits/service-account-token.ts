/** What a token claims; all of it may be left out. Times in milliseconds. */
export interface ClaimedToken {
  readonly sub?: unknown;
  readonly aud?: unknown;
  readonly issuedAt?: number;
  readonly expiresAt?: number;
  /** What tells two tokens of the same claims apart. */
  readonly id?: string;
}

/** A ServiceAccount token that nobody has signed. */
export function unsignedToken(claims: ClaimedToken = {}): string {
  const { sub = "system:serviceaccount:vms:vm-1", aud = ["https://hub.example"], id = "a" } = claims;
  const { issuedAt = Date.UTC(2026, 10, 21), expiresAt = issuedAt + 3_600_000 } = claims;
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "ES256" })}.${part({ sub, aud, iat: issuedAt / 1000, exp: expiresAt / 1000, jti: id })}.c2ln`;
}
