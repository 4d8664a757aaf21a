import type { ArraySchema, Field, ObjectSchema, Schema } from "../../src/apimachinery/schema.ts";

const string: Schema = { type: "string" };
const strings: Schema = { type: "array", items: string };

function object(properties: Readonly<Record<string, Schema>>, name?: string): ObjectSchema {
  const fields: Record<string, Field> = {};
  for (const [key, schema] of Object.entries(properties)) fields[key] = { schema };
  return { type: "object", properties: fields, ...(name === undefined ? {} : { name }) };
}

function mergedBy(patchMergeKey: string, items: Schema): ArraySchema {
  return { type: "array", items, patchStrategy: "merge", patchMergeKey };
}

const container = object({
  name: string,
  image: string,
  command: strings,
  args: strings,
  env: mergedBy("name", object({ name: string, value: string })),
  ports: mergedBy(
    "containerPort",
    object({ containerPort: { type: "integer", format: "int32" }, protocol: string, name: string }),
  ),
  volumeMounts: mergedBy("mountPath", object({ name: string, mountPath: string, readOnly: { type: "boolean" } })),
});

const volume: ObjectSchema = {
  type: "object",
  properties: {
    name: { schema: string },
    // VolumeSource stands inline in Volume.
    volumeSource: {
      inline: true,
      schema: object({
        emptyDir: object({ medium: string, sizeLimit: { type: "string", format: "quantity" } }),
        hostPath: object({ path: string, type: string }),
        secret: object({
          secretName: string,
          items: { type: "array", items: object({ key: string, path: string }), listType: "atomic" },
        }),
      }),
    },
  },
};

/** A part of Pod with every kind of merge: lists by key, sets, atomic lists, maps, inlined objects and retained keys. */
export const podSchema: ObjectSchema = object(
  {
    apiVersion: string,
    kind: string,
    metadata: object({
      name: string,
      namespace: string,
      labels: { type: "map", values: string },
      annotations: { type: "map", values: string },
      creationTimestamp: { type: "string", format: "date-time" },
      finalizers: { type: "array", items: string, patchStrategy: "merge" },
      ownerReferences: mergedBy("uid", object({ apiVersion: string, kind: string, name: string, uid: string })),
    }),
    spec: object(
      {
        nodeName: string,
        nodeSelector: { type: "map", values: string },
        containers: mergedBy("name", container),
        volumes: { type: "array", items: volume, patchStrategy: "merge,retainKeys", patchMergeKey: "name" },
        tolerations: { type: "array", items: object({ key: string, operator: string }), listType: "atomic" },
        imagePullSecrets: mergedBy("name", object({ name: string })),
        terminationGracePeriodSeconds: { type: "integer", format: "int64" },
      },
      "io.k8s.api.core.v1.PodSpec",
    ),
    status: object({ phase: string }),
  },
  "io.k8s.api.core.v1.Pod",
);
