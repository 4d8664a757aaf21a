import type { Clock, RandomBytes } from "../core/clock.ts";
import type { Server, ServerOptions } from "../http/server.ts";
import { rehearsalName } from "../trust/ca-rehearsal.ts";
import type { Authorities } from "./authority-folder.ts";
import { issueOwn, servingCertificate, type KeyPair, type OwnCertificate } from "./authority.ts";
import { newestOf } from "./ca-rehearsal.ts";
import { nameOnlyCertificate } from "./name-only-certificate.ts";
import { servingRenewal } from "./serving-renewal.ts";

/** What a server shows: the chain of its certificate, and the names of the CAs whose certificates it takes. */
type Shown = Pick<ServerOptions, "certPem" | "keyPem" | "clientCaPem">;

/** The certificates of the port, made from the CAs as they are. */
export interface PortCertificates {
  /** To open the port with. */
  readonly first: Shown;
  /** Renews what an open port shows, in time and whenever `renew` is called, which is when the CAs have changed. */
  keep(server: Pick<Server, "renew" | "alias">): {
    readonly renew: () => Promise<void>;
    readonly stopped: Promise<void>;
  };
}

interface PortOptions {
  readonly authorities: () => Authorities;
  readonly names: Pick<OwnCertificate, "dnsNames" | "ipAddresses">;
  readonly dir: string;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly signal: AbortSignal;
  readonly failed: (error: unknown) => void;
}

/** Reads the serving certificate, or makes it where it is due. While the CA is changed, one of the newest CA is shown beside it. */
export async function portCertificates(options: PortOptions): Promise<PortCertificates> {
  const { authorities, names, dir, clock, random } = options;
  const at = (): { readonly dir: string; readonly now: number; readonly random: RandomBytes } => ({
    dir,
    now: clock.now(),
    random,
  });
  const shown = ({ certPem, keyPem }: KeyPair, chainPem: string): Shown => {
    const clientCaPem = authorities()
      .trusted.map((ca) => nameOnlyCertificate(ca, at()))
      .join("");
    return { certPem: `${certPem}${chainPem}`, keyPem, clientCaPem };
  };
  const current = await servingCertificate(authorities().signer, names, at());
  return {
    first: shown(current, authorities().chainPem),
    keep: (server) => {
      const take = (pair: KeyPair): void => server.renew(shown(pair, authorities().chainPem));
      const rehearse = (): void => {
        const newest = newestOf(authorities());
        if (newest === undefined) return;
        const dnsNames = [rehearsalName, ...names.dnsNames];
        const wanted = { ...names, dnsNames, commonName: "kube-apiserver", organizations: [] };
        server.alias(rehearsalName, shown(issueOwn(newest, { ...wanted, usage: "server auth" }, at()), ""));
      };
      rehearse();
      return {
        renew: async () => {
          take(await servingCertificate(authorities().signer, names, at()));
          rehearse();
        },
        stopped: servingRenewal({ ...options, authority: () => authorities().signer, current, renew: take }),
      };
    },
  };
}
