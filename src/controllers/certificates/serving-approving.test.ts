import { describe, expect, test } from "vitest";
import type { ApiObject, Condition } from "../../apimachinery/object.ts";
import { parseCsr } from "../../pki/csr.ts";
import { controllerBench, type ControllerBench } from "../../../test/kits/controller-bench.ts";
import { csrObject, type AskedCsr } from "../../../test/kits/csr-object.ts";
import { settled } from "../../../test/kits/fake-clock.ts";
import { certificateSigningRequests as csrs, configMaps, events, nodes } from "../kinds.ts";
import { servingApproving, type ServingApprovingOptions, type ServingResolver } from "./serving-approving.ts";

interface Scene extends ControllerBench {
  readonly looked: string[];
  readonly dns: Map<string, readonly string[]>;
  readonly conditions: (name: string) => readonly Condition[];
  readonly reasons: () => readonly (readonly [string, unknown])[];
}

async function scene(part: Partial<ServingApprovingOptions> = {}): Promise<Scene> {
  const bench = controllerBench();
  const looked: string[] = [];
  const dns = new Map<string, readonly string[]>();
  const look = async (what: string): Promise<readonly string[]> => {
    looked.push(what);
    return dns.get(what) ?? [];
  };
  const resolver: ServingResolver = { addressesOf: look, namesOf: look };
  const { informers, clock } = bench;
  await bench.client.create(nodes, { apiVersion: "v1", kind: "Node", metadata: { name: "m1" } });
  await bench.client.create(configMaps, inventory({ m1: "10.0.0.1" }));
  await bench.start(
    servingApproving({
      informers,
      clock,
      parse: parseCsr,
      resolver,
      providers: ["inventory"],
      networks: [],
      requireNode: true,
      reserved: [],
      ...part,
    }),
  );
  const conditions = (name: string): readonly Condition[] => {
    const found = bench.api.all(csrs).find(({ metadata }) => metadata.name === name);
    return (found?.["status"] as { readonly conditions?: readonly Condition[] } | undefined)?.conditions ?? [];
  };
  const reasons = (): Scene["reasons"] extends () => infer R ? R : never =>
    bench.api.all(events).map((event) => [String(event["message"]), event["count"]] as const);
  return { ...bench, looked, dns, conditions, reasons };
}

function inventory(data: Readonly<Record<string, string>>): ApiObject {
  const metadata = { namespace: "kube-system", name: "pratique-node-inventory" };
  return { apiVersion: "v1", kind: "ConfigMap", metadata, data };
}

function asked(part: AskedCsr): ApiObject {
  const object = csrObject({
    signerName: "kubernetes.io/kubelet-serving",
    usages: ["digital signature", "server auth"],
    username: "system:node:m1",
    ...part,
  });
  return { ...object, spec: { ...(object["spec"] as object), groups: ["system:nodes"] } };
}

describe("serving-approving", () => {
  test("leaves the request of a revoked credential, and approves it once the revocation is taken back", async () => {
    let revoked = true;
    const { api, clock, conditions, stop, reasons } = await scene({ isRevoked: () => revoked });
    await api.given(csrs, asked({ name: "own", ipAddresses: ["10.0.0.1"] }));
    await settled();
    expect(conditions("own")).toEqual([]);
    expect(reasons()).toEqual([
      [
        "not approved automatically: the credential of its requester is revoked; deny the request, or take back the revocation",
        1,
      ],
    ]);
    revoked = false;
    await clock.advance(1_000_000);
    expect(conditions("own")).toMatchObject([{ type: "Approved", reason: "AutoApproved" }]);
    await stop();
  });

  test("approves what is proven, and leaves requests of other signers and decided ones alone", async () => {
    const { api, conditions, stop, log } = await scene();
    await api.given(csrs, asked({ name: "own", ipAddresses: ["10.0.0.1"] }));
    await api.given(csrs, csrObject({ name: "client" }));
    const now = "2026-11-21T00:00:00Z";
    const denied = [{ type: "Denied", status: "True", lastUpdateTime: now, lastTransitionTime: now }];
    await api.given(csrs, asked({ name: "denied", ipAddresses: ["10.0.0.1"], conditions: denied }));
    await settled();
    expect(conditions("own")).toMatchObject([{ type: "Approved", reason: "AutoApproved" }]);
    expect(conditions("client")).toEqual([]);
    expect(conditions("denied")).toEqual(denied);
    expect(api.all(events)).toEqual([]);
    expect(log).toEqual([]);
    await stop();
  });

  test("says of a name that DNS could not be asked, and approves it once DNS answers", async () => {
    const found: Record<string, readonly string[]> = {
      "m1.corp.example": ["10.0.0.1"],
      "10.0.0.1": ["m1.corp.example"],
    };
    let isDown = true;
    const look = async (what: string): Promise<readonly string[]> => {
      if (isDown) throw Object.assign(new RangeError("queryA ETIMEOUT"), { code: "ETIMEOUT" });
      return found[what] ?? [];
    };
    const resolver: ServingResolver = { addressesOf: look, namesOf: look };
    const providers = ["inventory", "dns"] as const;
    const { api, clock, conditions, reasons, stop } = await scene({ providers, resolver });
    const names = { dnsNames: ["m1.corp.example"], ipAddresses: ["10.0.0.1"] };
    await api.given(csrs, asked({ name: "named", ...names }));
    await settled();
    const message = 'not approved automatically: DNS name "m1.corp.example" could not be looked up in DNS (ETIMEOUT)';
    expect(reasons()).toEqual([[message, 1]]);
    isDown = false;
    await clock.advance(10_000);
    expect(conditions("named")).toMatchObject([{ type: "Approved" }]);
    await stop();
  });

  test("says once why it abstains, and again only when the reason is another", async () => {
    const { client, api, reasons, conditions, stop } = await scene();
    await api.given(csrs, asked({ name: "other", ipAddresses: ["10.0.0.2"] }));
    await settled();
    const first = "not approved automatically: address 10.0.0.2 is not proven by inventory";
    expect(reasons()).toEqual([[first, 1]]);
    const [node] = (await client.list(nodes)).items;
    await client.update(nodes, { ...(node as ApiObject), spec: { unschedulable: true } });
    await settled();
    expect(reasons()).toEqual([[first, 1]]);
    const map = await client.get(configMaps, { namespace: "kube-system", name: "pratique-node-inventory" });
    await client.update(configMaps, { ...map, data: { m1: "10.0.0.1", m2: "10.0.0.2" } });
    await settled();
    expect(reasons()).toEqual([
      ['not approved automatically: address 10.0.0.2 is that of node "m2" in the inventory', 2],
    ]);
    expect(conditions("other")).toEqual([]);
    await stop();
  });

  test("asks DNS again until it says so both ways, and only where it was told to", async () => {
    const { api, looked, dns, conditions, clock, stop } = await scene({ providers: ["inventory", "dns"] });
    const names = { dnsNames: ["m1.corp.example"], ipAddresses: ["10.0.0.1"] };
    await api.given(csrs, asked({ name: "named", ...names }));
    await settled();
    expect(conditions("named")).toEqual([]);
    dns.set("m1.corp.example", ["10.0.0.1"]);
    dns.set("10.0.0.1", ["M1.corp.example."]);
    await clock.advance(5000);
    expect(conditions("named")).toMatchObject([
      { message: "Auto approving serving certificate of node m1: m1.corp.example by dns, 10.0.0.1 by inventory." },
    ]);
    expect(new Set(looked)).toEqual(new Set(["m1.corp.example", "10.0.0.1"]));
    await stop();
  });

  test("does without a Node where it need not be", async () => {
    const { client, api, conditions, reasons, stop } = await scene({ requireNode: false });
    await client.delete(nodes, { name: "m1" });
    await api.given(csrs, asked({ name: "own", ipAddresses: ["10.0.0.1"] }));
    await settled();
    expect(conditions("own")).toMatchObject([{ type: "Approved" }]);
    expect(reasons()).toEqual([]);
    await stop();
  });
});
