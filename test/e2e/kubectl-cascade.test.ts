import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import type { Kubectl } from "../kits/kubectl.ts";
import { peerSuite } from "../kits/peers.ts";

peerSuite("kubectl", "kubectl with owners of built-in kinds", () => {
  let hub: TestHub;
  let kubectl: Kubectl;

  beforeAll(async () => {
    hub = await startTestHub();
    kubectl = hub.kubectl;
  });

  afterAll(() => hub?.close());

  const fed = (object: object): Kubectl => kubectl.with({ input: JSON.stringify(object) });

  /** A ConfigMap that owns a Lease, which owns a Secret; gives what they are called. */
  async function family(name: string): Promise<readonly string[]> {
    const kinds = [
      ["v1", "ConfigMap"],
      ["coordination.k8s.io/v1", "Lease"],
      ["v1", "Secret"],
    ] as const;
    let ownerReferences: readonly object[] = [];
    for (const [apiVersion, kind] of kinds) {
      await fed({ apiVersion, kind, metadata: { name, ownerReferences } }).ok("create", "-f", "-");
      const uid = await kubectl.ok("get", kind, name, "-o", "jsonpath={.metadata.uid}");
      ownerReferences = [{ apiVersion, kind, name, uid, blockOwnerDeletion: true }];
    }
    return kinds.map(([, kind]) => `${kind.toLowerCase()}/${name}`);
  }

  const owners = (what: string): Promise<string> =>
    kubectl.ok("get", what, "-o", "jsonpath={.metadata.ownerReferences[*].kind}");

  it("delete --cascade=foreground ends when all that was owned has gone", async () => {
    const [first = "", ...others] = await family("foreground");
    await kubectl.ok("delete", first, "--cascade=foreground", "--timeout=40s");
    for (const each of others) expect((await kubectl("get", each)).err).toContain("NotFound");
  });

  it("delete --cascade=orphan leaves what was owned, without its owner", async () => {
    const [first = "", second = "", third = ""] = await family("orphan");
    expect(await owners(second)).toBe("ConfigMap");
    await kubectl.ok("delete", first, "--cascade=orphan", "--timeout=40s");
    expect(await owners(second)).toBe("");
    expect(await owners(third)).toBe("Lease");
  });

  it("delete --cascade=background, which is what delete does, takes what was owned soon after", async () => {
    for (const [name, ...args] of [["background", "--cascade=background"], ["usual"]] as const) {
      const [first = "", second = "", third = ""] = await family(name);
      await kubectl.ok("delete", first, ...args, "--timeout=40s");
      await kubectl.ok("wait", "--for=delete", second, "--timeout=40s");
      await kubectl.ok("wait", "--for=delete", third, "--timeout=40s");
      expect((await kubectl("get", third)).err).toContain("NotFound");
    }
  });

  it("diff shows what an apply by the client would change, and replace --force makes another object", async () => {
    const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "shown" }, data: { a: "1" } };
    await fed(map).ok("apply", "-f", "-");
    const same = await fed(map)("diff", "-f", "-");
    expect([same.code, same.out]).toEqual([0, ""]);
    const other = await fed({ ...map, data: { a: "2" } })("diff", "-f", "-");
    expect(other.code).toBe(1);
    expect(other.out).toMatch(/^-\s+a: "1"\n\+\s+a: "2"$/m);
    const uid = (): Promise<string> => kubectl.ok("get", "configmap", "shown", "-o", "jsonpath={.metadata.uid}");
    const before = await uid();
    await fed(map).ok("replace", "--force", "-f", "-");
    expect(await uid()).not.toBe(before);
  });

  it("wait --for=jsonpath ends when the value is there, also where it is there already", async () => {
    await kubectl.ok("create", "configmap", "awaited", "--from-literal=a=0");
    const waiting = kubectl.ok("wait", "--for=jsonpath={.data.a}=1", "configmap/awaited", "--timeout=40s");
    await kubectl.ok("patch", "configmap", "awaited", "--type=merge", "-p", '{"data":{"a":"1"}}');
    expect(await waiting).toBe("configmap/awaited condition met\n");
    expect(await kubectl.ok("wait", "--for=jsonpath={.data.a}=1", "configmap/awaited", "--timeout=40s")).toBe(
      "configmap/awaited condition met\n",
    );
    const vain = await kubectl("wait", "--for=jsonpath={.data.a}=2", "configmap/awaited", "--timeout=0s");
    expect(vain.code).toBe(1);
  });
});
