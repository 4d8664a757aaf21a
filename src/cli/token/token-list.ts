import { secrets } from "../../controllers/kinds.ts";
import { formatDuration } from "../../apimachinery/duration.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { formatToken } from "../../trust/token.ts";
import { tokenLifetime } from "../../trust/token-rules.ts";
import { readTokenSecret, tokenIdOfName, tokenSecretNamespace, tokenSecretType } from "../../trust/token-secret.ts";
import type { Args } from "../command.ts";
import type { ExitName } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { writeResult } from "../output.ts";
import { printable } from "../printable.ts";
import { withServer } from "../server-access.ts";
import type { TextTable } from "../text-table.ts";

/** Prints the tokens; Secrets that hold none are named on stderr. */
export async function tokenList(args: Args, io: Io): Promise<ExitName> {
  return withServer<ExitName>(args, io, async ({ client }) => {
    const { items } = await client.list(secrets, {
      namespace: tokenSecretNamespace,
      fieldSelector: `type=${tokenSecretType}`,
    });
    const tokens = items.filter(isToken);
    for (const other of items.filter((item) => !isToken(item))) {
      io.stderr.write(
        `warning: the Secret "${printable(other.metadata.name ?? "")}" is of a token's type and holds none\n`,
      );
    }
    await writeResult(args, io, {
      data: tokens.map(tokenData),
      table: () => tokenTable(tokens, io.clock.now()),
    });
    return "ok";
  });
}

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
export function tokenTable(tokens: readonly ApiObject[], now: number): TextTable {
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
  switch (lifetime.kind) {
    case "forever":
      return "<forever>";
    case "expired":
      return "<expired>";
    case "expires":
      return formatDuration(Math.floor(lifetime.afterMs / 1000) * 1000);
  }
}
