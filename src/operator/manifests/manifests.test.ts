import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { fakeIo, runLine } from "../../../test/kits/fake-io.ts";
import { controllerRoles } from "../../authorization/bootstrap-policy/controller-roles.ts";
import { decodeObject } from "../../apimachinery/decode.ts";
import type { JsonObject } from "../../apimachinery/json-value.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { accessProfiles } from "../../apis/access-profile.ts";
import { accessRequests } from "../../apis/access-request.ts";
import { customResourceDefinitions } from "../../apis/custom-resource-definition.ts";
import { mutatingWebhookConfigurations, validatingWebhookConfigurations } from "../../apis/admission-webhook.ts";
import type { Resource } from "../../apis/resource.ts";
import { arrayAt, fieldListAt, isFields, stringAt, valueAt, fieldsAt } from "../../apis/json-fields.ts";
import { accessDefinitions } from "./manifests.ts";
import { finish } from "../../apimachinery/steps.ts";
import { credentialRevocations } from "../../apis/credential-revocation.ts";
import { readStructural } from "../../apis/custom/structural-schema.ts";
import { ruleSet } from "../../apis/custom/validation-rules.ts";

interface Printed extends ApiObject {
  readonly rules?: readonly JsonObject[];
}

async function printed(...words: readonly string[]): Promise<readonly Printed[]> {
  const io = fakeIo({ files: { "/here/ca.crt": "-----BEGIN CERTIFICATE-----\n" } });
  expect([await runLine(["manifests", ...words], io), io.err()]).toEqual([0, ""]);
  return parseAllDocuments(io.out()).map((document) => document.toJS() as Printed);
}

const hooksOf = (found: Printed | undefined): readonly JsonObject[] =>
  arrayAt(found, "webhooks").filter((hook) => isFields(hook));

const stringsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];

const named = (objects: readonly Printed[], kind: string, name: string): Printed | undefined =>
  objects.find((object) => object.kind === kind && object.metadata.name === name);

function faults(resource: Resource, object: JsonObject): readonly unknown[] {
  const { object: decoded, unknown } = decodeObject(resource.schema, object);
  const now = { user: { username: "u", groups: [] }, now: 0 };
  const prepared = resource.prepareForCreate?.({ apiVersion: "", kind: "", metadata: {}, ...decoded }, now) ?? decoded;
  return [...unknown, ...(resource.validate?.(prepared as ApiObject) ?? [])];
}

describe("the definitions", () => {
  it.each([true, false])("are such as Kubernetes takes (rules: %s)", (rules) => {
    for (const definition of accessDefinitions({ rules })) {
      expect(faults(customResourceDefinitions, definition)).toEqual([]);
    }
  });

  it("have every column, every field and every description of the kinds", () => {
    const [requests, profiles] = accessDefinitions({ rules: true });
    for (const [resource, definition] of [
      [accessRequests, requests],
      [accessProfiles, profiles],
    ] as const) {
      const [version] = valueAt(definition, "spec", "versions") as readonly JsonObject[];
      const columns = version?.["additionalPrinterColumns"] as readonly JsonObject[];
      expect(columns.map(({ name }) => name)).toEqual(resource.columns.map(({ name }) => name));
      const spec = valueAt(version, "schema", "openAPIV3Schema", "properties", "spec", "properties") as JsonObject;
      const field = resource.schema.properties["spec"]?.schema;
      expect(Object.keys(spec)).toEqual(Object.keys(field?.type === "object" ? field.properties : {}));
      for (const one of Object.values(spec)) expect(stringAt(one, "description")).not.toBe("");
    }
    const text = JSON.stringify(requests);
    expect(text).toContain('"rule":"self == oldSelf"');
    expect(text).toContain('"subresources":{"status":{}}');
    expect(JSON.stringify(accessDefinitions({ rules: false }))).not.toContain("x-kubernetes-validations");
  });
});

describe("pratique manifests", () => {
  it("gives the controller what it has on a hub, and no more", async () => {
    const role = named(await printed(), "ClusterRole", "pratique:access-controller");
    const hub = controllerRoles().find(({ metadata }) => metadata.name?.endsWith(":access-request-controller"));
    expect(hub?.rules?.length).toBeGreaterThan(3);
    expect(role?.rules).toEqual(hub?.rules);
  });

  it("lets the controller read what is revoked, and change nothing of it", async () => {
    const objects = await printed();
    const role = named(objects, "ClusterRole", "pratique:revocation-reader");
    expect(role?.rules).toEqual([
      { apiGroups: ["access.pratique.dev"], resources: ["credentialrevocations"], verbs: ["list", "watch"] },
    ]);
    expect(named(objects, "ClusterRoleBinding", "pratique:revocation-reader")).toMatchObject({
      subjects: [{ kind: "ServiceAccount", name: "pratique-controller", namespace: "pratique-system" }],
    });
  });

  it("lets those without a credential create and get requests, and nothing else", async () => {
    const role = named(await printed(), "ClusterRole", "pratique:access-requester");
    expect(role?.rules).toEqual([
      { apiGroups: ["access.pratique.dev"], resources: ["accessrequests"], verbs: ["create", "get"] },
    ]);
  });

  it("asks the webhook about every write, and refuses what it cannot ask about", async () => {
    const objects = await printed("--namespace", "elsewhere");
    for (const resource of [mutatingWebhookConfigurations, validatingWebhookConfigurations]) {
      const found = named(objects, resource.kind, "pratique-access");
      expect(faults(resource, { ...found })).toEqual([]);
      const hooks = hooksOf(found);
      expect(hooks.length).toBeGreaterThan(0);
      expect(hooks.map(({ failurePolicy }) => failurePolicy)).toEqual(hooks.map(() => "Fail"));
      expect(JSON.stringify(hooks)).toContain('"namespace":"elsewhere"');
    }
    const [, tokens] = hooksOf(named(objects, "MutatingWebhookConfiguration", "pratique-access"));
    expect(tokens?.["namespaceSelector"]).toEqual({ matchLabels: { "access.pratique.dev/machines": "true" } });
  });

  it("asks about ConfigMaps of kube-system where the inventory of nodes is to be guarded, with --cel about that one alone", async () => {
    const inventoryHook = async (...words: readonly string[]): Promise<JsonObject | undefined> => {
      const found = named(await printed(...words), "ValidatingWebhookConfiguration", "pratique-access");
      expect(faults(validatingWebhookConfigurations, { ...found })).toEqual([]);
      return hooksOf(found).find(({ name }) => name === "inventory.access.pratique.dev");
    };
    expect(await inventoryHook()).toBeUndefined();
    const all = await inventoryHook("--node-inventory");
    expect(all).toMatchObject({
      failurePolicy: "Fail",
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "kube-system" } },
      rules: [{ apiGroups: [""], resources: ["configmaps"], operations: ["CREATE", "UPDATE"] }],
    });
    expect(all).not.toHaveProperty("matchConditions");
    expect(await inventoryHook("--node-inventory", "--cel")).toHaveProperty("matchConditions");
  });

  it("runs nothing as root, or with a file system that can be written", async () => {
    const deployments = (await printed()).filter(({ kind }) => kind === "Deployment");
    expect(deployments).toHaveLength(2);
    for (const one of deployments) {
      const pod = valueAt(one, "spec", "template", "spec") as { readonly containers: readonly JsonObject[] };
      expect(pod).toMatchObject({
        securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
      });
      for (const container of pod.containers) {
        expect(container["securityContext"]).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        });
      }
    }
  });

  it("installs no webhook that runs elsewhere, and nothing that runs where it shall not", async () => {
    const url = "https://10.0.0.5:8443";
    const outside = await printed("--webhook-url", url, "--webhook-ca-file", "ca.crt");
    expect(outside.map(({ kind }) => kind).filter((kind) => kind === "Deployment" || kind === "Service")).toEqual([
      "Deployment",
    ]);
    const [hook] = hooksOf(named(outside, "ValidatingWebhookConfiguration", "pratique-access"));
    expect(hook?.["clientConfig"]).toEqual({
      url: `${url}/validate`,
      caBundle: Buffer.from("-----BEGIN CERTIFICATE-----\n").toString("base64"),
    });
    expect((await printed("--no-workloads")).some(({ kind }) => kind === "Deployment")).toBe(false);
  });

  it("prints what clusters need that join, when it is asked to, and nothing of it otherwise", async () => {
    const isOurs = ({ metadata }: Printed): boolean => JSON.stringify(metadata).includes("cluster-management.io");
    expect((await printed()).filter(isOurs)).toEqual([]);
    const objects = await printed("--managed-clusters");
    const definitions = objects.filter((one) => one.kind === "CustomResourceDefinition" && isOurs(one));
    expect(definitions).toHaveLength(4);
    for (const definition of definitions) expect(faults(customResourceDefinitions, { ...definition })).toEqual([]);
    for (const resource of [mutatingWebhookConfigurations, validatingWebhookConfigurations]) {
      const found = named(objects, resource.kind, "pratique-clusters");
      expect(faults(resource, { ...found })).toEqual([]);
      expect(hooksOf(found).map(({ failurePolicy }) => failurePolicy)).toEqual(hooksOf(found).map(() => "Fail"));
    }
    const role = named(objects, "ClusterRole", "pratique:cluster-controller");
    const verbs = (role?.rules ?? []).flatMap((rule) => stringsOf(rule["verbs"]));
    expect(verbs.length).toBeGreaterThan(20);
    for (const verb of ["*", "escalate", "bind", "impersonate"]) expect(verbs).not.toContain(verb);
    const workloads = JSON.stringify(objects.filter(({ kind }) => kind === "Deployment"));
    expect(workloads).toContain("--controllers=access-request,registration");
    expect(workloads).toContain("--managed-clusters");
  });

  it("has the webhook convert add-ons when it is asked to, and lets it touch that one definition", async () => {
    const name = "managedclusteraddons.addon.open-cluster-management.io";
    const servedIn = (objects: readonly Printed[]): readonly unknown[] =>
      fieldListAt(named(objects, "CustomResourceDefinition", name), "spec", "versions").map((one) => one["name"]);
    const plain = await printed("--managed-clusters");
    expect([servedIn(plain), named(plain, "ClusterRole", "pratique:add-on-conversion")]).toEqual([
      ["v1beta1"],
      undefined,
    ]);
    const objects = await printed("--managed-clusters", "--older-add-ons", "--webhook-ca-file", "ca.crt");
    const definition = named(objects, "CustomResourceDefinition", name);
    expect(faults(customResourceDefinitions, { ...definition })).toEqual([]);
    expect(servedIn(objects)).toEqual(["v1beta1", "v1alpha1"]);
    expect(valueAt(definition, "spec", "conversion")).toEqual({
      strategy: "Webhook",
      webhook: {
        clientConfig: {
          service: { namespace: "pratique-system", name: "pratique-webhook", path: "/convert", port: 443 },
          caBundle: Buffer.from("-----BEGIN CERTIFICATE-----\n").toString("base64"),
        },
        conversionReviewVersions: ["v1"],
      },
    });
    expect(named(objects, "ClusterRole", "pratique:add-on-conversion")?.rules).toEqual([
      {
        apiGroups: ["apiextensions.k8s.io"],
        resources: ["customresourcedefinitions"],
        verbs: ["get", "update"],
        resourceNames: [name],
      },
    ]);
    expect(JSON.stringify(named(objects, "Deployment", "pratique-webhook"))).toContain('"--older-add-ons"');
  });

  it.each([
    ["--older-add-ons"],
    ["--namespace", "Not_A_Name"],
    ["--webhook-url", "http://10.0.0.5"],
    ["--webhook-url", "https://u:p@10.0.0.5"],
    ["--webhook-url", "https://10.0.0.5/?x=1"],
    ["--webhook-url", "nonsense"],
  ])("refuses %s %s", async (...words) => {
    const io = fakeIo();
    expect([await runLine(["manifests", ...words], io), io.out()]).toEqual([2, ""]);
  });
});

const digest = "ab".repeat(32);
const publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl";

const revocationSpecs: readonly object[] = [
  {},
  { reason: "lost" },
  { user: "a" },
  { user: "b" },
  { user: "a", reason: "lost", expiresAt: "2099-01-01T00:00:00Z" },
  { user: "a", fingerprint: digest },
  { fingerprint: digest },
  { certificate: { serialNumber: "01" } },
  { certificate: { serialNumber: "01", issuer: digest } },
  { credentialID: "JTI=a" },
  { bootstrapTokenID: "abcdef" },
  { bootstrapTokenID: "abcdeg", secret: { namespace: "a", name: "b" } },
  { secret: { namespace: "a", name: "b" } },
  { secret: { namespace: "a", name: "c" } },
];

const requestSpecs: readonly object[] = [
  { pubKey: publicKey },
  { pubKey: publicKey, profile: "vms" },
  { pubKey: publicKey, hostname: "a", claims: { a: "1" } },
  { pubKey: publicKey, hostname: "a", claims: { a: "2" } },
];

/** Whether the rules of the definition let an API server store the object in place of `stored`. */
function rulesOf(resource: Resource): (object: ApiObject, stored: ApiObject | undefined) => boolean {
  const name = `${resource.plural}.${resource.group}`;
  const definition = accessDefinitions({ rules: true }).find((one) => stringAt(one, "metadata", "name") === name);
  const [version] = fieldListAt(definition, "spec", "versions");
  const rules = ruleSet(readStructural(fieldsAt(version, "schema", "openAPIV3Schema")), { isResource: true });
  return (object, stored) => rules !== undefined && finish(rules.errors(object, { stored, path: "" })).length === 0;
}

function hubTakes({ validate, validateUpdate }: Resource, object: ApiObject, stored: ApiObject | undefined): boolean {
  const changed = stored === undefined ? [] : (validateUpdate?.(object, stored) ?? []);
  return [...(validate?.(object, stored) ?? []), ...changed].length === 0;
}

describe("the rules of a definition", () => {
  it.each([
    ["CredentialRevocation", credentialRevocations, revocationSpecs],
    ["AccessRequest", accessRequests, requestSpecs],
  ])("of %s let through what the hub lets through, new and changed", (_kind, resource, specs) => {
    const take = rulesOf(resource);
    const objects = specs.map((spec): ApiObject => ({
      apiVersion: "a/v1",
      kind: resource.kind,
      metadata: { name: "a" },
      spec,
    }));
    const stored = objects.filter((object) => hubTakes(resource, object, undefined));
    expect(stored.length).toBeGreaterThan(2);
    const pairs = [undefined, ...stored].flatMap((old) => objects.map((next) => [next, old] as const));
    const taken = pairs.map(([next, old]) => hubTakes(resource, next, old));
    expect(new Set(taken).size).toBe(2);
    expect(pairs.map(([next, old]) => take(next, old))).toEqual(taken);
  });
});
