import type { Clock, RandomBytes } from "../core/clock.ts";
import type { CertificateAuthority } from "../pki/ca.ts";
import { servingCertificate, type KeyPair, type OwnCertificate } from "./authority.ts";

const everyMs = 12 * 3600 * 1000;

/** Looks twice a day whether the serving certificate nears its end, and hands a new one to `renew`; until `signal` aborts. */
export async function servingRenewal(options: {
  /** Who signs, asked at each look. */
  readonly authority: () => CertificateAuthority;
  readonly names: Pick<OwnCertificate, "dnsNames" | "ipAddresses">;
  readonly dir: string;
  readonly current: KeyPair;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly signal: AbortSignal;
  readonly renew: (pair: KeyPair) => void;
  readonly failed: (error: unknown) => void;
}): Promise<void> {
  const { authority, names, dir, clock, random, signal } = options;
  let { certPem } = options.current;
  while (!signal.aborted) {
    await clock.sleep(everyMs, signal);
    if (signal.aborted) return;
    try {
      const pair = await servingCertificate(authority(), names, { dir, now: clock.now(), random });
      if (pair.certPem !== certPem) options.renew(pair);
      certPem = pair.certPem;
    } catch (error) {
      options.failed(error);
    }
  }
}
