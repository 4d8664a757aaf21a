import { createPublicKey } from "node:crypto";
import { humanDuration } from "../../apimachinery/duration.ts";
import { StatusError } from "../../apimachinery/status.ts";
import { type CredentialRevocation, credentialRevocations, revokedText } from "../../apis/credential-revocation.ts";
import { CliError, type ExitName, usageError } from "../cli-error.ts";
import type { Args, Run } from "../command.ts";
import type { Io } from "../io.ts";
import { type TextTable, textTable, writeResult } from "../output.ts";
import { type ServerAccess, withServer } from "../server-access.ts";
import { parsedJson } from "../../client/replies.ts";
import { fieldListAt, stringAt } from "../../apis/json-fields.ts";
import {
  type ListedRevocation,
  RevocationListError,
  type RevocationListTrust,
  type SignedRevocations,
  readRevocationLists,
} from "../../authentication/revocation-lists.ts";
import { type TokenKey, tokenKey } from "../../authentication/service-account-keys.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import { systemErrorText } from "../../apimachinery/system-error.ts";
import { importRevocations } from "../../revocation/import-revocations.ts";
import { type TrustRoot, loadTrustRoots } from "../../pki/verify-chain.ts";
import { writeLine } from "../printable.ts";

/** Prints the revocations, or the list of them that the server signs, or adds those of such a list. @throws CliError, StatusError */
export const runRevocations: Run = async (args, io) => {
  const [action, file] = args.operands;
  if (action === "import") return importList(args, io);
  if (file !== undefined) throw usageError(`revocations ${action} takes no file`);
  return action === "export" ? exportRevocations(args, io) : listRevocations(args, io);
};

/** The newest first. */
async function listRevocations(args: Args, io: Io): Promise<void> {
  return withServer(args, io, async ({ client }) => {
    const { items } = await client.list<CredentialRevocation>(credentialRevocations);
    const sorted = items.toSorted((one, other) => createdAt(other) - createdAt(one));
    const now = io.clock.now();
    await writeResult(args, io, {
      data: sorted.map(({ metadata, spec, status }) => ({ name: metadata.name, ...spec, ...status })),
      table: () =>
        sorted.length === 0
          ? "nothing is revoked\n"
          : {
              headings: ["NAME", "REVOKES", "BY", "REASON", "ENDS", "AGE"],
              rows: sorted.map((one) => [
                one.metadata.name ?? "",
                revokedText(one),
                one.status?.revokedBy ?? "<unknown>",
                one.spec.reason ?? "<none>",
                one.spec.expiresAt ?? "<never>",
                humanDuration(now - createdAt(one)),
              ]),
            },
    });
  });
}

function createdAt({ metadata }: CredentialRevocation): number {
  return Date.parse(metadata.creationTimestamp ?? "");
}

async function exportRevocations(args: Args, io: Io): Promise<void> {
  return withServer(args, io, async ({ client }) => {
    const path = args.text("format") === "crl" ? "/revocations/crl" : "/revocations";
    const { status, body } = await client.raw("GET", path);
    if (status === 200) {
      io.stdout.write(body.toString("utf8"));
      return;
    }
    if (status === 404) throw new CliError("notFound", "this server signs no list of revocations; a hub does");
    if (status === 401) throw new StatusError("Unauthorized", "Unauthorized");
    throw new CliError(
      status === 403 ? "refused" : "failed",
      stringAt(parsedJson(body), "message") || `the server answered ${status}`,
    );
  });
}

/** Adds the revocations of a list that the same hub has signed. @throws CliError, StatusError */
async function importList(args: Args, io: Io): Promise<ExitName> {
  const [, file] = args.operands;
  if (file === undefined) throw usageError("revocations import needs the file of a list, or - for stdin");
  const bytes = file === "-" ? await io.stdinBytes() : await bytesOf(file, io);
  const dryRun = args.on("dry-run");
  return withServer(args, io, async ({ client }) => {
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
    for (const { name, reason } of refused) writeLine(io.stderr, `error: ${name}: ${reason}`);
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
    throw usageError(systemErrorText(error, { operation: "read", at: file }));
  }
}

async function listIn(bytes: Uint8Array, file: string, trust: RevocationListTrust): Promise<SignedRevocations> {
  try {
    return await readRevocationLists(bytes, trust);
  } catch (error) {
    if (!(error instanceof RevocationListError)) throw error;
    throw usageError(`${file === "-" ? "standard input" : file} ${error.message}`);
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
