import { createSecureContext } from "node:tls";
import { bindAddressProblem } from "../../host/listening.ts";
import { readText, type NamedFiles } from "../../host/read-text.ts";
import { loadTrustRoots } from "../../pki/verify-chain.ts";
import { OptionError } from "../../apimachinery/option-error.ts";
import { isIP } from "node:net";
import { resolve } from "node:path";
import { openAuthorities } from "../../ca/ca-folder.ts";
import { certificateTimes, isDue, issueOwn, type KeyPair } from "../../ca/hub-certificates.ts";
import { validityProblem } from "../../pki/validity.ts";
import type { World } from "../world.ts";
import type { WebhookPlace } from "../manifests/webhook-configurations.ts";
import { systemErrorText } from "../../apimachinery/system-error.ts";

/** How a program serves HTTPS with a certificate of its own. The last four fields name files. */
export interface SecureServing {
  readonly bindAddress: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** The folder of the CA that is created for the serving certificate. */
  readonly certDir: string;
  /** More names and addresses for that certificate. */
  readonly tlsSans: readonly string[];
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
  /** The CA of the certificate in `certFile`. */
  readonly caFile: string | undefined;
  /** Clients must present a certificate of this CA; absent: every client is served. */
  readonly clientCaFile: string | undefined;
}

/** Reads the files that the serving options name, before `certDir` is created. @throws OptionError usage, naming option and value */
export async function checkServing(serving: SecureServing, files: NamedFiles): Promise<void> {
  const bind = await bindAddressProblem(serving.bindAddress);
  if (bind !== undefined) throw new OptionError("usage", bind);
  await checkPair(serving, files);
  const { caFile, clientCaFile } = serving;
  for (const [option, file] of [
    ["tls-ca-file", caFile],
    ["client-ca-file", clientCaFile],
  ] as const) {
    if (file !== undefined) checkCertificates(option, file, await readText(option, file, files));
  }
}

/** The CA of `--client-ca-file`. @throws OptionError usage */
export async function clientCaOf({ clientCaFile }: SecureServing, files: NamedFiles): Promise<string | undefined> {
  return clientCaFile === undefined ? undefined : readText("client-ca-file", clientCaFile, files);
}

async function checkPair({ certFile, keyFile }: SecureServing, files: NamedFiles): Promise<void> {
  if ((certFile === undefined) !== (keyFile === undefined)) {
    throw new OptionError("usage", "--tls-cert-file and --tls-private-key-file come together");
  }
  if (certFile === undefined || keyFile === undefined) return;
  const cert = await readText("tls-cert-file", certFile, files);
  const key = await readText("tls-private-key-file", keyFile, files);
  try {
    createSecureContext({ cert, key });
  } catch {
    throw new OptionError(
      "usage",
      `--tls-cert-file ${certFile} and --tls-private-key-file ${keyFile} hold no certificate and key in PEM that belong together`,
    );
  }
}

function checkCertificates(option: string, file: string, pem: string): void {
  try {
    if (loadTrustRoots(pem).length > 0) return;
  } catch (error) {
    throw new OptionError("usage", `--${option} ${file}: ${error instanceof Error ? error.message : "cannot be read"}`);
  }
  throw new OptionError("usage", `--${option} ${file}: holds no certificate in PEM`);
}

/** The serving certificate of the webhook. */
export interface ServingPair {
  /** The CA by which kube-apiserver verifies the certificate. */
  readonly caPem: string;
  readonly current: () => KeyPair;
  /** Passes another pair to `renew` where its files have changed, or where it was created here and is due. @throws what `renew` does, and keeps the pair then */
  readonly look: (renew: (pair: KeyPair) => void) => Promise<void>;
  /** Why clients would reject the certificate now; undefined while they would accept it. */
  readonly problem: () => string | undefined;
}

type PairWorld = Pick<World, "clock" | "random" | "hostname" | "cwd" | "readFile">;

interface PairOptions {
  readonly serving: SecureServing;
  readonly world: PairWorld;
  readonly place: WebhookPlace;
  /** The common name of a certificate that is created. */
  readonly commonName: string;
}

/** The pair of --tls-cert-file, or one of the CA in --cert-dir, which the first start creates; `checkServing` has been called. @throws OptionError usage; HubError */
export async function servingPair(options: PairOptions): Promise<ServingPair> {
  const { certFile, keyFile } = options.serving;
  return certFile === undefined || keyFile === undefined ? madePair(options) : givenPair(options, certFile, keyFile);
}

async function givenPair(
  { serving: { caFile }, world }: PairOptions,
  certFile: string,
  keyFile: string,
): Promise<ServingPair> {
  const read = async (): Promise<KeyPair> => ({
    certPem: await readText("tls-cert-file", certFile, world),
    keyPem: await readText("tls-private-key-file", keyFile, world),
  });
  let pair = await read();
  return {
    caPem: caFile === undefined ? pair.certPem : await readText("tls-ca-file", caFile, world),
    current: () => pair,
    look: async (renew) => {
      const next = await read();
      if (next.certPem === pair.certPem && next.keyPem === pair.keyPem) return;
      renew(next);
      pair = next;
    },
    problem: () => named("the serving certificate", validityProblem(certificateTimes(pair.certPem), world.clock.now())),
  };
}

async function madePair({ serving, world, place, commonName }: PairOptions): Promise<ServingPair> {
  const { clock, random } = world;
  const dir = resolve(world.cwd, serving.certDir);
  const opened = openAuthorities({ dir, certFile: undefined, keyFile: undefined, now: clock.now(), random });
  const { signer: authority } = await opened.catch((error: unknown) => {
    if (!(error instanceof Error && "syscall" in error && "code" in error)) throw error;
    throw new OptionError("usage", `--cert-dir: ${systemErrorText(error, { operation: "write", at: dir })}`);
  });
  const names = ["localhost", "127.0.0.1", world.hostname.toLowerCase(), ...namesOf(place), ...serving.tlsSans];
  const bind = serving.bindAddress;
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
