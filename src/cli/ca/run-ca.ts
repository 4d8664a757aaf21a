import { resolve, join } from "node:path";
import { rfc3339 } from "../../apimachinery/clock.ts";
import { changeAuthorities, readAuthorities, readState, type Authorities } from "../../ca/ca-folder.ts";
import { phaseOf, type AuthorityPhase, type AuthorityStep } from "../../ca/ca-state.ts";
import { HubError } from "../../apimachinery/hub-error.ts";
import { usageError, CliError } from "../cli-error.ts";
import type { Args, Run } from "../command.ts";
import type { Io } from "../io.ts";
import { writeResult, textTable } from "../output.ts";
import { systemErrorWords } from "../../apimachinery/system-error.ts";
import { readCaCheck } from "../../ca/ca-check.ts";
import { issuedCredentials, type IssuedCredential } from "../../apis/issued-credential.ts";
import { revocationsOf } from "../credentials/run-credentials.ts";
import { impactsOf, type Impact } from "./next-step-impact.ts";
import { failureOf } from "../failure.ts";
import { printable } from "../printable.ts";
import { withServer } from "../server-access.ts";

/** Prints the CAs, the role of each, and the next step. */
export const caStatus: Run = async (args, io) => {
  const authorities = await authoritiesIn(args, io);
  const phase = phaseOf(authorities.state);
  await writeResult(args, io, {
    data: { phase, authorities: rowsOf(authorities), next: comesNext[phase] },
    table: () => `${table(authorities, io)}\n${comesNext[phase]}\n`,
  });
};

/** Runs one step of the rotation and prints the CAs afterwards. */
export async function caStep(step: AuthorityStep, args: Args, io: Io): Promise<void> {
  const dir = folderOf(args, io);
  const { before, after } = await clearly(async () => {
    await readable(dir, io);
    return changeAuthorities(dir, step, { now: io.clock.now(), random: io.random });
  });
  const authorities = await authoritiesIn(args, io);
  const ca = before.next ?? before.signer;
  io.stdout.write(`${done[step](ca)}\n\n${table(authorities, io)}\n${comesNext[phaseOf(after)]}\n`);
}

const done: Readonly<Record<AuthorityStep, (ca: string) => string>> = {
  prepare: () => "The next CA is created. A running hub publishes it within a few seconds.",
  cancel: (ca) => `${ca} is no longer trusted, and its key is deleted.`,
  activate: (ca) => `${ca} signs from now on.`,
  revoke: () => "The previous CA is no longer trusted, and its key is deleted.",
};

const comesNext: Readonly<Record<AuthorityPhase, string>> = {
  stable: "One CA, and no change in progress; `pratique ca prepare` starts one.",
  prepared:
    "Both CAs are trusted; the next one signs nothing yet. `pratique ca check` shows which machines trust it; then run `pratique ca activate`, or `pratique ca cancel` to undo the change.",
  activated:
    "Both CAs are trusted. Run `pratique ca revoke` when `pratique ca check` shows that no certificate of the previous CA is in use.",
};

function rowsOf({
  state,
  trusted,
}: Authorities): readonly Readonly<Record<"name" | "role" | "pin" | "expires", string>>[] {
  const roles = ["signs", state.next === undefined ? "signed before" : "signs next"];
  const names = [state.signer, state.next ?? state.previous ?? ""];
  return trusted.map(({ pin, notAfter }, place) => ({
    name: names[place] ?? "",
    role: roles[place] ?? "",
    pin,
    expires: rfc3339(notAfter),
  }));
}

function table(authorities: Authorities, { clock }: Pick<Io, "clock">): string {
  return textTable({
    headings: ["CA", "ROLE", "PIN", "EXPIRES"],
    rows: rowsOf(authorities).map(({ name, role, pin, expires }) => [
      name,
      role,
      pin,
      Date.parse(expires) < clock.now() ? `${expires} (expired)` : expires,
    ]),
  });
}

/** The folder of the hub's CAs. */
function folderOf(args: Args, io: Io): string {
  return join(resolve(io.cwd, args.text("data-dir") ?? ""), "pki");
}

/** The CAs in the data directory, expired ones included. @throws CliError usage */
async function authoritiesIn(args: Args, io: Io): Promise<Authorities> {
  const dir = folderOf(args, io);
  return clearly(async () => {
    const state = await readable(dir, io);
    return readAuthorities(dir, state, undefined);
  });
}

/** The state of a folder that contains a CA of the hub's own. @throws CliError usage */
async function readable(dir: string, io: Io): Promise<Awaited<ReturnType<typeof readState>>["state"]> {
  const { state } = await readState(dir);
  const names = (await io.listFolder(dir)).map(({ name }) => name);
  if (!names.includes(`${state.signer}.crt`)) {
    throw usageError(`there is no CA in ${dir}`, [
      "Give the hub's data directory with --data-dir, on the machine where the hub runs. The operator changes the CA of --cluster-signing-cert-file.",
    ]);
  }
  return state;
}

/** A step that is not due is the caller's mistake. */
async function clearly<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof HubError) throw usageError(error.message);
    const { code, path } = error as { readonly code?: unknown; readonly path?: unknown };
    if (code !== "EACCES" && code !== "EPERM") throw error;
    throw usageError(systemErrorWords(error, { operation: "read", at: String(path) }).what, [
      "Only the owner of the CAs may read them: use the account that the hub runs as, or sudo.",
    ]);
  }
}

/** Prints which identities would lose their connection, and which would not. */
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

/** Ends the rotation, unless an identity would lose its connection; with --force it names those that do. */
export const caRevoke: Run = async (args, io) => {
  // A step that is not due is reported before the hub is called.
  const { state } = await authoritiesIn(args, io);
  if (phaseOf(state) !== "activated") return caStep("revoke", args, io);
  if (!args.on("force")) {
    await requireNoneLeft(args, io);
    return caStep("revoke", args, io);
  }
  // Before the step: the hub does not know afterwards which CA was revoked.
  const note = await leftBehindNote(args, io);
  await caStep("revoke", args, io);
  io.stderr.write(note);
};

async function requireNoneLeft(args: Args, io: Io): Promise<void> {
  const left = await leftOf(args, io);
  if (left.length === 0) return;
  throw new CliError("conflict", `${left.length} would be left behind, so nothing was done`, [
    ...named(left, 5),
    "`pratique ca check` lists them; --force revokes the CA all the same.",
  ]);
}

/** How many of those that lose their connection by --force are named. */
const maxNamed = 50;

/** The identities that lose their connection by the step and their next step, for stderr; empty where there is none. An unreachable hub does not prevent the step. */
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
