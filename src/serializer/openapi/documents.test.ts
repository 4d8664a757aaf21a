import { describe, expect, it } from "vitest";
import { builtinResources } from "../../apis/builtin.ts";
import { customKinds } from "../../apis/custom/custom-kind.ts";
import {
  openApiV2 as openApiV2InSteps,
  openApiV3 as openApiV3InSteps,
  type OpenApiDocument,
  jsonBytes,
  swagger,
} from "./documents.ts";
import { atOnce } from "../../../test/kits/at-once.ts";
import type { Resource } from "../../apis/resource.ts";
import fc from "fast-check";
import { countedList, longestRun } from "../../../test/kits/longest-run.ts";
import { finish } from "../../apimachinery/steps.ts";

const openApiV2 = atOnce(openApiV2InSteps);
const openApiV3 = atOnce(openApiV3InSteps);
const info = { title: "Test", version: "v1.36.0" };
const whole = openApiV3(builtinResources, info);

interface Parsed {
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, Definition> };
  readonly definitions: Record<string, Definition>;
}

interface Operation {
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody: { readonly content: Record<string, unknown> };
  readonly [extension: string]: unknown;
}

interface Definition {
  readonly required?: readonly string[];
  readonly properties?: Record<string, Record<string, unknown>>;
  readonly [extension: string]: unknown;
}

function parsed(document: OpenApiDocument | undefined): Parsed {
  return JSON.parse(Buffer.from(document?.bytes ?? []).toString()) as Parsed;
}

function group(key: string): Parsed {
  return parsed(whole.documents.get(key));
}

const [widget] = customKinds(
  {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.example.com" },
    spec: {
      group: "example.com",
      names: { plural: "widgets", kind: "Widget" },
      scope: "Namespaced",
      versions: [{ name: "v2", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
    },
  },
  { since: 0, convert: async (objects) => objects },
) as readonly [Resource];

describe("documents that are kept", () => {
  it("are not made again", () => {
    const asked: string[] = [];
    const document = openApiV3([widget], info).documents.get("apis/example.com/v2") as OpenApiDocument;
    const kept = openApiV3([...builtinResources, widget], info, function* (key, members, make) {
      asked.push(key);
      return members.includes(widget) ? document : yield* make();
    });
    expect(kept.documents.get("apis/example.com/v2")).toBe(document);
    expect(asked).toHaveLength(kept.documents.size);
  });
});

describe("the index", () => {
  it("names every group version with the hash of its document", () => {
    const index = JSON.parse(Buffer.from(whole.index.bytes).toString()) as {
      paths: Record<string, { serverRelativeURL: string }>;
    };
    expect(Object.keys(index.paths)).toEqual([
      "api/v1",
      "apis/access.pratique.dev/v1alpha1",
      "apis/admissionregistration.k8s.io/v1",
      "apis/apiextensions.k8s.io/v1",
      "apis/apiregistration.k8s.io/v1",
      "apis/authentication.k8s.io/v1",
      "apis/authorization.k8s.io/v1",
      "apis/certificates.k8s.io/v1",
      "apis/coordination.k8s.io/v1",
      "apis/flowcontrol.apiserver.k8s.io/v1",
      "apis/rbac.authorization.k8s.io/v1",
      "apis/storage.k8s.io/v1",
    ]);
    for (const [key, { serverRelativeURL }] of Object.entries(index.paths)) {
      expect(serverRelativeURL).toBe(`/openapi/v3/${key}?hash=${whole.documents.get(key)?.hash}`);
      expect(serverRelativeURL).toMatch(/\?hash=[0-9A-F]{128}$/);
    }
  });

  it("is the same whatever the order of the resources", () => {
    expect(openApiV3([...builtinResources].reverse(), info).index.hash).toBe(whole.index.hash);
  });

  it("changes with one description, and only for that group version", () => {
    const changed = builtinResources.map((resource) =>
      resource.kind === "Lease" ? { ...resource, schema: { ...resource.schema, description: "other" } } : resource,
    );
    const next = openApiV3(changed, info);
    const differing = [...next.documents].filter(([key, { hash }]) => hash !== whole.documents.get(key)?.hash);
    expect(differing.map(([key]) => key)).toEqual(["apis/coordination.k8s.io/v1"]);
    expect(next.index.hash).not.toBe(whole.index.hash);
  });
});

describe("operations", () => {
  const patch =
    group("apis/certificates.k8s.io/v1").paths["/apis/certificates.k8s.io/v1/certificatesigningrequests/{name}"]?.[
      "patch"
    ];

  it("carry what kubectl looks for before it leaves validation to the server", () => {
    expect(patch?.["x-kubernetes-group-version-kind"]).toEqual({
      group: "certificates.k8s.io",
      version: "v1",
      kind: "CertificateSigningRequest",
    });
    expect(patch?.parameters.filter((one) => one.in === "query").map(({ name }) => name)).toEqual([
      "dryRun",
      "fieldManager",
      "fieldValidation",
      "force",
    ]);
  });

  it("offer strategic merge for built-in kinds and not for custom ones", () => {
    expect(Object.keys(patch?.requestBody.content ?? {})).toContain("application/strategic-merge-patch+json");
    const custom = parsed(openApiV3([widget], info).documents.get("apis/example.com/v2"));
    const own = custom.paths["/apis/example.com/v2/namespaces/{namespace}/widgets/{name}"]?.["patch"];
    expect(Object.keys(own?.requestBody.content ?? {})).toEqual([
      "application/json-patch+json",
      "application/merge-patch+json",
      "application/apply-patch+yaml",
    ]);
  });

  it("exist for every patchable kind, and have ids that are unique", () => {
    const patchable = builtinResources.filter(({ verbs }) => verbs.includes("patch"));
    const operations = [...whole.documents.values()].flatMap((document) =>
      Object.values(parsed(document).paths).flatMap((path) => Object.values(path)),
    );
    const found = operations.filter((one) => one["x-kubernetes-action"] === "patch");
    expect(patchable.length).toBeGreaterThan(10);
    for (const { kind } of patchable) {
      expect(found.map((one) => one["x-kubernetes-group-version-kind"])).toContainEqual(
        expect.objectContaining({ kind }),
      );
    }
    const ids = operations.flatMap((one) => (typeof one["operationId"] === "string" ? [one["operationId"]] : []));
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("leave out what a review cannot do", () => {
    const review = group("apis/authorization.k8s.io/v1").paths["/apis/authorization.k8s.io/v1/subjectaccessreviews"];
    expect(Object.keys(review ?? {})).toEqual(["post", "parameters"]);
  });
});

describe("schemas", () => {
  const core = group("api/v1").components.schemas;

  it("name their kinds in an array", () => {
    expect(core["io.k8s.api.core.v1.Pod"]?.["x-kubernetes-group-version-kind"]).toEqual([
      { group: "", version: "v1", kind: "Pod" },
    ]);
    expect(core["io.k8s.api.core.v1.PodList"]?.["x-kubernetes-group-version-kind"]).toEqual([
      { group: "", version: "v1", kind: "PodList" },
    ]);
  });

  it("name a custom kind by its reversed group", () => {
    const custom = parsed(openApiV3([widget], info).documents.get("apis/example.com/v2"));
    expect(Object.keys(custom.components.schemas)).toContain("com.example.v2.Widget");
    expect(custom.components.schemas["com.example.v2.WidgetList"]?.properties?.["items"]).toMatchObject({
      items: { $ref: "#/components/schemas/com.example.v2.Widget" },
    });
  });

  it("carry merge rules of lists", () => {
    const spec = core["io.k8s.api.core.v1.PodSpec"];
    expect(spec?.properties?.["containers"]).toMatchObject({
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      "x-kubernetes-patch-strategy": "merge",
      "x-kubernetes-patch-merge-key": "name",
    });
    expect(spec?.properties?.["volumes"]).toMatchObject({ "x-kubernetes-patch-strategy": "merge,retainKeys" });
    expect(spec?.required).toEqual(["containers"]);
  });

  it("dissolve inlined objects", () => {
    const volume = core["io.k8s.api.core.v1.Volume"];
    expect(volume?.properties).toHaveProperty("emptyDir");
    expect(volume?.properties).not.toHaveProperty("volumeSource");
    expect(core).not.toHaveProperty(["io.k8s.api.core.v1.VolumeSource"]);
  });

  it.each([
    ["v2", parsed(openApiV2(builtinResources, info)).definitions, "#/definitions/"],
    ["v3", core, "#/components/schemas/"],
  ] as const)("refer only to schemas that are there, in %s", (_, definitions, prefix) => {
    const text = JSON.stringify(definitions);
    const references = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, target]) => target ?? "");
    expect(references.length).toBeGreaterThan(100);
    for (const target of references) {
      expect(target.startsWith(prefix)).toBe(true);
      expect(definitions).toHaveProperty([target.slice(prefix.length)]);
    }
  });

  it("say something of every kind and of its first fields", () => {
    const silent = builtinResources.flatMap(({ schema, kind }) =>
      Object.entries({ "": { description: schema.description }, ...schema.properties })
        .filter(([, { description }]) => description === undefined || description === "")
        .map(([key]) => `${kind}.${key}`),
    );
    // Kubernetes itself says nothing of this one.
    expect(silent).toEqual(["CertificateSigningRequest.metadata"]);
  });
});

describe("JSON that is written in steps", () => {
  it("is what JSON.stringify writes", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(finish(jsonBytes(value)).toString()).toBe(JSON.stringify(value));
      }),
    );
    const document = finish(swagger(builtinResources, { title: "Test", version: "v1" }));
    expect(finish(jsonBytes(document)).toString()).toBe(JSON.stringify(document));
  });

  it("leaves out fields that are undefined", () => {
    const value = { a: undefined, b: [{ c: undefined }, {}], d: { e: {}, f: undefined } };
    expect(finish(jsonBytes(value)).toString()).toBe(JSON.stringify(value));
  });

  it("is left after at most 1,024 elements and their fields", () => {
    const { list, reads } = countedList(Array.from({ length: 20_000 }, (_, index) => ({ a: { index } })));
    const values = list.map(
      (element) => new Proxy(element, { ownKeys: (target) => (list[0], Reflect.ownKeys(target)) }),
    );
    const { longest, result } = longestRun(jsonBytes({ values }), reads);
    expect(result.toString()).toBe(JSON.stringify({ values: Array.from(list) }));
    expect(reads()).toBeGreaterThan(20_000);
    expect(longest).toBeLessThanOrEqual(1_024);
  });
});
