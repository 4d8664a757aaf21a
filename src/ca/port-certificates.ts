import { rfc3339, type Clock, type RandomBytes } from "../apimachinery/clock.ts";
import type { Server, ServerOptions } from "../apiserver/server.ts";
import { validityProblem, type Validity } from "../pki/validity.ts";
import { caCheckServerName } from "../trust/ca-check.ts";
import type { Authorities } from "./ca-folder.ts";
import {
  certificateTimes,
  isDue,
  issueOwn,
  servingCertificate,
  type KeyPair,
  type OwnCertificate,
} from "./hub-certificates.ts";
import { newestOf } from "./ca-check.ts";
import { logEntry, type LogEntry } from "../apimachinery/log-entry.ts";
import { renewalCheckMs, repeat } from "../host/repeat.ts";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import type { CertificateAuthority } from "../pki/ca.ts";
import { issueCertificate } from "../pki/certificate.ts";
import { generatePrivateKey, keyKindOf, spkiOf } from "../pki/keys.ts";

/** What a server presents: its certificate chain, and the names of the CAs whose client certificates it accepts. */
type Shown = Pick<ServerOptions, "certPem" | "keyPem" | "clientCaPem">;

/** The certificates of the port, issued by the current CAs. */
export interface PortCertificates {
  /** The initial TLS options of the port. */
  readonly first: Shown;
  /** Why a client whose clock is at `now` would reject the certificate of the port; undefined while it would not. */
  problem(now: number): string | undefined;
  /** Renews the certificates of an open port, in time and whenever `renew` is called, which is when the CAs change. */
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
  readonly log: (entry: LogEntry) => void;
}

/** Reads the serving certificate, or renews it where it is due. During a rotation, one of the newest CA is presented beside it. */
export async function portCertificates(options: PortOptions): Promise<PortCertificates> {
  const { authorities, names, dir, clock, random, signal, log } = options;
  const at = (): { readonly dir: string; readonly now: number; readonly random: RandomBytes } => ({
    dir,
    now: clock.now(),
    random,
  });
  let held = await servingCertificate(authorities().signer, names, at());
  let nextCaTimes: Validity | undefined;
  const shown = ({ certPem, keyPem }: KeyPair, chainPem: string): Shown => {
    const clientCaPem = authorities()
      .trusted.map((ca) => nameOnlyCertificate(ca, at()))
      .join("");
    return { certPem: `${certPem}${chainPem}`, keyPem, clientCaPem };
  };
  const serveNextCa = (server: Pick<Server, "alias">): void => {
    const newest = newestOf(authorities());
    nextCaTimes = undefined;
    if (newest === undefined) return;
    const dnsNames = [caCheckServerName, ...names.dnsNames];
    const wanted = { ...names, dnsNames, commonName: "kube-apiserver", organizations: [] };
    const pair = issueOwn(newest, { ...wanted, usage: "server auth" }, at());
    server.alias(caCheckServerName, shown(pair, ""));
    nextCaTimes = certificateTimes(pair.certPem);
  };
  const renew = async (server: Pick<Server, "renew" | "alias">): Promise<void> => {
    held = await servingCertificate(authorities().signer, names, at());
    server.renew(shown(held, authorities().chainPem));
    serveNextCa(server);
  };
  return {
    first: shown(held, authorities().chainPem),
    problem: (now) => problemOf(authorities().signer, held, now),
    keep: (server) => {
      serveNextCa(server);
      // One at a time, so that an earlier renewal never replaces the certificates of a later one.
      const inTurn = serialized();
      const renewIfDue = async (): Promise<void> => {
        const times = certificateTimes(held.certPem);
        const isOver = (each: Validity): boolean => isDue(each, clock.now(), authorities().signer.notAfter);
        if (!isOver(times) && (nextCaTimes === undefined || !isOver(nextCaTimes))) return;
        await renew(server);
        const notAfter = rfc3339(certificateTimes(held.certPem).notAfter);
        log(logEntry("CertificateRenewed", "the hub renewed its serving certificate", { notAfter }));
      };
      return {
        renew: () => inTurn(() => renew(server)),
        stopped: repeat({
          clock,
          signal,
          everyMs: renewalCheckMs,
          work: () => inTurn(renewIfDue),
          failed: (error) =>
            log(logEntry("CertificateRenewalFailed", "the hub cannot renew its serving certificate", { error })),
        }),
      };
    },
  };
}

function problemOf(
  signer: Pick<CertificateAuthority, "certificate">,
  { certPem }: KeyPair,
  now: number,
): string | undefined {
  const ca = validityProblem(signer.certificate, now);
  if (ca !== undefined) return `the CA certificate ${ca}`;
  const own = validityProblem(certificateTimes(certPem), now);
  return own === undefined ? undefined : `the serving certificate ${own}`;
}

/** Runs functions one after the other; a failure does not stop the next ones. */
function serialized(): (work: () => Promise<void>) => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  return (work) => {
    const next = last.then(work);
    last = next.catch(() => undefined);
    return next;
  };
}

const lifetimeMs = 24 * 3600 * 1000;

/**
 * PEM of a certificate with the CA's name that cannot certify others: its key is discarded. A TLS server with it in
 * place of the CA sends the name to clients and never finds their certificates valid by itself. The x509 authenticator alone
 * verifies them; OpenSSL's attempt would cost one more signature for each connection, would close connections with forged signatures before
 * they get their 401, and makes some releases of Node 24 forget the intermediate CAs (nodejs/node#65579).
 */
function nameOnlyCertificate(
  authority: Pick<CertificateAuthority, "rawSubject" | "keyKind">,
  at: { readonly now: number; readonly random: RandomBytes },
): string {
  const key = keyOfAnotherKind(authority);
  const { rawSubject } = authority;
  const notAfter = at.now + lifetimeMs;
  return issueCertificate({
    issuer: { rawSubject, keyId: undefined, key, keyKind: keyKindOf(key), notAfter },
    rawSubject,
    spki: spkiOf(key),
    usages: ["digital signature"],
    notBefore: at.now,
    notAfter,
    serial: at.random(16),
  }).pem;
}

/** OpenSSL verifies a signature only with keys of the same kind, so this key is never tried. */
function keyOfAnotherKind({ keyKind }: Pick<CertificateAuthority, "keyKind">): KeyObject {
  return keyKind === "ed25519" ? generatePrivateKey() : generateKeyPairSync("ed25519").privateKey;
}
