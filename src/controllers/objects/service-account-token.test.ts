import { describe, expect, test } from "vitest";
import { controllerBench, type ControllerBench } from "../../../test/kits/controller-bench.ts";
import { settled } from "../../../test/kits/fake-clock.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { forbiddenField, invalidObject } from "../../apimachinery/field-error.ts";
import { events, secrets, serviceAccounts } from "../kinds.ts";
import { decideTokenSecret, serviceAccountToken } from "./service-account-token.ts";

const type = "kubernetes.io/service-account-token";
const nameKey = "kubernetes.io/service-account.name";
const uidKey = "kubernetes.io/service-account.uid";
const base64 = (text: string): string => Buffer.from(text).toString("base64");

function secret(annotations: Record<string, string>, more: object = {}): ApiObject {
  return { apiVersion: "v1", kind: "Secret", metadata: { namespace: "a", name: "s", annotations }, type, ...more };
}
const account = (name: string): ApiObject => ({
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata: { namespace: "a", name },
});

async function scene(): Promise<ControllerBench> {
  const bench = controllerBench();
  await bench.start(
    serviceAccountToken({
      informers: bench.informers,
      caPem: "CA",
      mint: async (order) => `token of ${order.serviceAccount.name} in ${order.namespace}/${order.secret}`,
    }),
  );
  return bench;
}

describe("a Secret that asks for a token", () => {
  test("gets it, with what is needed to use it", async () => {
    const { client, api, stop } = await scene();
    const { metadata } = await client.create(serviceAccounts, account("robot"));
    await client.create(secrets, secret({ [nameKey]: "robot" }, { data: { own: "eA==" } }));
    await settled();
    const [filled] = api.all(secrets);
    expect(filled?.metadata.annotations).toEqual({ [nameKey]: "robot", [uidKey]: metadata.uid });
    expect(filled?.["data"]).toEqual({
      own: "eA==",
      "ca.crt": base64("CA"),
      namespace: base64("a"),
      token: base64("token of robot in a/s"),
    });
    const writes = api.writes.length;
    await settled();
    expect(api.writes).toHaveLength(writes);
    await stop();
  });

  test("goes with its account", async () => {
    const { client, api, stop } = await scene();
    await client.create(serviceAccounts, account("robot"));
    await client.create(secrets, secret({ [nameKey]: "robot" }));
    await settled();
    await client.delete(serviceAccounts, { namespace: "a", name: "robot" });
    await settled();
    expect(api.all(secrets)).toEqual([]);
    await stop();
  });

  test("for an account that is not there is removed", async () => {
    const { client, api, stop } = await scene();
    await client.create(secrets, secret({ [nameKey]: "nobody" }));
    await settled();
    expect(api.all(secrets)).toEqual([]);
    await stop();
  });

  test("and that may not be changed any more stays without, and says so once", async () => {
    const { client, api, counted, stop } = await scene();
    await client.create(serviceAccounts, account("robot"));
    api.failNext("update", secrets, invalidObject(secrets, "s", [forbiddenField("data", "immutable")]));
    await client.create(secrets, secret({ [nameKey]: "robot" }, { immutable: true }));
    await settled();
    expect(counted).toEqual(["ReconcileFailed"]);
    expect(api.all(events)).toMatchObject([{ involvedObject: { kind: "Secret", namespace: "a", name: "s" } }]);
    expect(api.all(events)[0]?.["message"]).toContain("no token can be written into the Secret, create another one: ");
    await stop();
  });

  test("of another type is left alone", async () => {
    const { client, api, stop } = await scene();
    await client.create(secrets, secret({ [nameKey]: "nobody" }, { type: "Opaque" }));
    await settled();
    expect(api.all(secrets)).toHaveLength(1);
    await stop();
  });
});

describe("the decision about such a Secret", () => {
  const robot: ApiObject = { ...account("robot"), metadata: { ...account("robot").metadata, uid: "u-1" } };
  const whole = { token: base64("t"), "ca.crt": base64("CA"), namespace: base64("a") };
  const named = { [nameKey]: "robot", [uidKey]: "u-1" };
  const leaving = { ...robot, metadata: { ...robot.metadata, deletionTimestamp: "2026-11-21T00:00:00Z" } };

  test.each([
    ["whole", secret(named, { data: whole }), robot, { kind: "leave" }],
    ["empty", secret({ [nameKey]: "robot" }), robot, { kind: "fill", token: true }],
    ["without uid", secret({ [nameKey]: "robot" }, { data: whole }), robot, { kind: "fill", token: false }],
    ["of an old CA", secret(named, { data: { ...whole, "ca.crt": "eA==" } }), robot, { kind: "fill", token: false }],
    ["without namespace", secret(named, { data: { ...whole, namespace: "" } }), robot, { kind: "fill", token: false }],
    ["of an account that is gone", secret(named, { data: whole }), undefined, { kind: "delete" }],
    ["of an earlier account", secret({ ...named, [uidKey]: "u-0" }, { data: whole }), robot, { kind: "delete" }],
    ["of an account on its way out", secret({ [nameKey]: "robot" }), leaving, { kind: "leave" }],
    ["that names nobody", secret({}), undefined, { kind: "leave" }],
  ])("%s", (_name, object, present, decision) => {
    expect(decideTokenSecret(object, present, "CA")).toEqual(decision);
  });
});
