import { isIP } from "node:net";
import { CliError } from "../cli-error.ts";
import { reloadingPolicy, type DecidingPolicy } from "./deciding-policy.ts";
import { opaServer, type OpaServer } from "./opa-server.ts";
import { policyFile, type PolicyFile } from "./policy-file.ts";
import type { PolicyWorld } from "./policy-source.ts";
import { queryPath } from "./query-path.ts";

const largestCa = 1 << 20;
const largestToken = 16_384;
const noValue =
  "OPA has no value there, which is no opinion; this is told once: is --query right, and the policy loaded?";
const longestTimeoutMs = 30_000;

/** A policy that an OPA server evaluates. Its CA and token may change. @throws CliError usage */
export async function openOpaPolicy(given: string, world: PolicyWorld): Promise<DecidingPolicy> {
  const { args, io, log, reloaded } = world;
  const url = urlOf(given, args.text("opa-ca-file") !== undefined);
  const timeoutMs = args.number("opa-timeout") ?? 0;
  if (!(timeoutMs > 0 && timeoutMs <= longestTimeoutMs))
    throw new CliError("usage", "--opa-timeout: must be more than 0 and at most 30s");
  const path = queryPath(args.text("query") ?? "");
  const fileOf = async (option: string, most: number): Promise<PolicyFile | undefined> => {
    const file = args.text(option);
    return file === undefined ? undefined : policyFile(file, io, most);
  };
  return reloadingPolicy({
    read: async () => {
      const [ca, token] = [await fileOf("opa-ca-file", largestCa), await fileOf("opa-token-file", largestToken)];
      return {
        key: [ca?.key, token?.key].join(" "),
        compile: async (): Promise<OpaServer> =>
          withWarning(
            opaServer({
              url,
              path,
              timeoutMs,
              clock: io.clock,
              caPem: pemOf((await ca?.bytes())?.toString("utf8")),
              token: tokenOf((await token?.bytes())?.toString("utf8")),
            }),
            () => log({ level: "warn", message: noValue, query: path.join(".") }),
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
  const problem = (why: string): CliError => new CliError("usage", `--opa-url: ${why}`);
  // Whatever stands before an @ may be a secret.
  const form = new CliError(
    "usage",
    `--opa-url${given.includes("@") ? "" : ` ${JSON.stringify(given)}`}: must be http[s]://HOST[:PORT]`,
  );
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

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || (isIP(host) === 4 && host.startsWith("127."));
}

function pemOf(text: string | undefined): string | undefined {
  if (text !== undefined && !text.includes("-----BEGIN CERTIFICATE-----"))
    throw new CliError("usage", "--opa-ca-file holds no PEM certificate");
  return text;
}

function tokenOf(text: string | undefined): string | undefined {
  const token = text?.trim();
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token))
    throw new CliError("usage", "--opa-token-file holds no token: one line of printable characters");
  return token;
}
