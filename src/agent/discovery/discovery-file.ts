import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { ConnectionError } from "../../client/client.ts";
import { KubeconfigError, parseKubeconfig, type Kubeconfig } from "../../client/kubeconfig.ts";
import { resolveKubeconfig, type ResolvedKubeconfig } from "../../client/resolve-kubeconfig.ts";
import { connectionFailure } from "../../credentials/request/connection-failure.ts";
import { withHub, type DiscoveryContext } from "./discovery-context.ts";
import { JoinError } from "../../credentials/join-error.ts";
import { systemErrorCode, systemErrorText } from "../../apimachinery/system-error.ts";

/** A trusted kubeconfig; its credentials, if any, are secret. */
export interface DiscoveryFile {
  /** The path or URL, for messages. */
  readonly shown: string;
  readonly config: ResolvedKubeconfig;
}

/**
 * Reads a kubeconfig from a path, or from an https URL with the roots of the system. Without a current context the cluster named `""` is
 * used, as cluster-info has it. @throws JoinError bad-discovery-file, unreachable, tls-mismatch, not-a-hub
 */
export async function readDiscoveryFile(location: string, context: DiscoveryContext): Promise<DiscoveryFile> {
  const isUrl = /^[a-z][a-z0-9+.-]*:\/\//i.test(location);
  const shown = isUrl ? location : resolve(location);
  const text = isUrl ? await download(location, context) : await readText(shown);
  return { shown, config: await discoveryConfig(text, { shown, files: isUrl ? "refuse" : "read" }) };
}

/** Parses a discovery file; a document from the network must not be able to name files of this machine. @throws JoinError bad-discovery-file */
export async function discoveryConfig(
  text: string,
  from: { readonly shown: string; readonly files: "read" | "refuse" },
): Promise<ResolvedKubeconfig> {
  try {
    const read =
      from.files === "refuse" ? refuseFiles(from.shown) : (path: string): Promise<Uint8Array> => readFile(path);
    const config = await resolveKubeconfig(withContext(parseKubeconfig(text, from.shown)), { readFile: read });
    if (from.files === "refuse" && config.exec !== undefined) {
      throw new JoinError(
        "bad-discovery-file",
        `${from.shown} names a program of this machine (exec); a downloaded kubeconfig must hold all data itself`,
      );
    }
    return config;
  } catch (error) {
    if (!(error instanceof KubeconfigError)) throw error;
    const { cause } = error;
    throw cause instanceof JoinError ? cause : new JoinError("bad-discovery-file", error.message, { cause: error });
  }
}

/** Whether the file has credentials. */
export function hasCredentials(config: ResolvedKubeconfig): boolean {
  return config.token !== undefined || config.clientCertPem !== undefined || config.exec !== undefined;
}

function withContext(config: Kubeconfig): Kubeconfig {
  if (config.currentContext !== "" || !config.clusters.has("")) return config;
  const where = `${config.file}: clusters[""]`;
  const context = { where, texts: new Map<string, string>(), insecureSkipTlsVerify: false, unsupported: undefined };
  return { ...config, currentContext: "cluster-info", contexts: new Map([["cluster-info", context]]) };
}

function refuseFiles(shown: string): (path: string) => Promise<Uint8Array> {
  return async (path) => {
    throw new JoinError(
      "bad-discovery-file",
      `${shown} points to the file ${path}; a downloaded kubeconfig must hold all data itself`,
    );
  };
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new JoinError("bad-discovery-file", systemErrorText(error, { operation: "read", at: path }), {
      cause: error,
      causeCode: systemErrorCode(error),
    });
  }
}

async function download(location: string, context: DiscoveryContext): Promise<string> {
  const url = URL.canParse(location) ? new URL(location) : undefined;
  if (url?.protocol !== "https:" || url.username !== "" || url.password !== "") {
    throw new JoinError(
      "bad-discovery-file",
      "a discovery file comes from a path or an https URL without a user or password",
    );
  }
  const { signal } = context;
  const path = `${url.pathname}${url.search}`;
  const reply = await withHub({ server: url.origin }, context, (client) =>
    client.raw("GET", path, { headers: { accept: "*/*" }, signal }),
  ).catch((error: unknown) => {
    throw error instanceof ConnectionError ? connectionFailure(error, { server: url.origin }) : error;
  });
  if (reply.status === 200) return reply.body.toString("utf8");
  throw new JoinError(
    "bad-discovery-file",
    `${url.origin}${url.pathname} answers ${reply.status}, not 200 with a kubeconfig`,
  );
}
