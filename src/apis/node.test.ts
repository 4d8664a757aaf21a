import { describe, expect, test } from "vitest";

import type { FieldError } from "../apimachinery/field-error.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { nodes } from "./node.ts";
import { tableFor } from "../serializer/table.ts";

const context = { user: { username: "u", groups: [] }, now: 0 };

function node(fields: object, labels: Readonly<Record<string, string>> = {}): ApiObject {
  return { apiVersion: "v1", kind: "Node", metadata: { name: "a", labels }, ...fields };
}

function said(errors: readonly FieldError[] | undefined): readonly string[] {
  return (errors ?? []).map((error) => `${error.path}: ${error.message}`);
}

describe("a node's taints", () => {
  const taint = { key: "a", effect: "NoSchedule" };
  const cases: Readonly<Record<string, { readonly taints: readonly object[]; readonly errors: readonly string[] }>> = {
    "may share a key with another effect": { taints: [taint, { ...taint, effect: "NoExecute" }], errors: [] },
    "need an effect": { taints: [{ key: "a" }], errors: ["metadata.taints[0].effect: Required value"] },
    "know three effects": {
      taints: [{ key: "a", effect: "Never" }],
      errors: [
        'metadata.taints[0].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
      ],
    },
    "are unique by key and effect": {
      taints: [taint, { ...taint, value: "b" }],
      errors: [
        'metadata.taints[1]: Duplicate value: {"key":"a","effect":"NoSchedule","value":"b"}: taints must be unique by key and effect pair',
      ],
    },
  };
  test.each(Object.entries(cases))("%s", (_title, { taints, errors }) => {
    expect(said(nodes.validate?.(node({ spec: { taints } })))).toStrictEqual(errors);
  });
});

describe("updating a node", () => {
  const stored = node({ spec: { podCIDR: "10.0.0.0/24", providerID: "x://1" }, status: { phase: "x" } });

  test("leaves the status alone", () => {
    expect(nodes.prepareForUpdate?.({ ...stored, status: {} }, stored, context)["status"]).toStrictEqual({
      phase: "x",
    });
  });

  test("through status leaves the spec alone", () => {
    const next = nodes.subresources["status"]?.prepareForUpdate?.({ ...stored, spec: {}, status: {} }, stored, context);
    expect(next).toStrictEqual({ ...stored, status: {} });
  });

  const cases: Readonly<Record<string, { readonly spec: object; readonly errors: readonly string[] }>> = {
    "may cordon and taint it": {
      spec: { podCIDR: "10.0.0.0/24", providerID: "x://1", unschedulable: true, taints: [{ key: "a" }] },
      errors: [],
    },
    "may add the list form of its range": {
      spec: { podCIDR: "10.0.0.0/24", podCIDRs: ["10.0.0.0/24"], providerID: "x://1" },
      errors: [],
    },
    "may not move it to another range": {
      spec: { podCIDR: "10.0.1.0/24", providerID: "x://1" },
      errors: ['spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid'],
    },
    "may not give it to another provider": {
      spec: { podCIDR: "10.0.0.0/24", providerID: "x://2" },
      errors: ['spec.providerID: Forbidden: node updates may not change providerID except from "" to valid'],
    },
    "may not change anything else": {
      spec: { podCIDR: "10.0.0.0/24", providerID: "x://1", externalID: "e" },
      errors: [": Forbidden: node updates may only change labels, taints, or capacity"],
    },
  };
  test.each(Object.entries(cases))("%s", (_title, { spec, errors }) => {
    expect(said(nodes.validateUpdate?.(node({ spec }), stored))).toStrictEqual(errors);
  });

  test("refuses the same address twice", () => {
    const address = { type: "InternalIP", address: "10.0.0.1" };
    const next = node({ status: { addresses: [address, address] } });
    expect(said(nodes.subresources["status"]?.validateUpdate?.(next, stored))).toStrictEqual([
      'status.addresses[1]: Duplicate value: {"type":"InternalIP","address":"10.0.0.1"}',
    ]);
  });
});

test("a node that says what it has and not what it gives gives all", () => {
  const made = nodes.prepareForCreate?.(node({ status: { capacity: { cpu: "2" } } }), context);
  expect(made?.["status"]).toStrictEqual({ capacity: { cpu: "2" }, allocatable: { cpu: "2" } });
});

describe("a node's row", () => {
  const ready = (status: string): object => ({ conditions: [{ type: "Ready", status }] });
  const rows: Readonly<Record<string, { readonly object: ApiObject; readonly cells: readonly unknown[] }>> = {
    "shows what is unknown": {
      object: node({}),
      cells: ["a", "Unknown", "<none>", "<unknown>", "", "<none>", "<none>", "<unknown>", "<unknown>", "<unknown>"],
    },
    "shows a cordoned node that is not ready, with sorted roles": {
      object: node(
        { spec: { unschedulable: true }, status: ready("Unknown") },
        {
          "node-role.kubernetes.io/worker": "",
          "node-role.kubernetes.io/control-plane": "",
          "kubernetes.io/role": "x",
        },
      ),
      cells: [
        "a",
        "NotReady,SchedulingDisabled",
        "control-plane,worker,x",
        "<unknown>",
        "",
        "<none>",
        "<none>",
        "<unknown>",
        "<unknown>",
        "<unknown>",
      ],
    },
    "shows a ready node in full": {
      object: node({
        status: {
          ...ready("True"),
          addresses: [
            { type: "Hostname", address: "a" },
            { type: "InternalIP", address: "10.0.0.1" },
            { type: "ExternalIP", address: "192.0.2.1" },
          ],
          nodeInfo: {
            kubeletVersion: "v1.36.0",
            osImage: "Debian",
            kernelVersion: "6.12",
            containerRuntimeVersion: "containerd://2",
          },
        },
      }),
      cells: [
        "a",
        "Ready",
        "<none>",
        "<unknown>",
        "v1.36.0",
        "10.0.0.1",
        "192.0.2.1",
        "Debian",
        "6.12",
        "containerd://2",
      ],
    },
  };
  test.each(Object.entries(rows))("%s", (_title, { object, cells }) => {
    expect(tableFor(nodes, [object], { now: 0 }).rows[0]?.cells).toStrictEqual(cells);
  });
});
