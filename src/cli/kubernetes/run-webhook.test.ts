import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { memoryApi } from "../../../test/kits/memory-api.ts";
import { fakeClock, settled } from "../../../test/kits/fake-clock.ts";
import { fakeIo, kubeconfigText, runLine } from "../../../test/kits/fake-io.ts";
import type { Client } from "../../client/client.ts";
import { valueAt } from "../../apis/json-fields.ts";

let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "pratique-webhook-"));
});

afterAll(() => rm(dir, { recursive: true, force: true }));

async function run(...words: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const io = fakeIo({ clock: fakeClock(Date.now()) });
  return { code: await runLine(["webhook", ...words], io), out: io.out(), err: io.err() };
}

function bundles(out: string): readonly string[] {
  return parseAllDocuments(out).flatMap((document) =>
    (valueAt(document.toJS(), "webhooks") as readonly object[]).map((hook) =>
      Buffer.from(String(valueAt(hook, "clientConfig", "caBundle")), "base64").toString(),
    ),
  );
}

describe("pratique webhook --print-configuration", () => {
  it("makes a CA once, keeps it to itself, and prints it", async () => {
    const words = ["--url=https://10.0.0.5:8443", `--cert-dir=${join(dir, "made")}`, "--print-configuration"];
    const [first, second] = [await run(...words), await run(...words)];
    expect([first.code, first.err]).toEqual([0, ""]);
    expect(second.out).toBe(first.out);
    const [pem = "", ...others] = bundles(first.out);
    expect(new Set([pem, ...others]).size).toBe(1);
    expect(new X509Certificate(pem).ca).toBe(true);
    expect(first.out).toContain("url: https://10.0.0.5:8443/validate");
    expect(first.out).not.toContain("PRIVATE KEY");
    const keyFile = (await readdir(join(dir, "made"))).find((file) => file.endsWith(".key")) ?? "";
    expect((await stat(join(dir, "made", keyFile))).mode & 0o077).toBe(0);
    expect(await readFile(join(dir, "made", "ca.crt"), "utf8")).toBe(pem);
  });

  it("asks about the inventory of nodes where it is told to", async () => {
    const words = ["--url=https://10.0.0.5:8443", `--cert-dir=${join(dir, "inventory")}`, "--print-configuration"];
    expect((await run(...words)).out).not.toContain("configmaps");
    expect((await run(...words, "--node-inventory")).out).toContain("- configmaps");
  });

  it("names the Service where there is no URL", async () => {
    const { out } = await run(
      "--service=elsewhere/hook",
      `--cert-dir=${join(dir, "service")}`,
      "--print-configuration",
    );
    expect(out).toMatch(/service:\s+namespace: elsewhere\s+name: hook\s+path: \/mutate/);
  });

  it("prints the definition that it converts as well, with its CA", async () => {
    const words = ["--url=https://10.0.0.5:8443", `--cert-dir=${join(dir, "converted")}`, "--print-configuration"];
    const { code, out } = await run(...words, "--managed-clusters", "--older-add-ons");
    const pem = await readFile(join(dir, "converted", "ca.crt"), "utf8");
    const definition: unknown = parseAllDocuments(out).at(-1)?.toJS();
    expect([code, valueAt(definition, "kind")]).toEqual([0, "CustomResourceDefinition"]);
    expect(valueAt(definition, "spec", "conversion", "webhook", "clientConfig")).toEqual({
      url: "https://10.0.0.5:8443/convert",
      caBundle: Buffer.from(pem).toString("base64"),
    });
  });

  it.each([
    ["--older-add-ons"],
    ["--tls-cert-file=a.crt"],
    ["--tls-private-key-file=a.key"],
    ["--service=only"],
    ["--service=a/b/c"],
    ["--url=http://10.0.0.5"],
  ])("refuses %s", async (...words) => {
    const { code, out } = await run(...words, `--cert-dir=${join(dir, "never")}`, "--print-configuration");
    expect([code, out]).toEqual([2, ""]);
    await expect(stat(join(dir, "never"))).rejects.toThrow("ENOENT");
  });
});

describe("pratique webhook that cannot serve", () => {
  it("watches nothing any longer, and says so of nothing but the port", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    try {
      const { port } = taken.address() as AddressInfo;
      const clock = fakeClock(Date.now());
      const api = memoryApi({ clock });
      await run("--url=https://10.0.0.5:8443", `--cert-dir=${join(dir, "taken")}`, "--print-configuration");
      const pem = await readFile(join(dir, "taken", "ca.crt"), "utf8");
      const files = { "/home/ada/.kube/config": kubeconfigText("https://hub.example:6443", pem) };
      let open = 0;
      const watch: Client["watch"] = async function* watch(...asked) {
        open += 1;
        try {
          yield* api.client.watch(...asked);
        } finally {
          open -= 1;
        }
      } as Client["watch"];
      const io = fakeIo({ clock, client: { ...api.client, watch }, files });
      expect(await runLine(["webhook", `--cert-dir=${join(dir, "taken")}`, `--secure-port=${port}`], io)).toBe(1);
      const said = `error: 127.0.0.1:${port} is in use; choose another --secure-port, or 0 for a free one\n`;
      expect(io.err()).toContain(said);
      expect(io.err()).not.toContain("reason=WatchFailed");
      await settled();
      expect(open).toBe(0);
    } finally {
      taken.close();
    }
  });
});
