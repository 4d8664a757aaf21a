import type { ApiClient } from "./api-client.ts";

/** What to put into a definition in place of what stands there. */
export interface DefinitionOptions {
  readonly group?: string;
  readonly plural?: string;
  readonly kind?: string;
  readonly scope?: "Namespaced" | "Cluster";
  readonly names?: object;
  readonly spec?: object;
  readonly metadata?: object;
  readonly versions?: readonly object[];
}

/** One version, served and stored, of objects with `spec.size` and `spec.colour`, or what is given. */
export function version(options: Readonly<Record<string, unknown>> = {}): object {
  return {
    name: "v1",
    served: true,
    storage: true,
    schema: {
      openAPIV3Schema: {
        type: "object",
        properties: {
          spec: {
            type: "object",
            properties: {
              size: { type: "integer", minimum: 0 },
              colour: { type: "string", default: "red" },
            },
          },
          status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        },
      },
    },
    ...options,
  };
}

/** A definition that is all right; widgets.example.com by default. */
export function definition(options: DefinitionOptions = {}): { readonly metadata: { readonly name: string } } {
  const { group = "example.com", plural = "widgets", kind = "Widget", scope = "Namespaced" } = options;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}`, ...options.metadata },
    spec: {
      group,
      scope,
      names: { plural, kind, ...options.names },
      versions: options.versions ?? [version()],
      ...options.spec,
    },
  } as never;
}

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** Creates a definition and waits until its kind is served. @throws Error when it is refused. */
export async function establish(api: ApiClient, crd: { readonly metadata: { readonly name: string } }): Promise<void> {
  const created = await api(definitions, { method: "POST", body: crd });
  if (created.status !== 201) throw new Error(`${crd.metadata.name} was refused: ${created.text}`);
  await established(api, crd.metadata.name);
}

/** Waits until the kind of a definition is served. */
export async function established(api: ApiClient, name: string): Promise<void> {
  const path = `${definitions}?fieldSelector=metadata.name=${name}`;
  await until(api, path, (crd) => conditionOf(crd, "Established")?.status === "True");
}

/** Watches until an object is as it should be, and returns it; a deleted one is undefined. */
export async function until(
  api: ApiClient,
  path: string,
  wanted: (object: Readonly<Record<string, unknown>> | undefined) => boolean,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const stream = await api.stream(`${path}${path.includes("?") ? "&" : "?"}watch=true`);
  try {
    for (;;) {
      const event = await stream.next();
      const object = event.type === "DELETED" ? undefined : event.object;
      if (wanted(object)) return object;
    }
  } finally {
    stream.close();
  }
}

interface Condition {
  readonly type: string;
  readonly status: string;
}

/** The condition of this type in the status of an object. */
export function conditionOf(
  object: Readonly<Record<string, unknown>> | undefined,
  type: string,
): Condition | undefined {
  const { conditions = [] } = (object?.["status"] ?? {}) as { readonly conditions?: readonly Condition[] };
  return conditions.find((one) => one.type === type);
}
