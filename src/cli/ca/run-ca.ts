import { resolve, join } from "node:path";
import { rfc3339 } from "../../apimachinery/clock.ts";
import { changeAuthorities, readAuthorities, readState, type Authorities } from "../../ca/ca-folder.ts";
import { phaseOf, type AuthorityPhase, type AuthorityStep } from "../../ca/ca-state.ts";
import { HubError } from "../../apimachinery/hub-error.ts";
import { usageError } from "../cli-error.ts";
import type { Args, Run } from "../command.ts";
import type { ExitName } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { writeResult } from "../output.ts";
import { textTable } from "../text-table.ts";
import { systemErrorWords } from "../../apimachinery/system-error.ts";

/** Prints the CAs, what each does, and what comes next. */
export const caStatus: Run = async (args, io) => {
  const authorities = await authoritiesIn(args, io);
  const phase = phaseOf(authorities.state);
  await writeResult(args, io, {
    data: { phase, authorities: rowsOf(authorities), next: comesNext[phase] },
    table: () => `${table(authorities, io)}\n${comesNext[phase]}\n`,
  });
  return "ok";
};

/** Takes a step of the change and prints how the CAs stand then. */
export async function caStep(step: AuthorityStep, args: Args, io: Io): Promise<ExitName> {
  const dir = folderOf(args, io);
  const { before, after } = await clearly(async () => {
    await readable(dir, io);
    return changeAuthorities(dir, step, { now: io.clock.now(), random: io.random });
  });
  const authorities = await authoritiesIn(args, io);
  const ca = before.next ?? before.signer;
  io.stdout.write(`${done[step](ca)}\n\n${table(authorities, io)}\n${comesNext[phaseOf(after)]}\n`);
  return "ok";
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

/** Where the CAs of the hub lie. */
export function folderOf(args: Args, io: Io): string {
  return join(resolve(io.cwd, args.text("data-dir") ?? ""), "pki");
}

/** The CAs in the data directory, those that have expired too. @throws CliError usage */
export async function authoritiesIn(args: Args, io: Io): Promise<Authorities> {
  const dir = folderOf(args, io);
  return clearly(async () => {
    const state = await readable(dir, io);
    return readAuthorities(dir, state, undefined);
  });
}

/** The state of a folder in which there is a CA of the hub's own. @throws CliError usage */
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
