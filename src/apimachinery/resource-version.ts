import { decodeContinueToken, type ContinueToken } from "./continue-token.ts";
import { forbiddenField, invalidObject, notSupported, type FieldError } from "./field-error.ts";
import { badRequest, type StatusError } from "./status.ts";

/** The parameters of a request, as URLSearchParams returns them: null when absent. */
export interface Parameters {
  get(name: string): string | null;
}

/** The state that a list reads: the newest, any cached one, at least or exactly a revision, or the next page of an earlier one. */
export type ListMoment =
  | { readonly kind: "newest" }
  | { readonly kind: "any" }
  | { readonly kind: "atLeast" | "exactly"; readonly revision: number }
  | { readonly kind: "continue"; readonly token: ContinueToken };

/** Where a watch begins. */
export interface WatchMoment {
  /**
   * With `skip`: events after it, or from now on when undefined. Else the initial state is not older than it; 0 takes any cached
   * state, undefined the newest.
   */
  readonly revision: number | undefined;
  /** Whether existing objects are sent as ADDED first, and whether an annotated bookmark then ends that part. */
  readonly state: "send" | "send-and-mark" | "skip";
}

/** The revision that a read must not be older than: 0 takes any, undefined means the newest. @throws StatusError by `refuse`, BadRequest by default. */
export function readVersion(
  text: string | null,
  refuse: (why: string) => StatusError = invalidVersion,
): number | undefined {
  if (text === null || text === "") return undefined;
  if (!/^(?:0|[1-9][0-9]{0,19})$/.test(text)) {
    const shown = JSON.stringify(text.slice(0, 64));
    const value = `resourceVersion: Invalid value: ${shown}`;
    if (/^\d+$/.test(text)) throw invalidVersion(`${value}: must be a decimal number without leading zeros`);
    throw refuse(`${value}: strconv.ParseUint: parsing ${shown}: invalid syntax`);
  }
  // A number beyond 2^53 is ahead of every store, and stays ahead.
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
}

function invalidVersion(why: string): StatusError {
  return badRequest(`invalid resource version: ${why}`);
}

/**
 * The state that a list reads by its resourceVersion, resourceVersionMatch and continue; `limit` is 0 or undefined for none.
 * @throws StatusError Invalid for combinations that Kubernetes forbids, BadRequest for a bad number or token.
 */
export function listFrom(parameters: Parameters, limit: number | undefined): ListMoment {
  const match = textOf(parameters, "resourceVersionMatch");
  const version = textOf(parameters, "resourceVersion");
  const token = textOf(parameters, "continue");
  refuse(listProblems({ match, version, token, initial: parameters.get("sendInitialEvents") }));
  if (token !== "") {
    const decoded = decodeContinueToken(token);
    if (version !== "" && version !== "0") {
      throw badRequest("specifying resource version is not allowed when using continue");
    }
    return { kind: "continue", token: decoded };
  }
  const revision = readVersion(version);
  if (revision === undefined) return { kind: "newest" };
  if (revision === 0) return { kind: "any" };
  const exact = match === "Exact" || (match === "" && (limit ?? 0) > 0);
  return { kind: exact ? "exactly" : "atLeast", revision };
}

/**
 * Where a watch begins by its resourceVersion, resourceVersionMatch, sendInitialEvents and allowWatchBookmarks.
 * @throws StatusError Invalid for combinations that Kubernetes forbids, BadRequest for a bad number.
 */
export function watchStart(parameters: Parameters): WatchMoment {
  const match = textOf(parameters, "resourceVersionMatch");
  const token = textOf(parameters, "continue");
  const initial = parameters.get("sendInitialEvents");
  refuse(watchProblems({ match, token, initial }));
  const revision = readVersion(parameters.get("resourceVersion"));
  if (initial === null) return { revision, state: (revision ?? 0) === 0 ? "send" : "skip" };
  if (!isTrue(initial)) return { revision: revision === 0 ? undefined : revision, state: "skip" };
  return { revision, state: isTrue(parameters.get("allowWatchBookmarks")) ? "send-and-mark" : "send" };
}

function textOf(parameters: Parameters, name: string): string {
  return parameters.get(name) ?? "";
}

interface Asked {
  readonly match: string;
  readonly token: string;
  readonly initial: string | null;
}

const forbiddenWithContinue = "resourceVersionMatch is forbidden when continue is provided";

function* listProblems({ match, version, token, initial }: Asked & { readonly version: string }): Iterable<FieldError> {
  const forbidden = (why: string): FieldError => forbiddenField("resourceVersionMatch", why);
  if (match !== "") {
    if (version === "") yield forbidden("resourceVersionMatch is forbidden unless resourceVersion is provided");
    if (token !== "") yield forbidden(forbiddenWithContinue);
    if (match === "Exact" && version === "0")
      yield forbidden('resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
    if (match !== "Exact" && match !== "NotOlderThan")
      yield notSupported("resourceVersionMatch", match, ["Exact", "NotOlderThan", ""]);
  }
  if (initial !== null) yield forbiddenField("sendInitialEvents", "sendInitialEvents is forbidden for list");
}

function* watchProblems({ match, token, initial }: Asked): Iterable<FieldError> {
  const forbidden = (why: string): FieldError => forbiddenField("resourceVersionMatch", why);
  if (initial !== null && match !== "NotOlderThan")
    yield forbidden("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
  if (match === "") return;
  if (initial === null)
    yield forbidden("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
  if (match !== "NotOlderThan") yield notSupported("resourceVersionMatch", match, ["NotOlderThan"]);
  if (token !== "") yield forbidden(forbiddenWithContinue);
}

function refuse(problems: Iterable<FieldError>): void {
  const errors = [...problems];
  if (errors.length > 0) throw invalidObject({ group: "meta.k8s.io", kind: "ListOptions" }, "", errors);
}

/** A flag as Kubernetes reads it from a query: any present value but `false` and `0`. */
function isTrue(text: string | null): boolean {
  return text !== null && text !== "0" && text.toLowerCase() !== "false";
}
