import { ConnectionError } from "../client/client.ts";
import { failureMessage } from "../client/failure-message.ts";
import { OptionError } from "../apimachinery/option-error.ts";
import { StatusError } from "../apimachinery/status.ts";
import { CliError } from "./cli-error.ts";
import type { ExitName } from "./exit-code.ts";
import { whyHint, type GivenTexts } from "./why/why-hint.ts";

/** What to tell a person about a thrown thing, and how the process ends. */
export interface Failure {
  readonly exit: ExitName;
  readonly message: string;
  readonly hints: readonly string[];
}

/** Sorts whatever a command threw; with the options of one that talks to a server, hints speak of that server. Nothing is escaped yet. */
export function failureOf(error: unknown, args?: GivenTexts): Failure {
  const message = failureMessage(error);
  if (error instanceof CliError || error instanceof OptionError)
    return { exit: error.code, message, hints: error.hints };
  if (error instanceof StatusError) return { message, ...ofStatus(error, args) };
  if (error instanceof ConnectionError) return { message, ...ofConnection(error) };
  // By name: loading the room that throws it only to compare would make every command pay for it.
  const exit = error instanceof Error && wrongInput.includes(error.name) ? "usage" : "failed";
  return { exit, message, hints: [] };
}

const wrongInput: readonly string[] = ["KubeconfigError", "TokenError", "PinError"];

type Ending = Omit<Failure, "message">;

function ofStatus(error: StatusError, args: GivenTexts | undefined): Ending {
  switch (error.code) {
    case 401:
      return { exit: "refused", hints: ["They may have expired, or belong to another server: see --kubeconfig."] };
    case 403: {
      const hint = whyHint(error, args);
      return { exit: "refused", hints: hint === undefined ? [] : [hint] };
    }
    case 404:
      return { exit: "notFound", hints: [] };
    case 409:
      return { exit: "conflict", hints: [] };
    case 504:
      return { exit: "timedOut", hints: [] };
    default:
      return { exit: "failed", hints: [] };
  }
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
