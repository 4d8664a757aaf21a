import { join } from "node:path";
import { KubeconfigError, mergeKubeconfigs, parseKubeconfig, type Kubeconfig } from "../client/kubeconfig.ts";
import type { RemoteClient } from "../client/remote.ts";
import { resolveKubeconfig, type ResolvedKubeconfig } from "../client/resolve-kubeconfig.ts";
import { StatusError } from "../apimachinery/status.ts";
import { CliError, usageError } from "./cli-error.ts";
import type { Args } from "./command.ts";
import type { Io } from "./io.ts";
import { warnOfOpenKubeconfig, warnOfOpenSecrets } from "./open-secrets.ts";
import { systemErrorCode, systemErrorText } from "../apimachinery/system-error.ts";
import { X509Certificate } from "node:crypto";
import { isJsonObject } from "../apimachinery/json-value.ts";

/** The server of a kubeconfig. */
export interface ServerAccess {
  readonly client: RemoteClient;
  readonly config: ResolvedKubeconfig;
}

/**
 * Finds the kubeconfig, warns of secrets in it that other accounts may use, connects, and closes the connections when `use` is done. No
 * request is sent before `use`. @throws CliError usage when there is no kubeconfig; KubeconfigError; whatever `use` throws
 */
export async function withServer<T>(args: Args, io: Io, use: (server: ServerAccess) => Promise<T>): Promise<T> {
  const config = await requireKubeconfig(args, io);
  const client = await io.connect(config);
  try {
    return await use({ client, config });
  } catch (error) {
    const ended =
      error instanceof StatusError && error.code === 401 ? endedCredential(config, io.clock.now()) : undefined;
    if (ended === undefined) throw error;
    throw new CliError("refused", "the server does not accept the credentials (401 Unauthorized)", [ended]);
  } finally {
    client.close();
  }
}

/** The kubeconfig as `withServer` finds it. @throws CliError usage; KubeconfigError */
export async function requireKubeconfig(args: Args, io: Io): Promise<ResolvedKubeconfig> {
  const config = await findKubeconfig(args, io);
  if (config !== undefined) return config;
  throw usageError(
    "there is no kubeconfig: neither --kubeconfig, $KUBECONFIG, ~/.kube/config nor ./pratique-data/admin.kubeconfig",
    ["A hub writes one into its data directory: --kubeconfig DATA-DIR/admin.kubeconfig"],
  );
}

/** The kubeconfig, or undefined when none is named and no default one exists. @throws CliError, KubeconfigError */
export async function findKubeconfig(args: Args, io: Io): Promise<ResolvedKubeconfig | undefined> {
  const found = await readKubeconfigs(args, io);
  for (const one of found) await warnOfOpenKubeconfig(one, io);
  const [first, ...others] = found;
  if (first === undefined) return undefined;
  const config = await resolved(others.length === 0 ? first : mergeKubeconfigs(found), args, io);
  await warnOfOpenSecrets([config.clientKeyFile, config.tokenFile], io);
  return config;
}

async function resolved(config: Kubeconfig, args: Args, io: Io): Promise<ResolvedKubeconfig> {
  const context = args.text("context");
  try {
    return await resolveKubeconfig(config, { context, readFile: io.readFile });
  } catch (error) {
    const isContext = context !== undefined && !config.contexts.has(context);
    if (!isContext || !(error instanceof KubeconfigError)) throw error;
    throw usageError(`--context ${JSON.stringify(context)}: ${error.message}`);
  }
}

async function readKubeconfigs(args: Args, io: Io): Promise<readonly Kubeconfig[]> {
  const named = args.text("kubeconfig");
  if (named !== undefined) return [await readNamed(named, io)];
  const listed = (io.env["KUBECONFIG"] ?? "").split(":").filter((file) => file !== "");
  if (listed.length > 0) {
    // As in kubectl: missing files of the list are ignored.
    const found = (await Promise.all(listed.map((file) => readIfThere(file, io)))).filter((one) => one !== undefined);
    if (found.length > 0) return found;
    throw usageError(`no file of KUBECONFIG exists: ${listed.join(", ")}`);
  }
  const own = await readIfThere(join(io.home, ".kube", "config"), io);
  const found = own ?? (await readIfThere(join("pratique-data", "admin.kubeconfig"), io));
  return found === undefined ? [] : [found];
}

async function readNamed(file: string, io: Io): Promise<Kubeconfig> {
  try {
    const found = await readIfThere(file, io);
    if (found !== undefined) return found;
  } catch (error) {
    throw error instanceof KubeconfigError ? usageError(`--kubeconfig ${error.message}`) : error;
  }
  throw usageError(`--kubeconfig ${file} does not exist`);
}

async function readIfThere(file: string, io: Io): Promise<Kubeconfig | undefined> {
  let bytes: Uint8Array;
  try {
    bytes = await io.readFile(file);
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw usageError(systemErrorText(error, { operation: "read", at: `the kubeconfig ${file}` }));
  }
  return parseKubeconfig(Buffer.from(bytes).toString("utf8"), file);
}

/**
 * Which of a kubeconfig's credentials had expired by `now`, in milliseconds since the epoch, and when, in a sentence; undefined where
 * none has, or its expiry is not known. Nothing is verified: it explains a rejection, and decides nothing.
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

/** The claims of a JSON web token, unverified; undefined for any other token. */
export function tokenClaims(token: string): unknown {
  try {
    return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
  } catch {
    return undefined;
  }
}

function tokenEnd(token: string): number | undefined {
  const claims = tokenClaims(token);
  const exp = isJsonObject(claims) ? claims["exp"] : undefined;
  return typeof exp === "number" ? dated(exp * 1000) : undefined;
}

/** Beyond that no date can be written. */
function dated(ms: number): number | undefined {
  return Number.isFinite(ms) && Math.abs(ms) <= 8.64e15 ? ms : undefined;
}
