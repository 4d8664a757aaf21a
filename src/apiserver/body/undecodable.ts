import { StatusError, badRequest } from "../../apimachinery/status.ts";
import type { Resource } from "../../apis/resource.ts";

/** Makes the answer to a body that cannot be read from why it cannot. */
export type Refuse = (why: string) => StatusError;

/** Bodies of these kinds are secrets whose first bytes are not sent back, since messages are logged. */
const unshown: ReadonlySet<string> = new Set(["Secret", "TokenReview", "TokenRequest"]);

/** For a body that was to be of one kind and of which not even the kind can be read: BadRequest with its first bytes. Source: apiserver pkg/endpoints/handlers. */
export function unrecognized({ kind }: Resource, bytes: Buffer): Refuse {
  return (why) => {
    const shown = unshown.has(kind) ? "not shown" : beginning(bytes);
    return badRequest(`the object provided is unrecognized (must be of type ${kind}): ${why} (${shown})`);
  };
}

const maxPrefixBytes = 30;

function beginning(bytes: Buffer): string {
  if (bytes.length === 0) return "<empty>";
  const first = bytes.subarray(0, maxPrefixBytes);
  const text = bytes[0] === openBrace ? first.toString() : first.toString("hex");
  return bytes.length > maxPrefixBytes ? `${text} ...` : text;
}

const openBrace = 0x7b;

/** BadRequest for a body of a kind that is not, or is not fit to be, the expected one. */
export function handledAs(
  { kind, apiVersion }: { readonly kind: string; readonly apiVersion: string },
  expected: Resource,
  why: string,
): StatusError {
  const version = apiVersion.slice(apiVersion.indexOf("/") + 1);
  return badRequest(`${kind} in version ${JSON.stringify(version)} cannot be handled as a ${expected.kind}: ${why}`);
}

/** Why a kind cannot be read that there is none of; a scheme is what Kubernetes calls a set of kinds. */
export function notRegistered(kind: string, apiVersion: string): string {
  return `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)} in scheme "pratique"`;
}

/** Why an object of one kind cannot be one of another. */
export function unconvertible(from: Resource, to: Resource): string {
  return `converting (${from.version}.${from.kind}) to (${internalType(to)}): unknown conversion`;
}

/** What Kubernetes calls a kind in its messages: its own form of a built-in one. */
export function internalType({ group, kind, custom }: Resource, list: "" | "List" = ""): string {
  if (custom !== undefined) return `unstructured.Unstructured${list}`;
  const [first = ""] = group.split(".");
  return `${group === "" ? "core" : first}.${kind}${list}`;
}
