import { isIP } from "node:net";
import { logEntry } from "../apimachinery/log-entry.ts";
import { ConnectionError } from "../client/client.ts";
import { environmentProxy } from "../client/environment-proxy.ts";
import { requiredProxy } from "../client/proxy.ts";
import { OptionError } from "../apimachinery/option-error.ts";
import { reloadingPolicy, type DecidingPolicy, policyFile, type PolicyFile, queryPath } from "./deciding-policy.ts";
import { opaServer, type OpaServer } from "./opa-server.ts";
import type { OpaOptions, PolicyOptions, PolicyWorld } from "./policy-source.ts";

const maxCaBytes = 1 << 20;
const maxTokenBytes = 16_384;
const noValue =
  "OPA has no value there, which is no opinion; this is logged once: is --query right, and the policy loaded?";
const maxTimeoutMs = 30_000;

/** A policy that an OPA server evaluates. Its CA and token files may change. @throws OptionError usage */
export async function openOpaPolicy(given: string, options: PolicyOptions): Promise<DecidingPolicy> {
  const { query, opa, world } = options;
  const { timeoutMs } = opa;
  const url = urlOf(given, opa.caFile !== undefined);
  if (!(timeoutMs > 0 && timeoutMs <= maxTimeoutMs))
    throw new OptionError("usage", `--opa-timeout ${timeoutMs / 1000}s: must be more than 0 and at most 30s`);
  const proxyUrl = proxyFor(url, world.env);
  const path = queryPath(query);
  const fileOf = async (
    option: string,
    file: string | undefined,
    maxBytes: number,
  ): Promise<PolicyFile | undefined> => {
    if (file === undefined) return undefined;
    return policyFile(file, world, maxBytes).catch((error: unknown) => {
      throw error instanceof OptionError ? new OptionError("usage", `--${option}: ${error.message}`) : error;
    });
  };
  return reloadingPolicy({
    read: async () => {
      const ca = await fileOf("opa-ca-file", opa.caFile, maxCaBytes);
      const token = await fileOf("opa-token-file", opa.tokenFile, maxTokenBytes);
      return {
        key: [ca?.key, token?.key].join(" "),
        compile: async (): Promise<OpaServer> =>
          withWarning(
            opaServer({
              url,
              path,
              timeoutMs,
              proxyUrl,
              clock: world.clock,
              caPem: pemOf((await ca?.bytes())?.toString("utf8"), opa),
              token: tokenOf((await token?.bytes())?.toString("utf8"), opa),
            }),
            () => world.log(logEntry("PolicyUndefined", noValue, { query: path.join(".") })),
          ),
      };
    },
    ...world,
  });
}

/** Logs once a reply without a value: OPA sends the same for a rule that is false and for a misspelt one. */
function withWarning(server: OpaServer, warn: () => void): OpaServer {
  let isReported = false;
  return {
    ...server,
    ask: async (input) => {
      const judgement = await server.ask(input);
      if (!isReported && "json" in judgement && judgement.json === undefined) {
        isReported = true;
        warn();
      }
      return judgement;
    },
  };
}

function urlOf(given: string, hasCa: boolean): URL {
  // The part before an @ may be a secret.
  const shown = given.includes("@") ? "" : ` ${JSON.stringify(given)}`;
  const problem = (why: string): OptionError => new OptionError("usage", `--opa-url${shown}: ${why}`);
  const form = problem("must be http[s]://HOST[:PORT]");
  if (!URL.canParse(given)) throw form;
  const url = new URL(given);
  if (`${url.username}${url.password}${url.search}${url.hash}` !== "")
    throw problem("must hold no credentials, query or fragment");
  if (url.protocol === "https:") return url;
  if (url.protocol !== "http:") throw form;
  if (hasCa) throw problem("--opa-ca-file is for https://");
  if (!isLoopback(url.hostname))
    throw problem("http:// is for this machine only, as any host on the network path could answer; use https://");
  return url;
}

/** The proxy of the environment, for https:// alone: http:// is only accepted on loopback. @throws OptionError usage */
function proxyFor(url: URL, env: PolicyWorld["env"]): string | undefined {
  const proxy = url.protocol === "https:" ? environmentProxy(url.href, env) : undefined;
  try {
    if (proxy !== undefined) requiredProxy(proxy);
  } catch (error) {
    throw error instanceof ConnectionError
      ? new OptionError("usage", `--opa-url, through HTTPS_PROXY: ${error.message}`)
      : error;
  }
  return proxy;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || (isIP(host) === 4 && host.startsWith("127."));
}

function pemOf(text: string | undefined, { caFile }: OpaOptions): string | undefined {
  if (text !== undefined && !text.includes("-----BEGIN CERTIFICATE-----"))
    throw new OptionError("usage", `--opa-ca-file ${caFile}: holds no PEM certificate`);
  return text;
}

function tokenOf(text: string | undefined, { tokenFile }: OpaOptions): string | undefined {
  const token = text?.trim();
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token))
    throw new OptionError(
      "usage",
      `--opa-token-file ${tokenFile}: holds no token, which is one line of printable characters`,
    );
  return token;
}
