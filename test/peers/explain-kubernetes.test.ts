import { afterAll, beforeAll, expect, it } from "vitest";
import type { OpenApi } from "../../generate/inputs.mts";
import { builtinResources } from "../../src/apis/builtin.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import type { Kubectl } from "../kits/kubectl.ts";
import { peerSuite } from "../kits/peers.ts";
import { eventually } from "../kits/peers-process.ts";
import { kubePrograms, startKubernetes, type Kubernetes } from "../kits/peers-kube.ts";

type Definitions = Readonly<Record<string, OpenApi>>;

/** The built-in kinds of Kubernetes that have paths, as `kubectl explain` takes them. */
const kinds = builtinResources
  .filter(({ schema }) => schema.name?.startsWith("io.k8s.") === true)
  .map(({ group, version, plural }) => ({ plural, apiVersion: group === "" ? version : `${group}/${version}` }));

const paths = [...new Set(kinds.map(({ apiVersion }) => (apiVersion === "v1" ? "api/v1" : `apis/${apiVersion}`)))];

/** Fields of every form: a time, an amount, a number or a text, any JSON, values that are listed, a list by keys, a field that contains itself. */
const fields = [
  "pods.metadata.creationTimestamp",
  "pods.metadata.managedFields.fieldsV1",
  "pods.spec.containers.resources.limits",
  "pods.spec.containers.ports.protocol",
  "pods.spec.containers.livenessProbe.httpGet.port",
  "pods.spec.restartPolicy",
  "pods.spec.volumes.csi",
  "nodes.status.conditions",
  "secrets.data",
  "certificatesigningrequests.spec.usages",
  "certificatesigningrequests.metadata",
  "customresourcedefinitions.spec.versions.schema.openAPIV3Schema",
  "customresourcedefinitions.spec.versions.schema.openAPIV3Schema.default",
  "customresourcedefinitions.spec.versions.schema.openAPIV3Schema.items",
  "services.spec.ports",
];

const boats = JSON.stringify({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "boats.example.com" },
  spec: {
    group: "example.com",
    names: { plural: "boats", kind: "Boat" },
    scope: "Namespaced",
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            description: "A boat carries people over water.",
            properties: {
              spec: { type: "object", properties: { seats: { type: "integer", description: "How many sit." } } },
            },
          },
        },
      },
    ],
  },
});

peerSuite(
  [...kubePrograms, "../current/bin/kube-apiserver", "../current/bin/kube-controller-manager"],
  "kubectl explain beside kube-apiserver 1.36",
  () => {
    let kubernetes: Kubernetes;
    let hub: TestHub;

    beforeAll(async () => {
      [kubernetes, hub] = await Promise.all([startKubernetes(undefined, {}, {}, "current"), startTestHub()]);
    }, 600_000);
    afterAll(async () => {
      await Promise.all([kubernetes?.stop(), hub?.close()]);
    });

    const definitions = async (kubectl: Kubectl): Promise<Definitions> => {
      const documents: Definitions[] = [];
      for (const path of paths) {
        const document = JSON.parse(await kubectl.ok("get", "--raw", `/openapi/v3/${path}`)) as {
          readonly components: { readonly schemas: Definitions };
        };
        documents.push(document.components.schemas);
      }
      return Object.assign({}, ...documents) as Definitions;
    };

    it("has the same words, types and rules for every field of every kind", async () => {
      const [theirs, ours] = [await definitions(kubernetes.kubectl), await definitions(hub.kubectl)];
      const names = kubernetesNames(ours);
      const counted = names.reduce((sum, name) => sum + Object.keys(ours[name]?.properties ?? {}).length, 0);
      expect(counted).toBeGreaterThan(1200);
      expect(comparable(ours, names)).toEqual(comparable(theirs, names));
    });

    it("has the same in version 2 of OpenAPI, which older clients read", async () => {
      const [theirs, ours] = [await definitionsV2(kubernetes.kubectl), await definitionsV2(hub.kubectl)];
      const names = kubernetesNames(ours);
      expect(names.length).toBeGreaterThan(280);
      expect(comparable(ours, names)).toEqual(comparable(theirs, names));
    });

    it("prints the same for every kind, and for all of its fields", async () => {
      const differing: string[] = [];
      expect(kinds.length).toBeGreaterThan(20);
      for (const { plural, apiVersion } of kinds) {
        const asked = ["explain", plural, "--api-version", apiVersion, "--recursive"];
        if ((await hub.kubectl.ok(...asked)) !== (await kubernetes.kubectl.ok(...asked))) differing.push(plural);
      }
      expect(differing).toEqual([]);
    });

    it("prints the same for a custom kind, the fields that each object has included", async () => {
      const both = [hub.kubectl, kubernetes.kubectl] as const;
      for (const kubectl of both) await kubectl.with({ input: boats }).ok("create", "-f", "-");
      for (const kubectl of both) await eventually("the definition is published", () => kubectl.ok("explain", "boats"));
      for (const field of ["boats", "boats.metadata", "boats.spec"]) {
        expect(await hub.kubectl.ok("explain", field)).toBe(await kubernetes.kubectl.ok("explain", field));
      }
    });

    it.each(fields)("prints the same for %s", async (field) => {
      expect(await hub.kubectl.ok("explain", field)).toBe(await kubernetes.kubectl.ok("explain", field));
    });
  },
);

async function definitionsV2(kubectl: Kubectl): Promise<Definitions> {
  const text = await kubectl.ok("get", "--raw", "/openapi/v2");
  return (JSON.parse(text) as { readonly definitions: Definitions }).definitions;
}

function kubernetesNames(definitions: Definitions): readonly string[] {
  return Object.keys(definitions).filter((name) => name.startsWith("io.k8s."));
}

/** The order of required fields says nothing; the hub has fewer group versions, and no unions, which nothing reads. */
function comparable(definitions: Definitions, names: readonly string[]): unknown {
  const withoutOrder = (schema: OpenApi | undefined): unknown => {
    if (schema === undefined) return undefined;
    const { required, "x-kubernetes-group-version-kind": _kinds, "x-kubernetes-unions": _unions, ...rest } = schema;
    return required === undefined ? rest : { ...rest, required: [...required].sort() };
  };
  return Object.fromEntries(names.map((name) => [name, withoutOrder(definitions[name])]));
}
