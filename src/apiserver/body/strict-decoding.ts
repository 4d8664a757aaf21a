import { findDuplicateFields, strictFields } from "../../apimachinery/json-scan.ts";
import { quoted } from "../../apimachinery/quoted.ts";
import type { YamlDuplicate } from "../../serializer/yaml/bounded-yaml.ts";

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
