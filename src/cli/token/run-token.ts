import { ignoreReasons, hasReason } from "../../client/api-errors.ts";
import { secrets } from "../../controllers/kinds.ts";
import { formatDuration } from "../../apimachinery/duration.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { formatToken, generateToken, requireTokenId, type BootstrapToken, requireToken } from "../../trust/token.ts";
import { tokenLifetime } from "../../trust/token-rules.ts";
import {
  readTokenSecret,
  tokenIdOfName,
  tokenSecretName,
  tokenSecretNamespace,
  tokenSecretType,
  tokenSecret,
  type TokenSecret,
} from "../../trust/token-secret.ts";
import type { Run, Args } from "../command.ts";
import { type ExitName, CliError, usageError } from "../cli-error.ts";
import { writeResult, type TextTable } from "../output.ts";
import { printable } from "../printable.ts";
import { withServer } from "../server-access.ts";
import { isIP } from "node:net";
import type { ResolvedKubeconfig } from "../../client/resolve-kubeconfig.ts";
import { certificatesOfBundle } from "../../trust/pins.ts";
import type { Io } from "../io.ts";
import { shellWord } from "../../apimachinery/shell-word.ts";

/** Prints the tokens; Secrets without a valid one are named on stderr. */
export const tokenList: Run = async (args, io) => {
  return withServer(args, io, async ({ client }) => {
    const { items } = await client.list(secrets, {
      namespace: tokenSecretNamespace,
      fieldSelector: `type=${tokenSecretType}`,
    });
    const tokens = items.filter(isToken);
    for (const { metadata } of items.filter((item) => !isToken(item))) {
      const name = printable(metadata.name ?? "");
      io.stderr.write(`warning: the Secret "${name}" is of a token's type and holds none\n`);
    }
    await writeResult(args, io, {
      data: tokens.map(tokenData),
      table: () => tokenTable(tokens, io.clock.now()),
    });
  });
};

function isToken(secret: ApiObject): boolean {
  const facts = readTokenSecret(secret);
  return facts.id !== "" && facts.secret !== "" && tokenIdOfName(facts.name) === facts.id;
}

function tokenData(secret: ApiObject): Readonly<Record<string, unknown>> {
  const { id, secret: text, expiration, usages, groups, description } = readTokenSecret(secret);
  return {
    token: formatToken({ id, secret: text }),
    ...(description === "" ? {} : { description }),
    ...(expiration === "" ? {} : { expires: expiration }),
    usages,
    groups,
  };
}

/** The table of `kubeadm token list`. `now` in milliseconds. */
function tokenTable(tokens: readonly ApiObject[], now: number): TextTable {
  return {
    headings: ["TOKEN", "TTL", "EXPIRES", "USAGES", "DESCRIPTION", "EXTRA GROUPS"],
    rows: tokens.map((secret) => {
      const { id, secret: text, expiration, usages, groups, description } = readTokenSecret(secret);
      return [
        formatToken({ id, secret: text }),
        ttl(secret, now),
        expiration || "<never>",
        usages.join(",") || "<none>",
        description || "<none>",
        groups.join(",") || "<none>",
      ];
    }),
  };
}

function ttl(secret: ApiObject, now: number): string {
  const lifetime = tokenLifetime(secret, now);
  if (lifetime.kind !== "expires") return `<${lifetime.kind}>`;
  return formatDuration(Math.floor(lifetime.afterMs / 1000) * 1000);
}

/** Deletes the named tokens in order; all names are validated before the first is deleted. A missing one does not stop the others. */
export const tokenDelete: Run = async (args, io) => {
  const ids = args.operands.map(requireTokenId);
  return withServer(args, io, async ({ client }) => {
    let exit: ExitName = "ok";
    for (const id of new Set(ids)) {
      const token = `bootstrap token ${JSON.stringify(id)}`;
      const key = { namespace: tokenSecretNamespace, name: tokenSecretName(id) };
      const deleted = client.delete(secrets, key).then(() => true);
      if (await ignoreReasons(deleted, "NotFound")) io.stdout.write(`${token} deleted\n`);
      else {
        io.stderr.write(`error: ${token} not found\n`);
        exit = "notFound";
      }
    }
    return exit;
  });
};

/** Prints a fresh token. */
export const tokenGenerate: Run = async (_args, io) => {
  io.stdout.write(`${formatToken(generateToken(io.random))}\n`);
};

/** Creates a token and prints it, or the command with which a machine joins. */
export const tokenCreate: Run = async (args, io) => {
  const token = await chosenToken(args, io);
  const secret = secretFor(token, args, io);
  const wantsCommand = args.on("print-join-command");
  if (wantsCommand && args.list("usages").length < 2) {
    throw usageError("--print-join-command needs a token with the usages signing,authentication");
  }
  return withServer(args, io, async ({ client, config }) => {
    // Built first, so that no token is left behind when the kubeconfig is incomplete.
    const text = wantsCommand ? joinCommand(config, token) : formatToken(token);
    try {
      await client.create(secrets, secret);
    } catch (error) {
      if (!hasReason(error, "AlreadyExists")) throw error;
      throw new CliError("conflict", `a token with id ${JSON.stringify(token.id)} already exists`);
    }
    if (wantsCommand) {
      const advice = "start the hub with --bind-address and --tls-san to make it reachable";
      warnOfLoopback(config.server, advice, io);
    }
    io.stdout.write(`${text}\n`);
  });
};

/**
 * The command line that joins a machine: server and CA come from the kubeconfig, with one pin for each certificate of the CA.
 * @throws CliError usage when the kubeconfig names no CA; PinError
 */
function joinCommand(config: ResolvedKubeconfig, token: BootstrapToken): string {
  if (config.caPem === undefined) {
    throw usageError("the kubeconfig has no certificate-authority, so there is no pin for a join command", [
      "Give --kubeconfig with the admin kubeconfig of the hub.",
    ]);
  }
  const pins = new Set(certificatesOfBundle(config.caPem).map(({ pin }) => pin));
  return [
    `pratique join ${shellWord(endpoint(config.server))} --token ${formatToken(token)}`,
    ...[...pins].map((pin) => `--discovery-token-ca-cert-hash ${pin}`),
  ].join(" ");
}

/** `host:port`, or the URL itself where it has a path. */
function endpoint(server: string): string {
  const url = new URL(server);
  if (url.pathname !== "/") return server;
  return url.port === "" ? `${url.hostname}:443` : url.host;
}

/** Warns of a loopback server, which no other machine can reach, with the next step. */
export function warnOfLoopback(server: string, advice: string, io: Io): void {
  const { hostname } = new URL(server);
  const isLoopback =
    hostname === "localhost" || hostname === "[::1]" || (isIP(hostname) === 4 && hostname.startsWith("127."));
  if (isLoopback) io.stderr.write(`warning: ${hostname} leads other machines to themselves; ${advice}\n`);
}

async function chosenToken(args: Args, io: Io): Promise<BootstrapToken> {
  const [given] = args.operands;
  if (given === undefined) return generateToken(io.random);
  return requireToken(given === "-" ? (await io.stdin()).trim() : given);
}

function secretFor(token: BootstrapToken, args: Args, io: Io): TokenSecret {
  const groups = args.list("groups");
  const ms = args.number("ttl") ?? 0;
  if (ms > 0 && ms < 1000) throw usageError("--ttl must be 1s or more, or 0 for a token that never expires");
  return tokenSecret({
    token,
    now: io.clock.now(),
    ttlSeconds: Math.floor(ms / 1000),
    usages: args.list("usages"),
    description: args.text("description") ?? "",
    ...(groups.length === 0 ? {} : { groups }),
  });
}
