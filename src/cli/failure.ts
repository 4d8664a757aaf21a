import { ConnectionError } from "../client/client.ts";
import { failureMessage } from "../client/api-errors.ts";
import { OptionError } from "../apimachinery/option-error.ts";
import type { JoinError, JoinErrorCode } from "../credentials/join-error.ts";
import { StatusError } from "../apimachinery/status.ts";
import { CliError, type ExitName, type FailedExit } from "./cli-error.ts";
import { shellWord } from "../apimachinery/shell-word.ts";
import { writeLine } from "./printable.ts";
import type { Io } from "./io.ts";

/** The message for a thrown value, and the exit of the process. */
export interface Failure {
  readonly exit: ExitName;
  readonly message: string;
  readonly hints: readonly string[];
}

/** Prints on standard error what failed and the next step; texts are escaped. */
export function writeFailure(
  { stderr }: Pick<Io, "stderr">,
  { message, hints }: Pick<Failure, "message" | "hints">,
): void {
  for (const line of [`error: ${message}`, ...hints]) writeLine(stderr, line);
}

/** The same as the error of a command. */
export function asCliError(error: unknown, args?: GivenTexts): CliError {
  const { exit, message, hints } = failureOf(error, args);
  return new CliError(exit === "ok" ? "failed" : exit, message, hints);
}

/** Classifies a thrown value; with the options of a command that calls a server, hints name that server. Nothing is escaped yet. */
export function failureOf(error: unknown, args?: GivenTexts): Failure {
  const message = failureMessage(error);
  if (error instanceof CliError || error instanceof OptionError)
    return { exit: error.code, message, hints: error.hints };
  if (error instanceof StatusError) return { message, ...ofStatus(error, args) };
  if (error instanceof ConnectionError) return { message, ...ofConnection(error) };
  return { exit: exitOf(error), message, hints: [] };
}

const wrongInput: readonly string[] = ["KubeconfigError", "TokenError", "PinError"];

/** By name: loading the module that throws it only to compare would slow down every command. */
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

/** The exit of a failed join or request; its message is the error's own. */
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

/** The options of a command line that are texts. */
export interface GivenTexts {
  readonly text: (name: string) => string | undefined;
}

const maxCharacters = 2048;
/** The wording of Kubernetes, which clients may rely on; words that a shell could interpret are not copied. */
const refused =
  /User ".*" cannot ([\w-]+) resource "([\w-]+)(?:\/([\w-]+))?" in API group "([\w.-]*)" (?:in the namespace "([\w-]+)"|at the cluster scope)/;

/** The wording of Kubernetes' admission of decisions on certificate requests and of their certificates. */
const refusedSigner =
  /^(?:.* is forbidden: )?user not permitted to (approve|sign) requests with signerName "([\w.-]+\/[\w.:-]+)"$/;

/**
 * The command that explains why the caller was denied, with the server and identity of the command line; undefined where it was not an
 * authorization error.
 */
export function whyHint({ message, details }: StatusError, args?: GivenTexts): string | undefined {
  const start = message.slice(0, maxCharacters);
  const [, right, signer] = refusedSigner.exec(start) ?? [];
  const action =
    right === undefined ? refusedAction(start, details?.name ?? "") : `${right} signers.certificates.k8s.io/${signer}`;
  if (action === undefined) return undefined;
  return `To see what is missing: pratique why ${action}${args === undefined ? "" : sameServer(args)}`;
}

function refusedAction(message: string, name: string): string | undefined {
  const [, verb, resource, subresource, group = "", namespace] = refused.exec(message) ?? [];
  if (verb === undefined || resource === undefined) return undefined;
  const what = `${resource}${group === "" ? "" : `.${group}`}${/^[\w.:-]+$/.test(name) ? `/${name}` : ""}`;
  const part = subresource === undefined ? "" : ` --subresource=${subresource}`;
  return `${verb} ${what}${part}${namespace === undefined ? "" : ` -n ${namespace}`}`;
}

function sameServer(args: GivenTexts): string {
  const given = ["kubeconfig", "context"].map((name) => ({ name, value: args.text(name) }));
  return given.map(({ name, value }) => (value === undefined ? "" : ` --${name} ${shellWord(value)}`)).join("");
}
