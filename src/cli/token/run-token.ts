import { ignoreReasons } from "../../client/api-errors.ts";
import { secrets } from "../../controllers/kinds.ts";
import { formatDuration } from "../../apimachinery/duration.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { formatToken, generateToken, requireTokenId } from "../../trust/token.ts";
import { tokenLifetime } from "../../trust/token-rules.ts";
import {
  readTokenSecret,
  tokenIdOfName,
  tokenSecretName,
  tokenSecretNamespace,
  tokenSecretType,
} from "../../trust/token-secret.ts";
import type { Run } from "../command.ts";
import type { ExitName } from "../exit-code.ts";
import { writeResult } from "../output.ts";
import { printable } from "../printable.ts";
import { withServer } from "../server-access.ts";
import type { TextTable } from "../text-table.ts";

/** Prints the tokens; Secrets that hold none are named on stderr. */
export const tokenList: Run = async (args, io) => {
  return withServer<ExitName>(args, io, async ({ client }) => {
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
    return "ok";
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

/**
 * Deletes the named tokens in order; all names are checked before the first is deleted. One that is not there does not keep the others
 * from being deleted.
 */
export const tokenDelete: Run = async (args, io) => {
  const ids = args.operands.map(requireTokenId);
  return withServer<ExitName>(args, io, async ({ client }) => {
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
  return "ok";
};
