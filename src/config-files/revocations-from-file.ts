import { readFile } from "node:fs/promises";
import {
  readRevocationLists,
  type RevocationListTrust,
  RevocationListError,
  type SignedRevocations,
} from "../authentication/revocation-lists.ts";
import type { Client } from "../client/client.ts";
import { systemErrorText } from "../apimachinery/system-error.ts";
import { HubError } from "../apimachinery/hub-error.ts";
import { importRevocations } from "../revocation/import-revocations.ts";

/** Adds the revocations of `--revocations-from`; the counts are for the log. @throws HubError options for a file that is not of this hub, and where the API rejects one */
export async function revocationsFromFile(
  file: string,
  to: { readonly trust: RevocationListTrust; readonly client: Client; readonly now: number },
): Promise<{ readonly added: number; readonly present: number; readonly ended: number }> {
  const listed = await revocationsIn(file, to.trust);
  const { refused, added, present, ended } = await importRevocations(listed, { ...to, dryRun: false });
  const [first] = refused;
  if (first === undefined) return { added: added.length, present, ended };
  throw new HubError(
    "options",
    `--revocations-from ${file}: the revocation ${first.name} cannot be taken (${first.reason}), and ${refused.length - 1} more`,
  );
}

/** The revocations of `--revocations-from`. @throws HubError options for a file that is not of this hub */
export async function revocationsIn(file: string, trust: RevocationListTrust): Promise<SignedRevocations> {
  try {
    return await readRevocationLists(await readFile(file), trust);
  } catch (error) {
    const why = error instanceof RevocationListError ? error.message : undefined;
    const what = why === undefined ? `: ${systemErrorText(error, { operation: "read", at: file })}` : ` ${file} ${why}`;
    throw new HubError("options", `--revocations-from${what}`, { cause: error });
  }
}
