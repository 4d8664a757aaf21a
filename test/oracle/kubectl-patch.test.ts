import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { applyJsonPatch } from "../../src/apimachinery/json-patch.ts";
import { applyMergePatch } from "../../src/apimachinery/merge-patch.ts";
import { applyStrategicMergePatch } from "../../src/apimachinery/strategic-merge-patch.ts";
import { podSchema } from "../kits/pod-schema.ts";
import { reportSkip } from "../kits/report-skip.ts";

const kubectl = join(homedir(), ".cache/pratique-peers/bin/kubectl");
const absent = !existsSync(kubectl);

const pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p", labels: { app: "web", tier: "1" }, finalizers: ["x/a", "x/b", "x/c"] },
  spec: {
    nodeName: "n1",
    containers: [
      {
        name: "a",
        image: "a:1",
        command: ["run", "it"],
        env: [
          { name: "A", value: "1" },
          { name: "B", value: "2" },
          { name: "C", value: "3" },
        ],
        ports: [{ containerPort: 80, protocol: "TCP" }],
      },
      { name: "b", image: "b:1" },
    ],
    tolerations: [{ key: "k1", operator: "Exists" }],
    volumes: [
      { name: "v1", emptyDir: {} },
      { name: "v2", hostPath: { path: "/p" } },
    ],
    imagePullSecrets: [{ name: "s1" }, { name: "s2" }],
  },
};

type PatchType = "strategic" | "merge" | "json";

const apply: Record<PatchType, (patch: unknown) => unknown> = {
  strategic: (patch) => applyStrategicMergePatch(podSchema, pod, patch),
  merge: (patch) => applyMergePatch(pod, patch),
  json: (patch) => applyJsonPatch(pod, patch),
};

const cases: Record<PatchType, readonly unknown[]> = {
  strategic: [
    {},
    { spec: { nodeName: "n2" } },
    { spec: { nodeName: null, nodeSelector: null } },
    { metadata: { labels: { app: null, new: "1" } } },
    { metadata: { labels: { $patch: "replace", only: "1" } } },
    { metadata: { labels: { $patch: "delete" } } },
    { metadata: { finalizers: ["x/d", "x/b"] } },
    { metadata: { "$deleteFromPrimitiveList/finalizers": ["x/a", "x/z"] } },
    { metadata: { finalizers: ["x/d"], "$setElementOrder/finalizers": ["x/c", "x/d", "x/a"] } },
    { metadata: { finalizers: null } },
    { spec: { containers: [{ name: "c", image: "c:1" }] } },
    { spec: { containers: [{ name: "a", image: "a:2" }] } },
    { spec: { containers: [{ name: "b", image: null }] } },
    { spec: { containers: [{ name: "b", $patch: "delete" }] } },
    { spec: { containers: [{ $patch: "replace" }, { name: "z", image: "z:1" }] } },
    { spec: { containers: [{ name: "a", command: ["other"] }] } },
    {
      spec: {
        containers: [
          {
            name: "a",
            env: [
              { name: "B", $patch: "delete" },
              { name: "D", value: "4" },
            ],
          },
        ],
      },
    },
    {
      spec: {
        containers: [
          {
            name: "a",
            env: [
              { name: "C", value: null },
              { name: "E", value: "5" },
            ],
          },
        ],
      },
    },
    {
      spec: {
        containers: [
          {
            name: "a",
            env: [{ name: "D", value: "4" }],
            "$setElementOrder/env": [{ name: "C" }, { name: "D" }, { name: "A" }],
          },
        ],
        "$setElementOrder/containers": [{ name: "b" }, { name: "a" }],
      },
    },
    { spec: { "$setElementOrder/containers": [{ name: "b" }, { name: "a" }] } },
    {
      spec: {
        containers: [
          {
            name: "a",
            ports: [
              { containerPort: 443, protocol: "TCP" },
              { containerPort: 80, name: "http" },
            ],
          },
        ],
      },
    },
    { spec: { tolerations: [{ key: "k2", operator: "Exists" }] } },
    { spec: { tolerations: [] } },
    { spec: { volumes: [{ name: "v1", emptyDir: null, secret: { secretName: "s" } }] } },
    { spec: { volumes: [{ name: "v1", secret: { secretName: "s" }, $retainKeys: ["name", "secret"] }] } },
    { spec: { volumes: [{ name: "v2", hostPath: { type: "Directory" } }] } },
    { spec: { imagePullSecrets: [{ name: "s3" }, { name: "s1" }] } },
    { spec: { imagePullSecrets: null } },
  ],
  merge: [
    {},
    { metadata: { labels: { app: null, new: "1" } } },
    { spec: { containers: [{ name: "z", image: "z:1" }] } },
    { spec: { nodeName: null, nodeSelector: { a: "b", c: null } } },
    { metadata: { finalizers: ["x/d"] } },
    { spec: { tolerations: null } },
  ],
  json: [
    [],
    [{ op: "add", path: "/metadata/labels/new", value: "1" }],
    [{ op: "remove", path: "/metadata/finalizers/1" }],
    [{ op: "replace", path: "/spec/containers/0/image", value: "a:2" }],
    [{ op: "add", path: "/spec/containers/0/env/1", value: { name: "Z", value: "9" } }],
    [{ op: "add", path: "/metadata/finalizers/-", value: "x/d" }],
    [{ op: "move", from: "/metadata/labels/app", path: "/metadata/labels/a~1b" }],
    [{ op: "copy", from: "/spec/containers/0/env/0", path: "/spec/containers/0/env/-" }],
    [
      { op: "test", path: "/metadata/name", value: "p" },
      { op: "test", path: "/metadata/annotations", value: null },
      { op: "add", path: "/metadata/annotations", value: {} },
      { op: "add", path: "/metadata/annotations/a", value: "b" },
    ],
  ],
};

const folder = absent ? "" : mkdtempSync(join(tmpdir(), "pratique-kubectl-"));
afterAll(() => {
  if (!absent) rmSync(folder, { recursive: true, force: true });
});

async function byKubectl(type: PatchType, patch: unknown): Promise<unknown> {
  const file = join(folder, "pod.json");
  writeFileSync(file, JSON.stringify(pod));
  const args = ["patch", "--local", "-f", file, `--type=${type}`, "-o", "json", "-p", JSON.stringify(patch)];
  const { stdout } = await promisify(execFile)(kubectl, args, { env: { HOME: folder } });
  return withoutNulls(JSON.parse(stdout));
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(kept.map(([key, member]) => [key, withoutNulls(member)]));
}

const types = Object.keys(cases) as PatchType[];
if (absent)
  for (const type of types)
    reportSkip(`a ${type} patch gives what kubectl gives`, `${kubectl} is absent`, "kubernetes");

describe.skipIf(absent).each(types)("a %s patch gives what kubectl gives", (type) => {
  test.each(cases[type].map((patch) => [patch]))("%j", async (patch) => {
    expect(apply[type](patch)).toEqual(await byKubectl(type, patch));
  });
});
