import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readEnums, type Enums } from "./openapi-enums.mts";

/** The release of Kubernetes that the schemas are of. To follow the next one, change it, generate, and review the diff. */
export const release = "1.36.3";

const staging = release.replace(/^1\./, "0.");

/** The Go modules that define the kinds, by the prefix that their types have in OpenAPI. */
const modules: Readonly<Record<string, string>> = {
  "io.k8s.api": `k8s.io/api@v${staging}`,
  "io.k8s.apimachinery": `k8s.io/apimachinery@v${staging}`,
  "io.k8s.apiextensions-apiserver": `k8s.io/apiextensions-apiserver@v${staging}`,
  "io.k8s.kube-aggregator": `k8s.io/kube-aggregator@v${staging}`,
};

const kubernetes = `k8s.io/kubernetes@v${release}`;

/** A definition or a property in OpenAPI version 3, as far as Kubernetes uses it. */
export interface OpenApi {
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, OpenApi>>;
  readonly items?: OpenApi;
  readonly additionalProperties?: OpenApi;
  readonly allOf?: readonly OpenApi[];
  readonly $ref?: string;
  readonly "x-kubernetes-list-type"?: string;
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-map-type"?: string;
  readonly "x-kubernetes-patch-strategy"?: string;
  readonly "x-kubernetes-patch-merge-key"?: string;
  readonly "x-kubernetes-group-version-kind"?: unknown;
  readonly "x-kubernetes-unions"?: unknown;
}

/** What is published of a release, as it lies on this machine. */
export interface Inputs {
  /** The folder of the published OpenAPI documents. */
  readonly documents: string;
  readonly definitions: ReadonlyMap<string, OpenApi>;
  readonly enums: Enums;
  /** The folder of the Go package of a definition. */
  readonly folderOf: (definition: string) => string;
}

/** The inputs are not available: no Go on this machine, or a module that is not in its cache and cannot be downloaded. */
export class InputsError extends Error {
  readonly code = "inputs";
  constructor(module: string, cause: unknown) {
    super(`cannot get the Go module ${module} by go mod download: ${reasonOf(cause)}`, { cause });
  }
}

/** Reads the published definitions from the module cache of Go, into which `go` downloads what is missing. @throws InputsError */
export function readInputs(): Inputs {
  const published = moduleFolder(kubernetes);
  const folders = new Map(Object.entries(modules).map(([prefix, module]) => [prefix, moduleFolder(module)]));
  const documents = join(published, "api/openapi-spec");
  return {
    documents,
    definitions: readDefinitions(join(documents, "v3")),
    enums: readEnums(readFileSync(join(published, "pkg/generated/openapi/zz_generated.openapi.go"), "utf8")),
    folderOf: (definition) => {
      const [prefix = "", folder = ""] =
        [...folders].find(([candidate]) => definition.startsWith(`${candidate}.`)) ?? [];
      const path = definition.slice(prefix.length + 1).split(".");
      return join(folder, ...path.slice(0, -1));
    },
  };
}

const downloadMs = 120_000;

function moduleFolder(module: string): string {
  try {
    const output = execFileSync("go", ["mod", "download", "-json", module], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
      timeout: downloadMs,
    });
    return (JSON.parse(output) as { readonly Dir: string }).Dir;
  } catch (cause) {
    throw new InputsError(module, cause);
  }
}

/** What `go` printed, which is JSON where it ran at all, else why it did not run. */
function reasonOf(cause: unknown): string {
  const { stdout, message } = cause as { readonly stdout?: string; readonly message: string };
  const printed = /"Error": (".*")/.exec(stdout ?? "")?.[1];
  return printed === undefined ? message : (JSON.parse(printed) as string);
}

function readDefinitions(folder: string): ReadonlyMap<string, OpenApi> {
  const definitions = new Map<string, OpenApi>();
  for (const file of readdirSync(folder).sort()) {
    const { components } = JSON.parse(readFileSync(join(folder, file), "utf8")) as {
      readonly components?: { readonly schemas?: Readonly<Record<string, OpenApi>> };
    };
    for (const [name, schema] of Object.entries(components?.schemas ?? {})) definitions.set(name, schema);
  }
  return definitions;
}
