import { describe, expect, it } from "vitest";
import type { JsonObject } from "../apimachinery/json-value.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { finish } from "../apimachinery/steps.ts";
import { certificateSigningRequests } from "../apis/certificate-signing-request.ts";
import { configMaps } from "../apis/config-map.ts";
import { namespaces } from "../apis/namespace.ts";
import { pods } from "../apis/pod.ts";
import type { Resource } from "../apis/resource.ts";
import {
  appliedTo,
  differsInTimesOnly,
  withAdmitted as withAdmittedInSteps,
  withCreator as withCreatorInSteps,
  withUpdater as withUpdaterInSteps,
  type Write,
} from "./managed-fields.ts";
import { atOnce } from "../../test/kits/at-once.ts";

const withAdmitted = atOnce(withAdmittedInSteps);
const withCreator = atOnce(withCreatorInSteps);
const withUpdater = atOnce(withUpdaterInSteps);

function write(resource: Resource, fieldManager = "m", seconds = 0): Write {
  return { resource, subresource: "", context: { fieldManager, now: Date.UTC(2026, 0, 1) + seconds * 1000 } };
}

const map = (data: object, metadata: object = {}): ApiObject => ({
  kind: "ConfigMap",
  apiVersion: "v1",
  metadata: { name: "a", uid: "u", ...metadata },
  data,
});

const entriesOf = ({ metadata }: ApiObject): readonly { readonly manager: string; readonly fieldsV1: object }[] =>
  (metadata.managedFields ?? []) as never;
const fieldsOf = (object: ApiObject): unknown => entriesOf(object)[0]?.fieldsV1;

describe("who creates an object", () => {
  it("owns what it says, and what is filled in for it", () => {
    expect(fieldsOf(withCreator(write(configMaps), map({ x: "1" }, { labels: { l: "1" } })))).toEqual({
      "f:data": { ".": {}, "f:x": {} },
      "f:metadata": { "f:labels": { ".": {}, "f:l": {} } },
    });
  });

  it("is unknown where nobody gave a name", () => {
    expect(entriesOf(withCreator(write(configMaps, ""), map({ x: "1" })))[0]?.manager).toBe("unknown");
  });

  it("owns nothing that the server says, nor status", () => {
    const csr: ApiObject = {
      kind: "CertificateSigningRequest",
      apiVersion: "certificates.k8s.io/v1",
      metadata: { name: "a" },
      spec: { request: "", signerName: "a/b", username: "u", groups: ["g"], uid: "1", extra: { a: ["b"] } },
      status: { conditions: [{ type: "Approved", status: "True" }] },
    };
    expect(fieldsOf(withCreator(write(certificateSigningRequests), csr))).toEqual({
      "f:spec": { "f:request": {}, "f:signerName": {} },
    });
    const namespace: ApiObject = {
      kind: "Namespace",
      apiVersion: "v1",
      metadata: { name: "a" },
      spec: { finalizers: ["kubernetes"] },
      status: { phase: "Active" },
    };
    expect(withCreator(write(namespaces), namespace).metadata.managedFields).toBeUndefined();
  });
});

describe("who updates through a subresource", () => {
  it("owns what that subresource writes and nothing else", () => {
    const pod = (phase: string): ApiObject => ({
      kind: "Pod",
      apiVersion: "v1",
      metadata: { name: "a", uid: "u", labels: { l: phase } },
      spec: { nodeName: phase },
      status: { phase },
    });
    const stored = withCreator(write(pods, "c"), pod("Pending"));
    const status: Write = { ...write(pods, "k"), subresource: "status" };
    const next = withUpdater(status, { stored, next: pod("Running"), given: [{}] });
    expect(entriesOf(next).find(({ manager }) => manager === "k")?.fieldsV1).toEqual({
      "f:metadata": { "f:labels": { "f:l": {} } },
      "f:status": { "f:phase": {} },
    });
  });
});

describe("what admission makes of an object", () => {
  const owned = withCreator(write(configMaps), map({ x: "1" }));
  const owners = owned.metadata.managedFields;

  it("belongs to nobody, and leaves the owners as they are", () => {
    const changed = withAdmitted(map({ x: "1", added: "1" }), owners, owners);
    expect(changed.metadata.managedFields).toBe(owners);
  });

  it.each([[undefined], [[{}]], ["x"], [[{ ...(owners?.[0] as object), fieldsV1: { bad: {} } }]]])(
    "has the owners of before where it garbles them: %j",
    (garbled) => {
      expect(withAdmitted(map({ x: "2" }), owners, garbled).metadata.managedFields).toBe(owners);
    },
  );

  it("has other owners where it names well-formed ones", () => {
    const others = [{ ...(owners?.[0] as object), manager: "other" }];
    expect(withAdmitted(map({}), owners, others).metadata.managedFields).toEqual(others);
  });
});

describe("a write that changes nothing but times", () => {
  const stored = withCreator(write(configMaps), map({ x: "1" }));
  const later = withCreator(write(configMaps, "m", 60), map({ x: "1" }));

  it("is none", () => {
    expect(later.metadata.managedFields).not.toEqual(stored.metadata.managedFields);
    expect(differsInTimesOnly(later, stored)).toBe(true);
  });

  it("is one where a value, a label or an owner differs as well", () => {
    const { managedFields } = later.metadata;
    expect(differsInTimesOnly(map({ x: "2" }, { managedFields }), stored)).toBe(false);
    expect(differsInTimesOnly(map({ x: "1" }, { managedFields, labels: { l: "1" } }), stored)).toBe(false);
    expect(differsInTimesOnly(withCreator(write(configMaps, "n", 60), map({ x: "1" })), stored)).toBe(false);
  });
});

describe("an apply by kubectl", () => {
  it("takes over what kubectl applied by itself, and keeps the annotation up to date", () => {
    const config = { kind: "ConfigMap", apiVersion: "v1", metadata: { name: "a" }, data: { x: "1" } };
    const annotations = { "kubectl.kubernetes.io/last-applied-configuration": JSON.stringify(config) };
    const stored = withCreator(write(configMaps, "kubectl-client-side-apply"), map({ x: "1" }, { annotations }));
    const change = { config: { ...config, data: { x: "2" } }, force: false };
    const appliedNow = (by: Write): JsonObject => finish(appliedTo(by, stored, change));
    expect(() => appliedNow(write(configMaps, "other"))).toThrow("Apply failed with 1 conflict");
    const applied = appliedNow(write(configMaps, "kubectl")) as ApiObject;
    expect([applied["data"], Object.values(applied.metadata.annotations ?? {})]).toEqual([
      { x: "2" },
      ['{"apiVersion":"v1","data":{"x":"2"},"kind":"ConfigMap","metadata":{"name":"a"}}\n'],
    ]);
  });
});
