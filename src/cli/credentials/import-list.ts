import { createPublicKey } from "node:crypto";
import {
  readRevocationLists,
  type RevocationListTrust,
  RevocationListError,
  type ListedRevocation,
  type SignedRevocations,
} from "../../authentication/revocation-lists.ts";
import { tokenKey, type TokenKey } from "../../authentication/service-account-keys.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import { systemErrorText } from "../../apimachinery/system-error.ts";
import { importRevocations } from "../../revocation/import-revocations.ts";
import { loadTrustRoots, type TrustRoot } from "../../pki/verify-chain.ts";
import { fieldListAt, stringAt } from "../../apis/json-fields.ts";
import { revokedText } from "../../apis/credential-revocation.ts";
import { CliError } from "../cli-error.ts";
import type { Args } from "../command.ts";
import type { ExitName } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { writeResult } from "../output.ts";
import { printable } from "../printable.ts";
import { textTable, type TextTable } from "../text-table.ts";
import { withServer, type ServerAccess } from "../server-access.ts";

/** Adds the revocations of a list that the same hub has signed. @throws CliError, StatusError */
export async function importList(args: Args, io: Io): Promise<ExitName> {
  const [, file] = args.operands;
  if (file === undefined) throw new CliError("usage", "revocations import needs the file of a list, or - for stdin");
  const bytes = file === "-" ? await io.stdinBytes() : await bytesOf(file, io);
  const dryRun = args.on("dry-run");
  return withServer<ExitName>(args, io, async ({ client }) => {
    const list = await listIn(bytes, file, {
      keys: () => hubKeys(client),
      roots: () => hubRoots(client),
    });
    const { refused, ...imported } = await importRevocations(list, { client, now: io.clock.now(), dryRun });
    const { added, present, ended } = imported;
    const counts = `${added.length} added, ${present} in force already, ${ended} over by now`;
    const summary = `revocations of ${rfc3339(list.issuedAt)}: ${counts}${dryRun ? " (dry run)" : ""}\n`;
    await writeResult(args, io, {
      data: {
        issuedAt: rfc3339(list.issuedAt),
        dryRun,
        added: added.map(({ name, spec }) => ({ name, ...spec })),
        present,
        ended,
        refused,
      },
      table: () => (dryRun && added.length > 0 ? `${textTable(addedTable(added))}${summary}` : summary),
    });
    for (const { name, reason } of refused) io.stderr.write(`${printable(`error: ${name}: ${reason}`)}\n`);
    return refused.length === 0 ? "ok" : "refused";
  });
}

function addedTable(added: readonly ListedRevocation[]): TextTable {
  return {
    headings: ["NAME", "REVOKES", "REASON", "ENDS"],
    rows: added.map(({ name, spec }) => [
      name,
      revokedText({ apiVersion: "", kind: "", metadata: { name }, spec }),
      spec.reason ?? "<none>",
      spec.expiresAt ?? "<never>",
    ]),
  };
}

async function bytesOf(file: string, io: Io): Promise<Uint8Array> {
  try {
    return await io.readFile(file);
  } catch (error) {
    throw new CliError("usage", systemErrorText(error, { operation: "read", at: file }));
  }
}

async function listIn(bytes: Uint8Array, file: string, trust: RevocationListTrust): Promise<SignedRevocations> {
  try {
    return await readRevocationLists(bytes, trust);
  } catch (error) {
    if (!(error instanceof RevocationListError)) throw error;
    throw new CliError("usage", `${file === "-" ? "standard input" : file} ${error.message}`);
  }
}

/** The keys of ServiceAccount tokens, over the connection that is verified by the kubeconfig. */
async function hubKeys(client: ServerAccess["client"]): Promise<readonly TokenKey[]> {
  const keys = await trusted(client, "/openid/v1/jwks", "the keys");
  return fieldListAt(keys, "keys").map((key) => tokenKey(createPublicKey({ key, format: "jwk" })));
}

/** The CAs of the hub, over the same connection. */
async function hubRoots(client: ServerAccess["client"]): Promise<readonly TrustRoot[]> {
  const map = await trusted(client, "/api/v1/namespaces/kube-public/configmaps/kube-root-ca.crt", "the CAs");
  return loadTrustRoots(stringAt(map, "data", "ca.crt"));
}

async function trusted(client: ServerAccess["client"], path: string, what: string): Promise<unknown> {
  const { status, body } = await client.raw("GET", path);
  if (status === 200) return JSON.parse(body.toString("utf8")) as unknown;
  throw new CliError(
    status === 401 || status === 403 ? "refused" : "failed",
    `${what} by which a list is checked cannot be read: GET ${path} was answered with ${status}`,
  );
}
