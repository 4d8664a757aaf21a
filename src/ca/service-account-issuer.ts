import { optionText } from "../host/read-text.ts";
import { join } from "node:path";
import type { KeyObject } from "node:crypto";
import {
  distinctKeys,
  tokenKey,
  type TokenKey,
  tokenSigner,
  type TokenSigner,
} from "../authentication/service-account-keys.ts";
import { privateFolder, replaceFile, textIfThere } from "../host/private-files.ts";
import { exportPkcs8Pem, generatePrivateKey, loadPrivateKey, spkiOf, loadPublicKeys } from "../pki/keys.ts";
import { encodePem } from "../pki/pem.ts";
import { KeyError } from "../pki/public-key.ts";
import { HubError } from "../apimachinery/hub-error.ts";

/** The options for ServiceAccount tokens, by the names of the flags. */
export interface ServiceAccountOptions {
  /** The issuers of ServiceAccount tokens, first the one for new tokens; default https://kubernetes.default.svc. */
  readonly serviceAccountIssuers?: readonly string[];
  /** The private key that signs new tokens; default the hub's own, created at the first start. */
  readonly serviceAccountSigningKeyFile?: string | undefined;
  /** Further keys whose tokens are accepted: public or private keys in PEM, several in a file. */
  readonly serviceAccountKeyFiles?: readonly string[];
  /** The audiences of the API, one of which a token must have; default the issuers. */
  readonly apiAudiences?: readonly string[];
  /** The maximum lifetime of a request; default no limit. */
  readonly serviceAccountMaxTokenExpirationSeconds?: number | undefined;
  /** Whether tokens of pods are valid for a year where a kubelet requests the usual hour; default true. */
  readonly serviceAccountExtendTokenExpiration?: boolean;
}

/** The issuer of ServiceAccount tokens, and the issuers whose tokens are accepted. */
export interface ServiceAccountIssuer {
  /** The first one is in new tokens; the others are accepted too. */
  readonly issuers: readonly [string, ...string[]];
  /** The audiences of the API. */
  readonly audiences: readonly string[];
  /** All keys that verify, the signing key first. */
  readonly keys: readonly TokenKey[];
  readonly sign: TokenSigner;
  readonly maxExpirationSeconds: number | undefined;
  readonly extendExpiration: boolean;
}

/** The default issuer of a hub. Source: kubeadm. */
export const defaultIssuer = "https://kubernetes.default.svc";

/**
 * Loads the keys, or creates one in `dir` where `mayCreate`, which is at the first start. The signing key always verifies too, so that a hub accepts its own tokens.
 * @throws HubError with the file or option that is wrong
 */
export async function openServiceAccountIssuer(
  options: ServiceAccountOptions,
  dir: string,
  mayCreate = true,
): Promise<ServiceAccountIssuer> {
  const { issuers, audiences } = namesIn(options);
  const signing = await signingKey(options.serviceAccountSigningKeyFile, dir, mayCreate);
  return {
    issuers,
    audiences,
    keys: distinctKeys([signing.key, ...(await furtherKeys(options))]),
    sign: signing.sign,
    maxExpirationSeconds: checkedMaximum(options.serviceAccountMaxTokenExpirationSeconds),
    extendExpiration: options.serviceAccountExtendTokenExpiration ?? true,
  };
}

/** Reads the keys that the options name, and creates none. @throws HubError with the file or option that is wrong */
export async function checkServiceAccountFlags(
  options: ServiceAccountOptions,
): Promise<Pick<ServiceAccountIssuer, "issuers" | "audiences">> {
  const { serviceAccountSigningKeyFile: file } = options;
  checkedMaximum(options.serviceAccountMaxTokenExpirationSeconds);
  if (file !== undefined) await givenSigningKey(file);
  await furtherKeys(options);
  return namesIn(options);
}

/** The keys that verify tokens of a hub that has not started yet: those of the options, and the one in `dir` where there is one. @throws HubError */
export async function tokenKeysThere(options: ServiceAccountOptions, dir: string): Promise<readonly TokenKey[]> {
  const { serviceAccountSigningKeyFile: file } = options;
  const own = file === undefined ? await ownSigningKey(dir) : await givenSigningKey(file);
  return distinctKeys([...(own === undefined ? [] : [own.key]), ...(await furtherKeys(options))]);
}

function namesIn(options: ServiceAccountOptions): Pick<ServiceAccountIssuer, "issuers" | "audiences"> {
  const [issuer = defaultIssuer, ...others] = options.serviceAccountIssuers ?? [];
  const issuers = [issuer, ...others] as const;
  for (const one of issuers) checkIssuer(one);
  const audiences = options.apiAudiences ?? [];
  return { issuers, audiences: audiences.length === 0 ? issuers : audiences };
}

async function furtherKeys({
  serviceAccountKeyFiles: files = [],
}: ServiceAccountOptions): Promise<readonly TokenKey[]> {
  return (await Promise.all(files.map((file) => keysIn(file)))).flat();
}

/** A verifier of the token treats a text with a colon as a URL. Source: RFC 7519 StringOrURI. */
function checkIssuer(issuer: string): void {
  if (issuer !== "" && (!issuer.includes(":") || URL.canParse(issuer))) return;
  throw new HubError("options", `--service-account-issuer ${JSON.stringify(issuer)} is neither a URL nor a plain word`);
}

function checkedMaximum(seconds: number | undefined): number | undefined {
  if (seconds === undefined || seconds === 0) return undefined;
  if (seconds >= 3600 && seconds <= 2 ** 32) return seconds;
  throw new HubError(
    "options",
    `--service-account-max-token-expiration ${seconds}s: must be between 1 hour and 2^32 seconds`,
  );
}

interface Signing {
  readonly key: TokenKey;
  readonly sign: TokenSigner;
}

async function signingKey(file: string | undefined, dir: string, mayCreate: boolean): Promise<Signing> {
  if (file !== undefined) return givenSigningKey(file);
  const there = await ownSigningKey(dir);
  if (there !== undefined) return there;
  if (mayCreate) return makeKey(dir);
  const own = join(dir, "sa.key");
  throw new HubError(
    "data-dir",
    `${own} is missing, where a hub has run: no token of a ServiceAccount would be accepted any more; restore it from the backup, give --service-account-signing-key-file if the hub ran with it, or put a new private key there and start once with --service-account-signing-key-file ${own} to replace it`,
  );
}

async function givenSigningKey(file: string): Promise<Signing> {
  const pem = await optionText("--service-account-signing-key-file", file);
  return read(`--service-account-signing-key-file ${file}`, () => signingWith(loadPrivateKey(pem)));
}

async function ownSigningKey(dir: string): Promise<Signing | undefined> {
  const own = join(dir, "sa.key");
  const pem = await textIfThere(own);
  return pem === undefined ? undefined : read(own, () => signingWith(loadPrivateKey(pem)));
}

/** The key ID of `sa.key` in `dir`; undefined where there is no such file, or none that signs tokens. */
export async function ownKeyId(dir: string): Promise<string | undefined> {
  const pem = await textIfThere(join(dir, "sa.key"));
  try {
    return pem === undefined ? undefined : tokenKey(loadPrivateKey(pem)).kid;
  } catch (error) {
    if (error instanceof KeyError) return undefined;
    throw error;
  }
}

function signingWith(key: KeyObject): Signing {
  return { key: tokenKey(key), sign: tokenSigner(key) };
}

async function makeKey(dir: string): Promise<Signing> {
  await privateFolder(dir);
  const key = generatePrivateKey();
  // The public key is for others to read; the hub itself needs the private one only.
  await replaceFile(join(dir, "sa.pub"), encodePem("PUBLIC KEY", spkiOf(key)), 0o644);
  await replaceFile(join(dir, "sa.key"), exportPkcs8Pem(key));
  return signingWith(key);
}

async function keysIn(file: string): Promise<readonly TokenKey[]> {
  const pem = await optionText("--service-account-key-file", file);
  return read(`--service-account-key-file ${file}`, () => loadPublicKeys(pem).map(tokenKey));
}

function read<T>(what: string, load: () => T): T {
  try {
    return load();
  } catch (error) {
    if (error instanceof KeyError) throw new HubError("options", `${what}: ${error.message}`, { cause: error });
    throw error;
  }
}
