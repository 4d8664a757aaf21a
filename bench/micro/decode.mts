// Bodies read and objects written a second of processor time, on one core: what a request pays besides its transport.
import { findDuplicateFields } from "../../src/apimachinery/json-scan.ts";
import type { ApiObject } from "../../src/apimachinery/object.ts";
import { badRequest } from "../../src/apimachinery/status.ts";
import { yamlThread } from "../../src/serializer/yaml/yaml-thread.ts";
import { objectOfBody, parseBody } from "../../src/apiserver/body/decode-body.ts";
import { builtinResources } from "../../src/apis/builtin.ts";
import type { Resource } from "../../src/apis/resource.ts";
import { encodeObject, entryOf, objectOf } from "../../src/storage/stored-object.ts";
import { isQuick, perCpuSecond, print, rounded } from "./measure.mts";

const yaml = yamlThread();
const sliceMs = isQuick() ? 50 : 300;
const data = Object.fromEntries(Array.from({ length: 64 }, (_, index) => [`key-${index}`, "x".repeat(100)]));
const meta = (name: string): object => ({
  metadata: { name, namespace: "default", labels: { app: "bench", tier: "a" } },
});
const bodies: Readonly<Record<string, object>> = {
  subjectaccessreviews: {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: {
      user: "user-1",
      groups: ["system:authenticated"],
      resourceAttributes: { namespace: "ns-1", verb: "get", resource: "pods" },
    },
  },
  leases: {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    ...meta("machine-1"),
    spec: { holderIdentity: "machine-1", leaseDurationSeconds: 60, renewTime: "2026-01-01T00:00:00.000000Z" },
  },
  configmaps: { apiVersion: "v1", kind: "ConfigMap", ...meta("settings"), data },
};

for (const [plural, body] of Object.entries(bodies)) {
  const resource = builtinResources.find((one) => one.plural === plural);
  if (resource === undefined) throw new RangeError(plural);
  await measure(resource, Buffer.from(JSON.stringify(body)));
}

async function measure(resource: Resource, bytes: Buffer): Promise<void> {
  const text = bytes.toString();
  const decoded = async (): Promise<ApiObject> => {
    const parsed = await parseBody(
      { bytes, contentType: "application/json", maxValues: 20_000, yaml: yaml.of("bench") },
      () => resource.schema,
    );
    return objectOfBody(parsed, {
      resource,
      fieldValidation: "Strict",
      warn: () => undefined,
      refuse: badRequest,
      kinds: () => [resource],
    });
  };
  const object = await decoded();
  const stored = encodeObject(object);
  const loads: Readonly<Record<string, (index: number) => unknown>> = {
    "JSON.parse alone": () => JSON.parse(text),
    "find duplicate fields": () => findDuplicateFields(text),
    "decode a body": decoded,
    "encode to store": () => encodeObject(object),
    "take from the store": (index) => entryOf("/registry/bench", stored, index + 1),
    "take from the store and read": (index) => objectOf(entryOf("/registry/bench", stored, index + 1)),
  };
  for (const [name, work] of Object.entries(loads)) {
    const rate = await perCpuSecond(work, sliceMs);
    print({ bench: "decode", kind: resource.kind, bytes: bytes.length, name, perCpuSecond: rounded(rate) });
  }
}
