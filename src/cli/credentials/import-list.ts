import { createPublicKey } from "node:crypto";
import { readSignedRevocations, RevocationListError, type SignedRevocations } from "../../authn/signed-revocations.ts";
import { tokenKey, type TokenKey } from "../../authn/service-account-keys.ts";
import { rfc3339 } from "../../core/clock.ts";
import { importRevocations } from "../../hub/import-revocations.ts";
import { fieldListAt } from "../../resources/json-fields.ts";
import { CliError } from "../cli-error.ts";
import type { Args } from "../command.ts";
import type { ExitName } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { printable } from "../printable.ts";
import { withServer, type ServerAccess } from "../server-access.ts";

/** Adds the revocations of a list that the same hub has signed. @throws CliError, StatusError */
export async function importList(args: Args, io: Io): Promise<ExitName> {
  const [, file] = args.operands;
  if (file === undefined) throw new CliError("usage", "revocations import needs the file of a list, or - for stdin");
  const text = file === "-" ? await io.stdin() : await textOf(file, io);
  const dryRun = args.on("dry-run");
  return withServer<ExitName>(args, io, async ({ client }) => {
    const list = await listIn(text, file, await hubKeys(client));
    const { added, present, ended, refused } = await importRevocations(list, { client, now: io.clock.now(), dryRun });
    const counts = `${added} added, ${present} in force already, ${ended} over by now`;
    io.stdout.write(`revocations of ${rfc3339(list.issuedAt)}: ${counts}${dryRun ? " (dry run)" : ""}\n`);
    for (const { name, reason } of refused) io.stderr.write(`${printable(`error: ${name}: ${reason}`)}\n`);
    return refused.length === 0 ? "ok" : "refused";
  });
}

async function textOf(file: string, io: Io): Promise<string> {
  try {
    return Buffer.from(await io.readFile(file)).toString("utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unreadable";
    throw new CliError("usage", `${file} cannot be read (${code})`);
  }
}

async function listIn(text: string, file: string, keys: readonly TokenKey[]): Promise<SignedRevocations> {
  try {
    return await readSignedRevocations(text, keys);
  } catch (error) {
    if (!(error instanceof RevocationListError)) throw error;
    throw new CliError("usage", `${file} ${error.message}`);
  }
}

/** The keys of ServiceAccount tokens, over the connection that is verified by the kubeconfig. */
async function hubKeys(client: ServerAccess["client"]): Promise<readonly TokenKey[]> {
  const { status, body } = await client.raw("GET", "/openid/v1/jwks");
  if (status !== 200) {
    throw new CliError(
      status === 401 || status === 403 ? "refused" : "failed",
      `the keys by which a list is checked cannot be read: GET /openid/v1/jwks was answered with ${status}`,
    );
  }
  const keys: unknown = JSON.parse(body.toString("utf8"));
  return fieldListAt(keys, "keys").map((key) => tokenKey(createPublicKey({ key, format: "jwk" })));
}
