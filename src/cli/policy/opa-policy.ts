import { isIP } from "node:net";
import { logEntry } from "../../core/log-entry.ts";
import { ConnectionError } from "../../client/client.ts";
import { environmentProxy } from "../../client/environment-proxy.ts";
import { requiredProxy } from "../../client/tunnel.ts";
import { CliError } from "../cli-error.ts";
import type { Args } from "../command.ts";
import { reloadingPolicy, type DecidingPolicy } from "./deciding-policy.ts";
import { opaServer, type OpaServer } from "./opa-server.ts";
import type { Io } from "../io.ts";
import { policyFile, type PolicyFile } from "./policy-file.ts";
import type { PolicyWorld } from "./policy-source.ts";
import { queryPath } from "./query-path.ts";

const maxCaBytes = 1 << 20;
const maxTokenBytes = 16_384;
const noValue =
  "OPA has no value there, which is no opinion; this is told once: is --query right, and the policy loaded?";
const maxTimeoutMs = 30_000;

/** A policy that an OPA server evaluates. Its CA and token may change. @throws CliError usage */
export async function openOpaPolicy(given: string, world: PolicyWorld): Promise<DecidingPolicy> {
  const { args, io, log, reloaded } = world;
  const url = urlOf(given, args.text("opa-ca-file") !== undefined);
  const timeoutMs = args.number("opa-timeout") ?? 0;
  if (!(timeoutMs > 0 && timeoutMs <= maxTimeoutMs))
    throw new CliError("usage", `--opa-timeout ${timeoutMs / 1000}s: must be more than 0 and at most 30s`);
  const proxyUrl = proxyFor(url, io);
  const path = queryPath(args.text("query") ?? "");
  const fileOf = async (option: string, maxBytes: number): Promise<PolicyFile | undefined> => {
    const file = args.text(option);
    if (file === undefined) return undefined;
    return policyFile(file, io, maxBytes).catch((error: unknown) => {
      throw error instanceof CliError ? new CliError("usage", `--${option}: ${error.message}`) : error;
    });
  };
  return reloadingPolicy({
    read: async () => {
      const [ca, token] = [await fileOf("opa-ca-file", maxCaBytes), await fileOf("opa-token-file", maxTokenBytes)];
      return {
        key: [ca?.key, token?.key].join(" "),
        compile: async (): Promise<OpaServer> =>
          withWarning(
            opaServer({
              url,
              path,
              timeoutMs,
              proxyUrl,
              clock: io.clock,
              caPem: pemOf((await ca?.bytes())?.toString("utf8"), args),
              token: tokenOf((await token?.bytes())?.toString("utf8"), args),
            }),
            () => log(logEntry("PolicyUndefined", noValue, { query: path.join(".") })),
          ),
      };
    },
    log,
    clock: io.clock,
    ...(reloaded === undefined ? {} : { reloaded }),
  });
}

/** Tells once of an answer without a value: OPA gives the same for a rule that does not hold as for a misspelt one. */
function withWarning(server: OpaServer, warn: () => void): OpaServer {
  let isTold = false;
  return {
    ...server,
    ask: async (input) => {
      const judgement = await server.ask(input);
      if (!isTold && "json" in judgement && judgement.json === undefined) {
        isTold = true;
        warn();
      }
      return judgement;
    },
  };
}

function urlOf(given: string, hasCa: boolean): URL {
  // Whatever stands before an @ may be a secret.
  const shown = given.includes("@") ? "" : ` ${JSON.stringify(given)}`;
  const problem = (why: string): CliError => new CliError("usage", `--opa-url${shown}: ${why}`);
  const form = problem("must be http[s]://HOST[:PORT]");
  if (!URL.canParse(given)) throw form;
  const url = new URL(given);
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    throw problem("must hold no credentials, query or fragment");
  if (url.protocol === "https:") return url;
  if (url.protocol !== "http:") throw form;
  if (hasCa) throw problem("--opa-ca-file is for https://");
  if (!isLoopback(url.hostname))
    throw problem("http:// is for this machine only, as anybody on the way could answer; use https://");
  return url;
}

/** As the environment says, for https:// alone: http:// never leaves this machine. @throws CliError usage */
function proxyFor(url: URL, io: Io): string | undefined {
  const proxy = url.protocol === "https:" ? environmentProxy(url.href, io.env) : undefined;
  try {
    if (proxy !== undefined) requiredProxy(proxy);
  } catch (error) {
    throw error instanceof ConnectionError
      ? new CliError("usage", `--opa-url, through HTTPS_PROXY: ${error.message}`)
      : error;
  }
  return proxy;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || (isIP(host) === 4 && host.startsWith("127."));
}

function pemOf(text: string | undefined, args: Args): string | undefined {
  if (text !== undefined && !text.includes("-----BEGIN CERTIFICATE-----"))
    throw new CliError("usage", `--opa-ca-file ${args.text("opa-ca-file")}: holds no PEM certificate`);
  return text;
}

function tokenOf(text: string | undefined, args: Args): string | undefined {
  const token = text?.trim();
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token))
    throw new CliError(
      "usage",
      `--opa-token-file ${args.text("opa-token-file")}: holds no token, which is one line of printable characters`,
    );
  return token;
}
