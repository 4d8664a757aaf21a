import { ConnectionError } from "../client/client.ts";
import { StatusError } from "../core/status.ts";
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
  if (error instanceof CliError) return { exit: error.code, message: error.message, hints: error.hints };
  if (error instanceof StatusError) return ofStatus(error, args);
  if (error instanceof ConnectionError) return ofConnection(error);
  const name = error instanceof Error ? error.name : "";
  const message = error instanceof Error ? error.message : String(error);
  // By name: loading the room that throws it only to compare would make every command pay for it.
  const exit = wrongInput.includes(name) ? "usage" : "failed";
  return { exit, message, hints: [] };
}

const wrongInput: readonly string[] = ["KubeconfigError", "TokenError", "PinError"];

function ofStatus(error: StatusError, args: GivenTexts | undefined): Failure {
  switch (error.code) {
    case 401:
      return {
        exit: "refused",
        message: "the server does not accept the credentials (401 Unauthorized)",
        hints: ["They may have expired, or belong to another server: see --kubeconfig."],
      };
    case 403: {
      const hint = whyHint(error, args);
      return { exit: "refused", message: error.message, hints: hint === undefined ? [] : [hint] };
    }
    case 404:
      return { exit: "notFound", message: error.message, hints: [] };
    case 409:
      return { exit: "conflict", message: error.message, hints: [] };
    case 504:
      return { exit: "timedOut", message: error.message, hints: [] };
    default:
      return { exit: "failed", message: error.message, hints: [] };
  }
}

function ofConnection(error: ConnectionError): Failure {
  const { code, message } = error;
  if (code === "TIMEOUT") {
    return {
      exit: "timedOut",
      message: "the server did not answer in time",
      hints: ["Is it overloaded, or a firewall between?"],
    };
  }
  if (code === "EXEC_PLUGIN") return { exit: "failed", message, hints: [] };
  if (code.startsWith("ERR_OSSL_")) return { exit: "usage", message, hints: [] };
  return {
    exit: "unreachable",
    message,
    hints: code === "ECONNREFUSED" ? ["A hub of your own is started with: pratique hub"] : [],
  };
}
