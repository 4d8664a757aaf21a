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

/** The condition that says the decision, with the reason and message that were given. */
export function csrCondition(decision: "Approved" | "Denied", args: Args): Condition {
  const [reason, message] =
    decision === "Approved"
      ? ["PratiqueApprove", "This CSR was approved by pratique approve."]
      : [args.text("reason") ?? "PratiqueDeny", args.text("message") ?? "This CSR was denied by pratique deny"];
  return { type: decision, status: "True", reason, message };
}

/** A decision on one certificate request; `uid` is that of the one that was looked at, where it was. */
export interface CsrDecision {
  readonly name: string;
  readonly uid: string | undefined;
  readonly condition: Condition;
  readonly dryRun: boolean;
}

const maxTries = 10;

/** Writes the decision and says so. @throws CliError conflict where it was decided otherwise; StatusError */
export async function decideCsr(one: CsrDecision, client: Client, io: Io): Promise<void> {
  const { name, condition, dryRun } = one;
  let { uid } = one;
  const decideOnce = async (attempt: number): Promise<void> => {
    const request = await client.get(certificateSigningRequests, { name });
    // A request deleted and made anew meanwhile is another one, which nobody has looked at.
    uid ??= request.metadata.uid;
    if (request.metadata.uid !== uid) {
      throw new CliError(
        "conflict",
        `certificate request "${name}" was replaced by another of the same name meanwhile; nothing was done`,
      );
    }
    const state = decisionState(request, condition.type === "Approved" ? "Approved" : "Denied");
    if (state === "opposite") {
      const other = condition.type === "Approved" ? "Denied" : "Approved";
      throw new CliError(
        "conflict",
        `certificate request "${name}" is already ${other}, and that cannot be taken back`,
        [
          other === "Approved"
            ? `To revoke the certificate: pratique revoke csr/${printable(name)}`
            : "A machine asks again, with a new key, by: pratique join … --force",
        ],
      );
    }
    const word = condition.type.toLowerCase();
    if (state === "same") {
      io.stdout.write(`csr/${printable(name)} is ${word} already\n`);
      return;
    }
    if (attempt === 1) warn(request, condition, io);
    const options = { subresource: "approval", dryRun };
    await client.update(certificateSigningRequests, withCondition(request, condition), options);
    io.stdout.write(`csr/${printable(name)} ${word}${dryRun ? " (dry run)" : ""}\n`);
  };
  await retryOnConflict(decideOnce, { tries: maxTries });
}

function decisionState(request: ApiObject, decision: "Approved" | "Denied"): "open" | "same" | "opposite" {
  const view = csrView(request);
  if (hasCondition(view, decision)) return "same";
  return hasCondition(view, decision === "Approved" ? "Denied" : "Approved") ? "opposite" : "open";
}

function warn(request: ApiObject, condition: Condition, io: Io): void {
  if (condition.type !== "Approved") return;
  for (const warning of reviewCsr(request).warnings) {
    writeLine(io.stderr, `warning: csr/${request.metadata.name} ${warning}`);
  }
}
