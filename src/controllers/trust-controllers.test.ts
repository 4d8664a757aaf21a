import { generateKeyPairSync, randomBytes } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { ApiObject } from "../apimachinery/object.ts";
import { createCa } from "../pki/ca.ts";
import { clusterInfoKubeconfig, signatureKey, verifyClusterInfo } from "../trust/cluster-info.ts";
import { tokenSecret } from "../trust/token-secret.ts";
import { controllerBench, type ControllerBench } from "../../test/kits/controller-bench.ts";
import { settled } from "../../test/kits/fake-clock.ts";
import { bootstrapSigner, clusterInfoPublisher, neededKubeconfig, tokenCleaner } from "./joining/bootstrap.ts";
import { configMaps, namespaces, secrets } from "./kinds.ts";

const token = { id: "abcdef", secret: "0123456789abcdef" };
const server = "https://10.0.0.1:6443";
let caPem = "";
let otherPem = "";

beforeAll(() => {
  const { privateKey: key } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const now = Date.UTC(2026, 10, 21);
  caPem = createCa({ commonName: "ca", key, now, years: 1, random: randomBytes }).pem;
  otherPem = createCa({ commonName: "other", key, now, years: 1, random: randomBytes }).pem;
});

async function scene(): Promise<ControllerBench & { readonly data: () => Readonly<Record<string, string>> }> {
  const bench = controllerBench();
  const { client, clock, informers } = bench;
  await client.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "kube-public" } });
  await bench.start(
    clusterInfoPublisher({ informers, info: { server, caPem } }),
    bootstrapSigner({ informers, clock }),
    tokenCleaner({ informers, clock }),
  );
  const data = (): Readonly<Record<string, string>> => {
    const found = bench.api.all(configMaps).find((one) => one.metadata.name === "cluster-info");
    return (found?.["data"] ?? {}) as Readonly<Record<string, string>>;
  };
  return { ...bench, data };
}

describe("cluster-info publisher", () => {
  test("creates cluster-info with exactly the bytes of the kubeconfig, and again when it is deleted", async () => {
    const { client, data, stop } = await scene();
    expect(data()).toEqual({ kubeconfig: clusterInfoKubeconfig({ server, caPem }) });
    await client.delete(configMaps, { namespace: "kube-public", name: "cluster-info" });
    await settled();
    expect(data()).toEqual({ kubeconfig: clusterInfoKubeconfig({ server, caPem }) });
    await stop();
  });

  test("corrects another server, and keeps what else stands there", async () => {
    const { client, data, stop } = await scene();
    const kubeconfig = clusterInfoKubeconfig({ server: "https://evil.test", caPem });
    await client.patch(
      configMaps,
      { namespace: "kube-public", name: "cluster-info" },
      { data: { kubeconfig, note: "x" } },
    );
    await settled();
    expect(data()).toEqual({ kubeconfig: clusterInfoKubeconfig({ server, caPem }), note: "x" });
    await stop();
  });

  test.each<[string, () => string | undefined, boolean]>([
    ["absent", () => undefined, true],
    ["not YAML", () => "{", true],
    ["right", () => clusterInfoKubeconfig({ server, caPem }), false],
    ["right in other bytes", () => `# by hand\n${clusterInfoKubeconfig({ server, caPem })}`, false],
    ["of another CA", () => clusterInfoKubeconfig({ server, caPem: otherPem }), true],
    ["with a CA too many", () => clusterInfoKubeconfig({ server, caPem: caPem + otherPem }), true],
    ["of another port", () => clusterInfoKubeconfig({ server: "https://10.0.0.1:64430", caPem }), true],
  ])("judges a kubeconfig that is %s", (_, present, needed) => {
    expect(neededKubeconfig(present(), { server, caPem }) !== undefined).toBe(needed);
  });
});

describe("bootstrap signer", () => {
  test("signs with each token that may sign, once, and takes the signature away with the token", async () => {
    const { client, api, clock, data, stop } = await scene();
    await client.create(secrets, tokenSecret({ token, now: clock.now() }));
    await settled();
    const verdict = verifyClusterInfo({ data: data(), token, pins: "unsafe-skip" });
    expect(verdict.kind).toBe("verified");
    const writes = api.writes.length;
    await settled();
    expect(api.writes).toHaveLength(writes);
    await client.delete(secrets, { namespace: "kube-system", name: "bootstrap-token-abcdef" });
    await settled();
    expect(Object.keys(data())).toEqual(["kubeconfig"]);
    await stop();
  });

  test("does not sign with a token that may only authenticate", async () => {
    const { client, clock, data, stop } = await scene();
    await client.create(secrets, tokenSecret({ token, now: clock.now(), usages: ["authentication"] }));
    await settled();
    expect(data()[signatureKey(token.id)]).toBeUndefined();
    await stop();
  });

  test("restores a signature that was tampered with", async () => {
    const { client, clock, data, stop } = await scene();
    await client.create(secrets, tokenSecret({ token, now: clock.now() }));
    await settled();
    const right = data();
    const forged = { [signatureKey(token.id)]: "forged", [signatureKey("zzzzzz")]: "forged" };
    await client.patch(configMaps, { namespace: "kube-public", name: "cluster-info" }, { data: forged });
    await settled();
    expect(data()).toEqual(right);
    await stop();
  });
});

describe("token cleaner", () => {
  test("deletes a token when it expires, and not before", async () => {
    const { client, api, clock, counted, stop } = await scene();
    await client.create(secrets, tokenSecret({ token, now: clock.now(), ttlSeconds: 90 * 86_400 }));
    await settled();
    await clock.advance(90 * 86_400_000 - 1000);
    expect(api.all(secrets)).toHaveLength(1);
    expect(counted).toEqual([]);
    await clock.advance(1000);
    expect(api.all(secrets)).toHaveLength(0);
    await settled();
    expect(counted).toEqual(["BootstrapTokenExpired"]);
    await stop();
  });

  test("keeps a token for ever that has no expiration, and deletes one that has an unreadable one", async () => {
    const { client, api, clock, stop } = await scene();
    await client.create(secrets, tokenSecret({ token, now: clock.now(), ttlSeconds: 0 }));
    const bad = tokenSecret({ token: { ...token, id: "badbad" }, now: clock.now() });
    await client.create(secrets, { ...bad, data: { ...bad.data, expiration: Buffer.from("soon").toString("base64") } });
    await settled();
    await clock.advance(1e9);
    expect(api.all(secrets).map((one) => one.metadata.name)).toEqual(["bootstrap-token-abcdef"]);
    await stop();
  });

  test("leaves Secrets of other types and namespaces alone", async () => {
    const { client, api, clock, stop } = await scene();
    const expired: ApiObject = tokenSecret({ token, now: clock.now() - 1e9, ttlSeconds: 1 });
    await client.create(secrets, { ...expired, metadata: { ...expired.metadata, namespace: "default" } });
    await client.create(secrets, { ...expired, type: "Opaque" });
    await settled();
    expect(api.all(secrets)).toHaveLength(2);
    await stop();
  });
});
