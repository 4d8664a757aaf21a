import { describe, expect, it } from "vitest";
import { bootstrapKubeconfig } from "../../client/build-kubeconfig.ts";
import { testCa } from "../../../test/kits/fake-hub.ts";
import { fakeClock } from "../../../test/kits/fake-clock.ts";
import type { Clock } from "../../apimachinery/clock.ts";
import { hubKubeconfig } from "../../credentials/proof/cluster-credential.ts";
import { readBootstrapHub, withLearned, type ReadFile } from "./bootstrap-hub.ts";

const ca = testCa().pem;
const good = bootstrapKubeconfig({ server: "https://hub:6443", ca: { pem: ca }, token: "abcdef.0123456789abcdef" });
const clock = fakeClock();
const holding = (text: string): { readonly readFile: ReadFile; readonly clock: Clock } => ({
  clock,
  readFile: async () => Buffer.from(text),
});

describe("a bootstrap kubeconfig", () => {
  it("names hub, CA, cluster entry and credential", async () => {
    const hub = await readBootstrapHub("/f", holding(good));
    expect(await hub.identity.credentials()).toEqual({ token: "abcdef.0123456789abcdef" });
    expect(hub).toMatchObject({
      file: "/f",
      server: "https://hub:6443",
      caPem: ca,
      entry: "kubernetes",
    });
  });

  it("is of another hub where address, CA or entry name differ, and not where the token does", async () => {
    const origin = async (text: string): Promise<string> => (await readBootstrapHub("/f", holding(text))).origin;
    const first = await origin(good);
    expect(await origin(good.replace("abcdef.", "fedcba."))).toBe(first);
    const others = [good.replace("hub:6443", "hub:6444"), good.replaceAll("kubernetes", "rebuilt")];
    for (const other of others) expect(await origin(other)).not.toBe(first);
    const other = bootstrapKubeconfig({ server: "https://hub:6443", ca: { pem: testCa().pem }, token: "a.b" });
    expect(await origin(other)).not.toBe(first);
  });

  it("may name a way to the hub, which the agent's own kubeconfig names as well, and a program for the credential", async () => {
    const text = good
      .replace("      server:", "      proxy-url: http://p\n      tls-server-name: x\n      server:")
      .replace(/token: .*/, "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: get-token}");
    const hub = await readBootstrapHub("/f", holding(text));
    expect(hub).toMatchObject({ proxyUrl: "http://p", tlsServerName: "x" });
    expect(hubKubeconfig(hub)).toMatch(/proxy-url: http:\/\/p\n +server: .*\n +tls-server-name: x\n/);
  });

  it.each([
    ["no credential", good.replace(/token: .*/, "username: ''"), /holds no credentials/],
    [
      "a hub that nobody vouches for",
      good.replace(/certificate-authority-data: .*/, "insecure-skip-tls-verify: true"),
      /insecure-skip-tls-verify/,
    ],
    ["no YAML", "{", /\/f/],
  ])("is refused with %s", async (_what, text, why) => {
    await expect(readBootstrapHub("/f", holding(text))).rejects.toMatchObject({
      code: "bad-discovery-file",
      message: expect.stringMatching(why) as unknown,
    });
  });

  it("that cannot be read is named", async () => {
    const missing: ReadFile = async () => {
      throw Object.assign(new Error("no"), { code: "ENOENT" });
    };
    await expect(readBootstrapHub("/f", { readFile: missing, clock })).rejects.toMatchObject({
      message: "/f does not exist: check the path",
    });
  });

  it("counts with what was learned of its hub since, and of no other", async () => {
    const hub = await readBootstrapHub("/f", holding(good));
    const learned = { origin: hub.origin, server: "https://new:1", caPem: "new" };
    expect(withLearned(hub, learned)).toEqual({ ...hub, server: "https://new:1", caPem: "new" });
    expect(withLearned(hub, { ...learned, origin: "another" })).toBe(hub);
    expect(withLearned(hub, undefined)).toBe(hub);
  });
});
