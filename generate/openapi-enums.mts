/** What kube-apiserver adds to the published OpenAPI of a property: its allowed values, and a description that lists them. */
export interface EnumText {
  readonly values: readonly string[];
  /** Absent where the values are those of the elements of a list. */
  readonly description?: string;
}

/** By definition name, then by property. */
export type Enums = ReadonlyMap<string, ReadonlyMap<string, EnumText>>;

/**
 * Reads the enums of `pkg/generated/openapi/zz_generated.openapi.go`. The published documents are written with the feature
 * OpenAPIEnums off; kube-apiserver has it on. The file is gofmt's, so that the depth of a line says what it belongs to.
 */
export function readEnums(source: string): Enums {
  const packages = new Map(
    [...source.matchAll(/^\t(\w+) "([^"]+)"$/gm)].map(([, alias = "", path = ""]) => [alias, definitionPrefix(path)]),
  );
  const names = new Map(
    [...source.matchAll(/^\t\t(\w+)\.(\w+)\{\}\.OpenAPIModelName\(\):\s+(schema_\w+)\(ref\),$/gm)].map(
      ([, alias = "", type = "", builder = ""]) => [builder, `${packages.get(alias)}.${type}`],
    ),
  );
  const enums = new Map<string, ReadonlyMap<string, EnumText>>();
  for (const [, builder = "", body = ""] of source.matchAll(/^func (schema_\w+)\(ref .*?$(.*?)^\}$/gms)) {
    const name = names.get(builder);
    const found = body.includes("Enum:") ? propertyEnums(body) : undefined;
    if (name !== undefined && found !== undefined) enums.set(name, found);
  }
  return enums;
}

/** `k8s.io/api/core/v1` is `io.k8s.api.core.v1`. */
function definitionPrefix(path: string): string {
  const [host = "", ...rest] = path.split("/");
  return [...host.split(".").reverse(), ...rest].join(".");
}

function propertyEnums(body: string): ReadonlyMap<string, EnumText> {
  const found = new Map<string, EnumText>();
  for (const [, property = "", text = ""] of body.matchAll(/^\t{5}"([^"]+)": \{$(.*?)^\t{5}\},$/gms)) {
    const values = /^(\t+)Enum:\s+\[\]interface\{\}\{(.*)\},$/m.exec(text);
    if (values === null) continue;
    const own = values[1]?.length === 7;
    const description = own ? /^\t{7}Description: (".*"),$/m.exec(text)?.[1] : undefined;
    found.set(property, {
      values: JSON.parse(`[${values[2]}]`) as string[],
      ...(description === undefined ? {} : { description: JSON.parse(description) as string }),
    });
  }
  return found;
}
