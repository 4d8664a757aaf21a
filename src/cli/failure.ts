import { ConnectionError } from "../client/client.ts";
import { failureMessage } from "../client/api-errors.ts";
import { OptionError } from "../apimachinery/option-error.ts";
import type { JoinError, JoinErrorCode } from "../credentials/join-error.ts";
import { StatusError } from "../apimachinery/status.ts";
import { CliError } from "./cli-error.ts";
import type { ExitName, FailedExit } from "./exit-code.ts";
import { whyHint, type GivenTexts } from "./why/why-hint.ts";

/** What to tell a person about a thrown thing, and how the process ends. */
export interface Failure {
  readonly exit: ExitName;
  readonly message: string;
  readonly hints: readonly string[];
}

/** The same as the error of a command. */
export function asCliError(error: unknown, args?: GivenTexts): CliError {
  const { exit, message, hints } = failureOf(error, args);
  return new CliError(exit === "ok" ? "failed" : exit, message, hints);
}

/** Sorts whatever a command threw; with the options of one that talks to a server, hints speak of that server. Nothing is escaped yet. */
export function failureOf(error: unknown, args?: GivenTexts): Failure {
  const message = failureMessage(error);
  if (error instanceof CliError || error instanceof OptionError)
    return { exit: error.code, message, hints: error.hints };
  if (error instanceof StatusError) return { message, ...ofStatus(error, args) };
  if (error instanceof ConnectionError) return { message, ...ofConnection(error) };
  return { exit: exitOf(error), message, hints: [] };
}

const wrongInput: readonly string[] = ["KubeconfigError", "TokenError", "PinError"];

/** By name: loading the room that throws it only to compare would make every command pay for it. */
function exitOf(error: unknown): ExitName {
  if (!(error instanceof Error)) return "failed";
  if (error.name === "JoinError") return joinExits[(error as JoinError).code];
  return wrongInput.includes(error.name) ? "usage" : "failed";
}

type Ending = Omit<Failure, "message">;

const statusExits: Readonly<Record<number, ExitName>> = { 404: "notFound", 409: "conflict", 504: "timedOut" };

function ofStatus(error: StatusError, args: GivenTexts | undefined): Ending {
  if (error.code === 401)
    return { exit: "refused", hints: ["They may have expired, or belong to another server: see --kubeconfig."] };
  if (error.code === 403)
    return { exit: "refused", hints: [whyHint(error, args)].filter((hint) => hint !== undefined) };
  return { exit: statusExits[error.code] ?? "failed", hints: [] };
}

function ofConnection({ code }: ConnectionError): Ending {
  if (code === "TIMEOUT") return { exit: "timedOut", hints: ["Is it overloaded, or a firewall between?"] };
  if (code === "EXEC_PLUGIN") return { exit: "failed", hints: [] };
  if (code.startsWith("ERR_OSSL_")) return { exit: "usage", hints: [] };
  return {
    exit: "unreachable",
    hints: code === "ECONNREFUSED" ? ["A hub of your own is started with: pratique hub"] : [],
  };
}

/** How a failed join or request ends the process; the sentence about it is the error's own. */
export const joinExits: Readonly<Record<JoinErrorCode, FailedExit>> = {
  "bad-endpoint": "usage",
  "bad-token-format": "usage",
  "bad-pin-format": "usage",
  "missing-pin": "usage",
  "bad-node-name": "usage",
  "bad-key": "usage",
  "bad-discovery-file": "usage",
  unreachable: "unreachable",
  "not-a-hub": "unreachable",
  "no-cluster-info": "unreachable",
  "bad-cluster-info": "unreachable",
  "token-unknown": "refused",
  "bad-signature": "refused",
  "pin-mismatch": "unreachable",
  "tls-mismatch": "unreachable",
  "changed-between-reads": "unreachable",
  "clock-skew": "failed",
  unauthorized: "refused",
  forbidden: "refused",
  refused: "refused",
  "csr-conflict": "conflict",
  denied: "refused",
  failed: "failed",
  deleted: "notFound",
  "timeout-waiting": "timedOut",
  "bad-certificate": "failed",
  "write-failed": "failed",
  "already-joined": "conflict",
  "no-access": "notFound",
  aborted: "interrupted",
};
