import { retryOnConflict } from "../../client/api-errors.ts";
import type { Client } from "../../client/client.ts";
import { csrView, hasCondition, withCondition } from "../../controllers/certificates/csr-view.ts";
import { certificateSigningRequests } from "../../controllers/kinds.ts";
import type { ApiObject, Condition } from "../../apimachinery/object.ts";
import { CliError } from "../cli-error.ts";
import type { Args } from "../command.ts";
import { reviewCsr } from "./csr-review.ts";
import type { Io } from "../io.ts";
import { printable, writeLine } from "../printable.ts";

/** A decision on one certificate request; `uid` is that of the object that was read, where it was. */
export interface CsrDecision {
  readonly name: string;
  readonly uid: string | undefined;
  readonly decision: "Approved" | "Denied";
  readonly args: Args;
}

const maxTries = 10;

/** Writes the decision and reports it. @throws CliError conflict where it was decided otherwise; StatusError */
export async function decideCsr({ name, uid, decision, args }: CsrDecision, client: Client, io: Io): Promise<void> {
  const dryRun = args.on("dry-run");
  const shown = `csr/${printable(name)}`;
  let lookedAt = uid;
  const decideOnce = async (attempt: number): Promise<void> => {
    const request = await client.get(certificateSigningRequests, { name });
    // A request that was deleted and created again is another one, which the approver has not seen.
    lookedAt ??= request.metadata.uid;
    if (request.metadata.uid !== lookedAt) {
      throw conflict(name, "was replaced by another of the same name meanwhile; nothing was done");
    }
    if (isDecided(request, name, decision)) {
      io.stdout.write(`${shown} is ${decision.toLowerCase()} already\n`);
      return;
    }
    const warnings = attempt === 1 && decision === "Approved" ? reviewCsr(request).warnings : [];
    for (const warning of warnings) writeLine(io.stderr, `warning: csr/${request.metadata.name} ${warning}`);
    const options = { subresource: "approval", dryRun };
    await client.update(certificateSigningRequests, withCondition(request, conditionFor(decision, args)), options);
    io.stdout.write(`${shown} ${decision.toLowerCase()}${dryRun ? " (dry run)" : ""}\n`);
  };
  await retryOnConflict(decideOnce, { tries: maxTries });
}

/** The condition of the decision, with the given reason and message. */
function conditionFor(decision: CsrDecision["decision"], args: Args): Condition {
  const [reason, message] =
    decision === "Approved"
      ? ["PratiqueApprove", "This CSR was approved by pratique approve."]
      : [args.text("reason") ?? "PratiqueDeny", args.text("message") ?? "This CSR was denied by pratique deny"];
  return { type: decision, status: "True", reason, message };
}

/** Whether the decision is recorded already. @throws CliError conflict where it was decided otherwise */
function isDecided(request: ApiObject, name: string, decision: CsrDecision["decision"]): boolean {
  const view = csrView(request);
  if (hasCondition(view, decision)) return true;
  const other = decision === "Approved" ? "Denied" : "Approved";
  if (!hasCondition(view, other)) return false;
  const next =
    other === "Approved"
      ? `To revoke the certificate: pratique revoke csr/${printable(name)}`
      : "A machine asks again, with a new key, by: pratique join … --force";
  throw conflict(name, `is already ${other}, and that cannot be taken back`, [next]);
}

function conflict(name: string, why: string, hints: readonly string[] = []): CliError {
  return new CliError("conflict", `certificate request "${name}" ${why}`, hints);
}
