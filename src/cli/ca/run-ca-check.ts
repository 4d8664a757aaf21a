import { join, resolve } from "node:path";
import { rfc3339 } from "../../apimachinery/clock.ts";
import { readCaCheck } from "../../ca/ca-check.ts";
import { phaseOf } from "../../ca/ca-state.ts";
import { issuedCredentials, type IssuedCredential } from "../../apis/issued-credential.ts";
import { CliError, usageError } from "../cli-error.ts";
import type { Args, Run } from "../command.ts";
import type { Io } from "../io.ts";
import { revocationsOf } from "../credentials/revoked.ts";
import { impactsOf, type Impact } from "./next-step-impact.ts";
import { failureOf } from "../failure.ts";
import { writeResult } from "../output.ts";
import { printable } from "../printable.ts";
import { authoritiesIn, caStep, folderOf } from "./run-ca.ts";
import { withServer } from "../server-access.ts";
import { textTable } from "../text-table.ts";

/** Prints which identities would be left behind, and which would not. */
export const caCheck: Run = async (args, io) => {
  if (phaseOf((await authoritiesIn(args, io)).state) === "stable") {
    throw usageError("no CA change is in progress; `pratique ca prepare` starts one");
  }
  const impacts = await allImpacts(args, io);
  const left = impacts.filter(({ leftBehind }) => leftBehind.length > 0);
  await writeResult(args, io, {
    data: impacts.map(({ trustsSince, ...impact }) => ({
      ...impact,
      ...(trustsSince === undefined ? {} : { trustsSince: rfc3339(trustsSince) }),
    })),
    table: () => text(impacts, left.length),
  });
  return left.length === 0 ? "ok" : "failed";
};

/** Ends the change, unless an identity would be left behind; with --force it names those that are. */
export const caRevoke: Run = async (args, io) => {
  // A step that is not due is told before the hub is asked.
  const { state } = await authoritiesIn(args, io);
  if (phaseOf(state) !== "activated") return caStep("revoke", args, io);
  if (!args.on("force")) {
    await requireNoneLeft(args, io);
    return caStep("revoke", args, io);
  }
  // Before the step: the hub does not know afterwards which CA was revoked.
  const note = await leftBehindNote(args, io);
  const exit = await caStep("revoke", args, io);
  io.stderr.write(note);
  return exit;
};

async function requireNoneLeft(args: Args, io: Io): Promise<void> {
  const left = await leftOf(args, io);
  if (left.length === 0) return;
  throw new CliError("conflict", `${left.length} would be left behind, so nothing was done`, [
    ...named(left, 5),
    "`pratique ca check` lists them; --force revokes the CA all the same.",
  ]);
}

/** How many of those that a forced revocation leaves behind are named. */
const maxNamed = 50;

/** Whom the step leaves behind and what they need, for stderr; empty where there is none. A hub that cannot be asked does not prevent the step. */
async function leftBehindNote(args: Args, io: Io): Promise<string> {
  try {
    const left = await leftOf(args, io);
    if (left.length === 0) return "";
    const lines = named(left, maxNamed).map((line) => `  ${printable(line)}\n`);
    const count = left.length === 1 ? "1 identity is" : `${left.length} identities are`;
    return `warning: ${count} left behind; the hub rejects certificates of the revoked CA from now on:\n${lines.join("")}Each machine must join again (pratique join … --force), or request access again; files with the revoked CA must be replaced.\n`;
  } catch (error) {
    const { message } = failureOf(error, args);
    return `warning: could not ask the hub which identities are left behind: ${printable(message)}\nMachines whose certificates are of the revoked CA must join again: pratique join … --force\n`;
  }
}

async function leftOf(args: Args, io: Io): Promise<readonly Impact[]> {
  return (await allImpacts(args, io)).filter(({ leftBehind }) => leftBehind.length > 0);
}

function named(left: readonly Impact[], max: number): readonly string[] {
  const lines = left.slice(0, max).map(({ username, leftBehind }) => `${username} ${leftBehind.join(" and ")}`);
  return left.length > max ? [...lines, `and ${left.length - max} more`] : lines;
}

async function allImpacts(args: Args, io: Io): Promise<readonly Impact[]> {
  const authorities = await authoritiesIn(args, io);
  const own = join(resolve(io.cwd, args.text("data-dir") ?? ""), "admin.kubeconfig");
  const named = args.text("kubeconfig") ?? own;
  const asked: Args = { ...args, text: (option) => (option === "kubeconfig" ? named : args.text(option)) };
  return withServer(asked, io, async ({ client }) => {
    const { items } = await client.list<IssuedCredential>(issuedCredentials);
    const { index, grants } = await revocationsOf(client);
    const check = await readCaCheck(folderOf(args, io));
    return impactsOf(items, { authorities, check, revoked: index, grants, now: io.clock.now() });
  });
}

function text(impacts: readonly Impact[], left: number): string {
  if (impacts.length === 0) return "The hub has issued no credential that is still valid.\n";
  const table = textTable({
    headings: ["", "IDENTITY", "TRUSTS THE NEWEST CA", "HOLDS OF IT", "EXPIRES"],
    rows: impacts.map(({ username, trustsSince, holdsNewest, expires, leftBehind }) => [
      leftBehind.length > 0 ? "!" : "",
      username,
      trustsSince === undefined ? "not shown" : rfc3339(trustsSince),
      holdsNewest ? "yes" : "no",
      expires,
    ]),
  });
  const answer =
    left === 0
      ? `None of ${impacts.length} would be left behind.`
      : `${left} of ${impacts.length} would be left behind, marked with !. Agents show their trust within 72 minutes after \`ca prepare\`, and renew within six hours after \`ca activate\`.`;
  return `${table}\n${answer}\n`;
}
