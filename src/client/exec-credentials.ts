import { createPrivateKey, X509Certificate } from "node:crypto";
import type { Clock } from "../apimachinery/clock.ts";
import { isJsonObject, type JsonObject } from "../apimachinery/json-value.ts";
import { ConnectionError } from "./client.ts";
import type { ExecPlugin, ResolvedKubeconfig } from "./resolve-kubeconfig.ts";
import type { ClientCredentials } from "./transport.ts";

/** How a credential plugin runs: never in a shell, and with the environment of the process overridden by `env`. */
export interface PluginRun {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Whether it inherits standard input. */
  readonly isInteractive: boolean;
}

/** The result of a run; `output` is its standard output, and secret. */
export type PluginEnd =
  | { readonly kind: "ended"; readonly code: number; readonly output: string }
  /** There is no such program. */
  | { readonly kind: "missing" }
  /** It did not start, was ended by a signal or its timeout, or wrote too much; `why` names which. */
  | { readonly kind: "failed"; readonly why: string };

/** The process that runs plugins. */
export interface PluginHost {
  /** Why there is no terminal for a plugin, or undefined where there is one. */
  readonly noTerminal: () => string | undefined;
  /** Runs to its end within a timeout; its standard error is shown. Never rejects. */
  readonly run: (run: PluginRun) => Promise<PluginEnd>;
}

/** The credentials of a plugin. */
export interface ExecCredentials {
  /** The last credentials; runs the plugin where there are none, or where they expire within ten seconds. @throws ConnectionError EXEC_PLUGIN */
  current(): Promise<ClientCredentials>;
  /** Runs the plugin again, unless another run has replaced the credentials; true where there are others now. */
  refused(shown: ClientCredentials): Promise<boolean>;
}

/** Leaves time for the request that needs the credentials. */
const earlyMs = 10_000;

interface Kept {
  readonly credentials: ClientCredentials;
  /** In milliseconds since the epoch. */
  readonly expiresAt: number | undefined;
}

/**
 * The credentials of a plugin, cached in memory until they expire; concurrent callers wait for one run. Errors describe what the plugin
 * did, and contain none of its output. @see client-go plugin/pkg/client/auth/exec
 */
export function execCredentials(
  plugin: ExecPlugin,
  config: ResolvedKubeconfig,
  { clock, host }: { readonly clock: Clock; readonly host: PluginHost },
): ExecCredentials {
  let kept: Kept | undefined;
  let running: Promise<Kept> | undefined;

  async function renewed(): Promise<Kept> {
    running ??= runPlugin(plugin, config, host).finally(() => (running = undefined));
    kept = await running;
    return kept;
  }

  return {
    current: async () => {
      const isGood = kept !== undefined && (kept.expiresAt === undefined || clock.now() < kept.expiresAt - earlyMs);
      return (isGood && kept !== undefined ? kept : await renewed()).credentials;
    },
    refused: async (shown) => {
      if (kept?.credentials === shown) await renewed();
      return kept?.credentials !== shown;
    },
  };
}

async function runPlugin(plugin: ExecPlugin, config: ResolvedKubeconfig, host: PluginHost): Promise<Kept> {
  const { command, args, where } = plugin;
  const isInteractive = isInteractiveRun(plugin, host);
  const env = Object.fromEntries(plugin.env.map(({ name, value }) => [name, value]));
  const info = JSON.stringify(execInfo(plugin, config, isInteractive));
  const end = await host.run({ command, args, env: { ...env, KUBERNETES_EXEC_INFO: info }, isInteractive });
  const fail = (why: string): ConnectionError => failure(`the credential plugin ${command} ${why} (${where})`);
  if (end.kind === "missing") {
    const hint = plugin.installHint === "" ? "install it, or check its path and PATH" : plugin.installHint.trim();
    throw fail(`does not exist: ${hint}`);
  }
  if (end.kind === "failed") throw fail(end.why);
  if (end.code !== 0) {
    throw fail(`failed with exit code ${end.code}: see what it wrote to standard error, or run it by hand`);
  }
  return keptOf(end.output, plugin.apiVersion, fail);
}

function failure(message: string): ConnectionError {
  return new ConnectionError("EXEC_PLUGIN", message);
}

function isInteractiveRun({ interactiveMode, command, where }: ExecPlugin, host: PluginHost): boolean {
  if (interactiveMode === "Never") return false;
  const why = host.noTerminal();
  if (why === undefined) return true;
  if (interactiveMode === "IfAvailable") return false;
  throw failure(
    `the credential plugin ${command} must be run in a terminal (interactiveMode Always), but ${why} (${where})`,
  );
}

/** The JSON of KUBERNETES_EXEC_INFO, without undefined fields. @see pkg/apis/clientauthentication ExecCredentialSpec */
function execInfo(plugin: ExecPlugin, config: ResolvedKubeconfig, interactive: boolean): object {
  const { server, tlsServerName, insecureSkipTlsVerify, caPem, proxyUrl } = config;
  const cluster = {
    server,
    "tls-server-name": tlsServerName,
    "insecure-skip-tls-verify": insecureSkipTlsVerify || undefined,
    "certificate-authority-data": caPem && Buffer.from(caPem, "utf8").toString("base64"),
    "proxy-url": proxyUrl,
    config: plugin.extension,
  };
  return {
    kind: "ExecCredential",
    apiVersion: plugin.apiVersion,
    spec: { cluster: plugin.provideClusterInfo ? cluster : undefined, interactive },
  };
}

function keptOf(output: string, apiVersion: string, fail: (why: string) => ConnectionError): Kept {
  const answer = parsed(output);
  if (!isJsonObject(answer) || answer["kind"] !== "ExecCredential") throw fail("wrote no ExecCredential in JSON");
  if (answer["apiVersion"] !== apiVersion) {
    throw fail(`gave a credential of another version than ${apiVersion}, which the kubeconfig asks for`);
  }
  const { status } = answer;
  if (!isJsonObject(status)) throw fail("gave a credential without a status");
  return { credentials: credentialsIn(status, fail), expiresAt: expiry(status["expirationTimestamp"], fail) };
}

function credentialsIn(status: JsonObject, fail: (why: string) => ConnectionError): ClientCredentials {
  const token = textIn(status, "token", fail);
  const certificate = textIn(status, "clientCertificateData", fail);
  const key = textIn(status, "clientKeyData", fail);
  if (token === "" && certificate === "" && key === "") throw fail("gave neither a token nor a certificate");
  if ((certificate === "") !== (key === "")) throw fail("gave only one of a certificate and its key, not both");
  // Only characters of a header value; a line break would start another header.
  if (token !== "" && !/^[\u0021-\u007e]+$/.test(token)) throw fail("gave a token with characters that no token has");
  if (certificate !== "") requirePair(certificate, key, fail);
  return {
    ...(token === "" ? {} : { token }),
    ...(certificate === "" ? {} : { clientCertPem: certificate, clientKeyPem: key }),
  };
}

function requirePair(certificate: string, key: string, fail: (why: string) => ConnectionError): void {
  let fits = false;
  try {
    fits = new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
  } catch {
    throw fail("gave a certificate and a key that cannot be read");
  }
  if (!fits) throw fail("gave a key that is not the key of its certificate");
}

function textIn(status: JsonObject, field: string, fail: (why: string) => ConnectionError): string {
  const value = status[field] ?? "";
  if (typeof value !== "string") throw fail(`gave a credential whose ${field} is no text`);
  return value;
}

function expiry(value: unknown, fail: (why: string) => ConnectionError): number | undefined {
  if (value === undefined || value === null) return undefined;
  const at =
    typeof value === "string" && /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}/.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(at)) throw fail("gave a credential whose expirationTimestamp is no time of RFC 3339");
  return at;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The parser's own message would quote the credential.
    return undefined;
  }
}
