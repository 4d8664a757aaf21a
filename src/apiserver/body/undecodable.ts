import { StatusError, badRequest } from "../../apimachinery/status.ts";
import type { Resource } from "../../apis/resource.ts";
import { findDuplicateFields, strictFields } from "../../apimachinery/json-scan.ts";
import { quoted } from "../../apimachinery/quoted.ts";
import type { YamlDuplicate } from "../../serializer/yaml/bounded-yaml.ts";

/** Creates the error for a body that cannot be read from the reason. */
export type Refuse = (why: string) => StatusError;

/** Bodies of these kinds are secrets whose first bytes are not sent back, since messages are logged. */
const unshown: ReadonlySet<string> = new Set(["Secret", "TokenReview", "TokenRequest"]);

/** BadRequest with its first bytes, for a body of which not even the kind can be read. Source: apiserver pkg/endpoints/handlers. */
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

/** BadRequest for a body of another kind than the expected one. */
export function handledAs(
  { kind, apiVersion }: { readonly kind: string; readonly apiVersion: string },
  expected: Resource,
  why: string,
): StatusError {
  const version = apiVersion.slice(apiVersion.indexOf("/") + 1);
  return badRequest(`${kind} in version ${JSON.stringify(version)} cannot be handled as a ${expected.kind}: ${why}`);
}

/** The reason for an unknown kind; a scheme is what Kubernetes calls a set of kinds. */
export function notRegistered(kind: string, apiVersion: string): string {
  return `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)} in scheme "pratique"`;
}

/** The reason why an object of one kind is refused in place of another. */
export function unconvertible(from: Resource, to: Resource): string {
  return `converting (${from.version}.${from.kind}) to (${internalType(to)}): unknown conversion`;
}

/** What Kubernetes calls a kind in its messages: its own form of a built-in one. */
export function internalType({ group, kind, custom }: Resource, list: "" | "List" = ""): string {
  if (custom !== undefined) return `unstructured.Unstructured${list}`;
  const [first = ""] = group.split(".");
  return `${group === "" ? "core" : first}.${kind}${list}`;
}

/** What strict decoding finds in a body; `unknown` are the paths of fields that its kind does not have. */
export interface StrictFaults {
  /** The faults as a refusal lists them. */
  readonly errors: (unknown: readonly string[]) => readonly string[];
  /** The faults as warnings, each by itself. */
  readonly warnings: (unknown: readonly string[]) => readonly string[];
}

/** Of a body in which no field can occur twice, such as protobuf. */
export const noDuplicates: StrictFaults = { errors: unknownFields, warnings: unknownFields };

/** Those of JSON text, in the order of the text. Source: sigs.k8s.io/json UnmarshalStrict. */
export function faultsOfJson(text: string): StrictFaults {
  const duplicates = findDuplicateFields(text);
  if (duplicates.length === 0) return noDuplicates;
  const faults = (unknown: readonly string[]): readonly string[] =>
    unknown.length === 0
      ? duplicateFields(duplicates)
      : strictFields(text, unknown).map(({ fault, path }) => `${fault} field ${quoted(path)}`);
  return { errors: faults, warnings: faults };
}

/** Those of YAML, whose duplicates are one error of several lines. Source: sigs.k8s.io/yaml YAMLToJSONStrict, apiserver parseYAMLWarnings. */
export function faultsOfYaml(duplicates: readonly YamlDuplicate[]): StrictFaults {
  if (duplicates.length === 0) return noDuplicates;
  return {
    errors: (unknown) => [yamlErrors(duplicates), ...unknownFields(unknown)],
    warnings: (unknown) => [...yamlLines(duplicates), ...unknownFields(unknown)],
  };
}

/** The error of keys that occur twice in YAML, as go-yaml words it. */
export function yamlErrors(duplicates: readonly YamlDuplicate[]): string {
  return ["yaml: unmarshal errors:", ...yamlLines(duplicates).map((line) => `  ${line}`)].join("\n");
}

/** Each of these keys as a warning. */
export function yamlLines(duplicates: readonly YamlDuplicate[]): readonly string[] {
  return duplicates.map(({ line, key }) => `line ${line}: key ${quoted(key)} already set in map`);
}

/** Fields that occur twice, by their paths. */
function duplicateFields(paths: readonly string[]): readonly string[] {
  return paths.map((path) => `duplicate field ${quoted(path)}`);
}

/** Fields that a kind does not have, by their paths. */
export function unknownFields(paths: readonly string[]): readonly string[] {
  return paths.map((path) => `unknown field ${quoted(path)}`);
}
