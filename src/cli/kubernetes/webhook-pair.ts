import { isIP } from "node:net";
import { resolve } from "node:path";
import { openAuthorities } from "../../hub/authority-folder.ts";
import { certificateTimes, isDue, issueOwn, type KeyPair } from "../../hub/authority.ts";
import { validityProblem } from "../../pki/validity.ts";
import { CliError } from "../cli-error.ts";
import type { Args } from "../command.ts";
import type { Io } from "../io.ts";
import type { WebhookPlace } from "./manifests/webhook-configurations.ts";
import { readText } from "../read-text.ts";
import { tlsSans } from "../tls-sans.ts";
import { systemErrorText } from "../../core/system-error.ts";

/** What the webhook serves with. */
export interface ServingPair {
  /** By which kube-apiserver knows the certificate. */
  readonly caPem: string;
  readonly current: () => KeyPair;
  /** Hands another pair to `renew` where its files have changed, or where it was made here and is due. @throws what `renew` does, and keeps the pair then */
  readonly look: (renew: (pair: KeyPair) => void) => Promise<void>;
  /** Why clients would refuse the certificate now; undefined while they would not. */
  readonly problem: () => string | undefined;
}

interface PairOptions {
  readonly args: Args;
  readonly io: Io;
  readonly place: WebhookPlace;
  /** Whose certificate it is, where one is made. */
  readonly commonName: string;
}

/** The pair of --tls-cert-file, or one of the CA in --cert-dir, which is made there at the first start; `checkServing` has been called. @throws CliError usage; HubError */
export async function servingPair(options: PairOptions): Promise<ServingPair> {
  const { args } = options;
  const [cert, key] = [args.text("tls-cert-file"), args.text("tls-private-key-file")];
  return cert === undefined || key === undefined ? madePair(options) : givenPair(options, cert, key);
}

async function givenPair({ args, io }: PairOptions, certFile: string, keyFile: string): Promise<ServingPair> {
  const read = async (): Promise<KeyPair> => ({
    certPem: await readText("tls-cert-file", certFile, io),
    keyPem: await readText("tls-private-key-file", keyFile, io),
  });
  let pair = await read();
  const caFile = args.text("tls-ca-file");
  return {
    caPem: caFile === undefined ? pair.certPem : await readText("tls-ca-file", caFile, io),
    current: () => pair,
    look: async (renew) => {
      const next = await read();
      if (next.certPem === pair.certPem && next.keyPem === pair.keyPem) return;
      renew(next);
      pair = next;
    },
    problem: () => named("the serving certificate", validityProblem(certificateTimes(pair.certPem), io.clock.now())),
  };
}

async function madePair({ args, io, place, commonName }: PairOptions): Promise<ServingPair> {
  const { clock, random } = io;
  const dir = resolve(io.cwd, args.text("cert-dir") ?? "");
  const opened = openAuthorities({ dir, certFile: undefined, keyFile: undefined, now: clock.now(), random });
  const { signer: authority } = await opened.catch((error: unknown) => {
    if (!(error instanceof Error && "syscall" in error && "code" in error)) throw error;
    throw new CliError("usage", `--cert-dir: ${systemErrorText(error, { operation: "write", at: dir })}`);
  });
  const names = ["localhost", "127.0.0.1", io.hostname.toLowerCase(), ...namesOf(place), ...tlsSans(args)];
  const bind = args.text("bind-address") ?? "";
  if (isIP(bind) !== 0 && bind !== "0.0.0.0" && bind !== "::") names.push(bind);
  const different = [...new Set(names)];
  const wanted = {
    commonName,
    organizations: [],
    dnsNames: different.filter((name) => isIP(name) === 0),
    ipAddresses: different.filter((name) => isIP(name) !== 0),
    usage: "server auth",
  } as const;
  const made = (): KeyPair => issueOwn(authority, wanted, { now: clock.now(), random });
  let pair = made();
  return {
    caPem: authority.pem,
    current: () => pair,
    look: async (renew) => {
      if (!isDue(certificateTimes(pair.certPem), clock.now(), authority.notAfter)) return;
      const next = made();
      renew(next);
      pair = next;
    },
    problem: () =>
      named("the CA certificate", validityProblem(authority.certificate, clock.now())) ??
      named("the serving certificate", validityProblem(certificateTimes(pair.certPem), clock.now())),
  };
}

function named(what: string, problem: string | undefined): string | undefined {
  return problem === undefined ? undefined : `${what} ${problem}`;
}

function namesOf(place: WebhookPlace): readonly string[] {
  if ("url" in place) return [new URL(place.url).hostname.replace(/^\[(.*)\]$/, "$1")];
  const { namespace, name } = place.service;
  return [`${name}.${namespace}.svc`, `${name}.${namespace}.svc.cluster.local`];
}
