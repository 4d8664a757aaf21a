import type { Client } from "../client/client.ts";
import { csrView, hasCondition, withCondition } from "../controllers/csr-view.ts";
import { certificateSigningRequests } from "../controllers/kinds.ts";
import type { ApiObject, Condition } from "../core/object.ts";
import { StatusError } from "../core/status.ts";
import { CliError } from "./cli-error.ts";
import type { Args } from "./command.ts";
import { isUndecided, reviewCsr } from "./csr-review.ts";
import type { ExitName } from "./exit-code.ts";
import { failureOf } from "./failure.ts";
import type { Io } from "./io.ts";
import { printable } from "./printable.ts";
import { withServer } from "./server-access.ts";

/** The two decisions, by the type of their condition. */
export type Decision = "Approved" | "Denied";

/**
 * Writes the decision on each request that is named, in order. One that fails does not keep the others from being decided;
 * the exit code is that of the first failure.
 */
export async function decide(decision: Decision, args: Args, io: Io): Promise<ExitName> {
  const named = args.operands.map(requestName);
  checkSelection(named, args);
  return withServer<ExitName>(args, io, async ({ client }) => {
    const names = args.on("all") ? await undecided(decision, client, args) : [...new Set(named)];
    const condition = conditionOf(decision, args);
    let exit: ExitName = "ok";
    for (const name of names) {
      try {
        await decideOne({ name, condition, dryRun: args.on("dry-run") }, client, io);
      } catch (error) {
        const failure = failureOf(error);
        io.stderr.write(`error: ${printable(failure.message)}\n`);
        if (exit === "ok") exit = failure.exit;
      }
    }
    return exit;
  });
}

const kindNames: readonly string[] = [
  "csr",
  "certificatesigningrequest",
  "certificatesigningrequests",
  "certificatesigningrequests.certificates.k8s.io",
];

function requestName(operand: string): string {
  const slash = operand.indexOf("/");
  const name = operand.slice(slash + 1);
  if (slash !== -1 && !kindNames.includes(operand.slice(0, slash).toLowerCase())) {
    throw new CliError("usage", `"${operand}" is no certificate request: write csr/NAME, or NAME alone`);
  }
  if (name === "" || name.includes("/") || name === "." || name === "..") {
    throw new CliError("usage", `"${operand}" names no request: write csr/NAME`);
  }
  return name;
}

function checkSelection(named: readonly string[], args: Args): void {
  const all = args.on("all");
  const expected = args.number("expect");
  if (all && named.length > 0) throw new CliError("usage", "give names or --all, not both");
  if (!all && named.length === 0)
    throw new CliError("usage", "no request is named: give csr/NAME, or --all with --expect N");
  if (all && expected === undefined) {
    throw new CliError("usage", "--all needs --expect N, the number of requests that you have looked at");
  }
  if (!all && expected !== undefined) throw new CliError("usage", "--expect belongs to --all");
}

async function undecided(decision: Decision, client: Client, args: Args): Promise<readonly string[]> {
  const { items } = await client.list(certificateSigningRequests);
  const waiting = items.filter(isUndecided);
  const expected = args.number("expect");
  if (waiting.length !== expected) {
    throw new CliError(
      "conflict",
      `--expect ${expected}, but ${waiting.length === 1 ? "1 request waits" : `${waiting.length} requests wait`} for a decision; nothing was done`,
      ["Look at them again: pratique pending"],
    );
  }
  const careful = waiting
    .filter((item) => reviewCsr(item).warnings.length > 0)
    .map((item) => `csr/${item.metadata.name}`);
  if (decision === "Approved" && careful.length > 0) {
    throw new CliError(
      "conflict",
      `${careful.join(", ")} has contents that need care, and must be approved by name or denied; nothing was done`,
      ["What they are: pratique pending"],
    );
  }
  return waiting.map((item) => item.metadata.name ?? "");
}

function conditionOf(decision: Decision, args: Args): Condition {
  const [reason, message] =
    decision === "Approved"
      ? ["PratiqueApprove", "This CSR was approved by pratique approve."]
      : [args.text("reason") ?? "", args.text("message") ?? ""];
  return { type: decision, status: "True", reason, message };
}

interface One {
  readonly name: string;
  readonly condition: Condition;
  readonly dryRun: boolean;
}

const triesAtMost = 10;

async function decideOne(one: One, client: Client, io: Io): Promise<void> {
  const { name, condition, dryRun } = one;
  let uid: string | undefined;
  for (let attempt = 1; ; attempt += 1) {
    const request = await client.get(certificateSigningRequests, { name });
    // A request deleted and made anew meanwhile is another one, which nobody has looked at.
    uid ??= request.metadata.uid;
    if (request.metadata.uid !== uid) {
      throw new CliError(
        "conflict",
        `certificate request "${name}" was replaced by another of the same name meanwhile; nothing was done`,
      );
    }
    const state = standing(request, condition.type === "Approved" ? "Approved" : "Denied");
    if (state === "opposite") {
      const other = condition.type === "Approved" ? "Denied" : "Approved";
      throw new CliError(
        "conflict",
        `certificate request "${name}" is already ${other}, and that cannot be taken back`,
      );
    }
    const word = condition.type.toLowerCase();
    if (state === "same") {
      io.stdout.write(`csr/${printable(name)} is ${word} already\n`);
      return;
    }
    if (attempt === 1) warn(request, condition, io);
    try {
      await client.update(certificateSigningRequests, withCondition(request, condition), {
        subresource: "approval",
        dryRun,
      });
      io.stdout.write(`csr/${printable(name)} ${word}${dryRun ? " (dry run)" : ""}\n`);
      return;
    } catch (error) {
      const isConflict = error instanceof StatusError && error.reason === "Conflict";
      if (!isConflict || attempt === triesAtMost) throw error;
    }
  }
}

function standing(request: ApiObject, decision: Decision): "open" | "same" | "opposite" {
  const view = csrView(request);
  if (hasCondition(view, decision)) return "same";
  return hasCondition(view, decision === "Approved" ? "Denied" : "Approved") ? "opposite" : "open";
}

function warn(request: ApiObject, condition: Condition, io: Io): void {
  if (condition.type !== "Approved") return;
  for (const warning of reviewCsr(request).warnings) {
    io.stderr.write(`${printable(`warning: csr/${request.metadata.name} ${warning}`)}\n`);
  }
}
