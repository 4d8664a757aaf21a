import type { JsonObject } from "../apimachinery/json-value.ts";
import { DurationError, parseDuration } from "../apimachinery/duration.ts";
import { badRequest } from "../apimachinery/status.ts";
import { invalidObject, notSupported, tooLong, invalid, type FieldError } from "../apimachinery/field-error.ts";
import { header, type Incoming, type Query } from "./http-types.ts";

export type FieldValidation = "Ignore" | "Warn" | "Strict";

/** The write options of a query. */
export interface WriteOptions {
  readonly dryRun: boolean;
  readonly fieldManager: string;
  readonly fieldValidation: FieldValidation;
  /** The query as fields of CreateOptions, UpdateOptions and PatchOptions. */
  readonly asked: JsonObject;
}

const validations: readonly string[] = ["Ignore", "Warn", "Strict"];
const answer = ["dryRun", "fieldManager", "fieldValidation"] as const;
const longestManager = 128;
const unprintableOne = /[^\x20-\x7e\u00a0-\uffff]/;
const unprintableAll = /[^\x20-\x7e\u00a0-\uffff]/g;

/** Reads dryRun, fieldManager and fieldValidation. @throws StatusError Invalid naming the kind of options, as Kubernetes does. */
export function writeOptions(
  request: Incoming,
  query: Query,
  kind: "CreateOptions" | "UpdateOptions" | "PatchOptions",
): WriteOptions {
  if (!answer.some((name) => query.has(name))) return unasked(request);
  const manager = query.get("fieldManager") ?? "";
  const validation = query.get("fieldValidation") ?? "";
  const dryRun = query.getAll("dryRun").filter((value) => value !== "");
  const isKnown = validation === "" || validations.includes(validation);
  const errors = [
    ...(dryRun.every((value) => value === "All") ? [] : [notSupported("dryRun", dryRun, ["All"])]),
    ...managerErrors(manager),
    ...(isKnown ? [] : [notSupported("fieldValidation", validation, validations)]),
  ];
  if (errors.length > 0) throw invalidObject({ group: "meta.k8s.io", kind }, "", errors);
  return {
    dryRun: dryRun.length > 0,
    fieldManager: manager || defaultManager(request),
    fieldValidation: (validation as FieldValidation) || "Warn",
    asked: given({ dryRun, fieldManager: manager, fieldValidation: validation }),
  };
}

/** Without the fields that are absent from the query. */
function given(fields: Readonly<Record<string, string | readonly string[]>>): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value.length > 0));
}

/** Most writes have no query. */
function unasked(request: Incoming): WriteOptions {
  return { dryRun: false, fieldManager: defaultManager(request), fieldValidation: "Warn", asked: {} };
}

function managerErrors(manager: string): readonly FieldError[] {
  return [
    ...(manager.length > longestManager ? [tooLong("fieldManager", longestManager)] : []),
    ...unprintable(manager).map((why) => invalid("fieldManager", manager, why)),
  ];
}

/** Each character that does not print, as Kubernetes names it. */
function unprintable(text: string): readonly string[] {
  if (!unprintableOne.test(text)) return [];
  return [...text.matchAll(unprintableAll)].map(({ 0: character, index }) => {
    const code = character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
    return `invalid character U+${code} (at position ${index})`;
  });
}

/** The field manager when the client names none: its user agent up to the first slash, printable characters only, truncated. */
export function defaultManager(request: Incoming): string {
  const [product = ""] = (header(request, "user-agent") ?? "").slice(0, 1024).split("/", 1);
  const printable = unprintableOne.test(product) ? product.replaceAll(unprintableAll, "") : product;
  return printable.slice(0, longestManager);
}

/** Checks `timeout`, within which a client expects its answer; the hub answers sooner than any that it allows. @throws StatusError BadRequest. Source: apiserver filters.WithRequestDeadline. */
export function checkTimeout(query: Query): void {
  const timeout = query.get("timeout") ?? "";
  if (timeout === "") return;
  try {
    parseDuration(timeout);
  } catch (error) {
    if (!(error instanceof DurationError)) throw error;
    throw badRequest(`invalid timeout specified in the request URL - time: ${error.problem}`);
  }
}

/** A number from the query, which may be negative; undefined when absent or empty. @throws StatusError BadRequest for anything but digits. */
export function countOf(query: Query, name: "limit" | "timeoutSeconds" | "gracePeriodSeconds"): number | undefined {
  return integerOf(query.get(name));
}

/** A 64-bit integer as Go reads it; undefined for an empty text. @throws StatusError BadRequest */
export function integerOf(text: string | null): number | undefined {
  if (text === null || text === "") return undefined;
  const why = !/^[+-]?\d+$/.test(text)
    ? "invalid syntax"
    : Math.abs(Number(text)) >= 2 ** 63
      ? "value out of range"
      : "";
  if (why !== "") throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text.slice(0, 64))}: ${why}`);
  return Number(text);
}
