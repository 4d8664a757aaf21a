import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { metricFamilies, type MetricFamily } from "../kits/metric-families.ts";
import { peerSuite } from "../kits/peers.ts";
import { kubePrograms, startKubernetes, type Kubernetes } from "../kits/peers-kube.ts";

const root = resolve(import.meta.dirname, "../..");
const fixture = resolve(root, "test/fixtures/kube-apiserver-1.36-metrics.json");
/** `RECORD_FIXTURES=1` writes the fixture anew; run `npm run format` after it. */
const isRecording = (process.env["RECORD_FIXTURES"] ?? "") !== "";

const current = ["../current/bin/kube-apiserver", "../current/bin/kube-controller-manager"] as const;

peerSuite([...kubePrograms, ...current], "the metrics of kube-apiserver 1.36", () => {
  let kubernetes: Kubernetes;
  let live: ReadonlyMap<string, MetricFamily>;

  const read = async (): Promise<typeof live> =>
    metricFamilies(await kubernetes.kubectl.ok("get", "--raw", "/metrics"));

  beforeAll(async () => {
    kubernetes = await startKubernetes(undefined, {}, {}, "current");
    const { kubectl } = kubernetes;
    await kubectl("create", "configmap", "a");
    await kubectl("get", "configmap", "a");
    await kubectl("delete", "configmap", "a");
    live = await read();
    if (isRecording) {
      const sorted = [...live].toSorted(([a], [b]) => (a < b ? -1 : 1));
      writeFileSync(fixture, `${JSON.stringify(Object.fromEntries(sorted), undefined, 2)}\n`);
    }
  }, 600_000);
  afterAll(() => kubernetes?.stop());

  const recorded = (): readonly (readonly [string, MetricFamily])[] =>
    Object.entries(JSON.parse(readFileSync(fixture, "utf8")) as Record<string, MetricFamily>);

  it("are those of the fixture that the hub is compared with", () => {
    // Some are shown only once something has happened.
    const both = recorded().filter(([name]) => live.get(name)?.labels !== undefined);
    expect(both.length).toBeGreaterThan(100);
    expect(both.map(([name]) => [name, live.get(name)])).toEqual(both);
  });

  it("hold all families that docs/metrics.md lists under their names and the fixture has", async () => {
    const names = new Set(recorded().map(([name]) => name));
    const page = readFileSync(resolve(root, "docs/metrics.md"), "utf8");
    const listed = [...page.matchAll(/^\| `([a-z_]+)` \|/gm)].map(([, name = ""]) => name);
    const shared = listed.filter((name) => names.has(name));
    expect(shared.length).toBeGreaterThan(15);
    await expect
      .poll(async () => {
        const families = await read();
        return shared.filter((name) => !families.has(name));
      })
      .toEqual([]);
  });
});
