import { rfc3339 } from "../apimachinery/clock.ts";

/** From when until when a certificate is valid, in milliseconds since the epoch, whole seconds. */
export interface Validity {
  readonly notBefore: number;
  readonly notAfter: number;
}

/** What the validity of a new certificate depends on; times in milliseconds. */
export interface ValidityInput {
  readonly now: number;
  /** The requested lifetime; the maximum when absent. */
  readonly expirationSeconds?: number | undefined;
  /** `--cluster-signing-duration`. */
  readonly maxSeconds: number;
  readonly caNotAfter: number;
}

/** Why a certificate is not valid at `now`, in words that follow its name; undefined when it is. @see RFC 5280 section 4.1.2.5 */
export function validityProblem({ notBefore, notAfter }: Validity, now: number): string | undefined {
  if (now < notBefore) return `is not valid before ${rfc3339(notBefore)}; the clock says ${rfc3339(now)}`;
  // NotAfter is a whole second, which is part of the validity.
  return now >= notAfter + 1000 ? `has expired on ${rfc3339(notAfter)}; the clock says ${rfc3339(now)}` : undefined;
}

/** Thrown when the CA cannot issue because it has expired. */
export class ValidityError extends Error {
  readonly code = "caExpired";

  constructor(message: string) {
    super(message);
    this.name = "ValidityError";
  }
}

const backdateMs = 5 * 60_000;
const minSeconds = 600;
const shortSeconds = 8 * 3600;

/**
 * NotBefore is five minutes back, for clocks that lag. The lifetime is the requested one, between 600 seconds and the
 * maximum; from 8 hours on it includes the five minutes. It ends with the CA at the latest.
 * @throws ValidityError when the CA has expired
 * @see Kubernetes pkg/controller/certificates/authority
 */
export function certificateValidity(input: ValidityInput): Validity {
  if (input.now >= input.caNotAfter) throw new ValidityError("the CA certificate has expired");
  const requestedSeconds = Math.max(minSeconds, input.expirationSeconds ?? input.maxSeconds);
  const seconds = Math.min(input.maxSeconds, requestedSeconds);
  const end = input.now + seconds * 1000 - (seconds < shortSeconds ? 0 : backdateMs);
  return { notBefore: wholeSeconds(input.now - backdateMs), notAfter: wholeSeconds(Math.min(end, input.caNotAfter)) };
}

function wholeSeconds(ms: number): number {
  return Math.floor(ms / 1000) * 1000;
}
