import { describe, expect, it } from "vitest";
import { fakeClock } from "../../test/kits/fake-clock.ts";
import { health, type HealthChecks } from "../apiserver/health.ts";
import { healthChecks, type HealthParts } from "./health-checks.ts";

const broken = async (): Promise<never> => {
  throw new TypeError("the store is closed");
};
const writable = { refusal: undefined } as ReturnType<HealthParts["store"]["condition"]>;
const well: HealthParts = {
  store: { currentRevision: async () => 1, condition: () => writable },
  cache: { list: () => [] },
  verbs: { resources: () => [] },
  clock: fakeClock(),
  shutdown: new AbortController().signal,
  isReady: () => true,
};

/** The checks that fail at an endpoint. */
async function failures(
  endpoint: keyof HealthChecks,
  parts: Partial<HealthParts>,
  problem?: string,
): Promise<readonly string[]> {
  const checks = healthChecks({ ...well, ...parts }, { problem: () => problem });
  const query = new URLSearchParams("verbose");
  const reply = await health(endpoint, { checks, query, only: undefined });
  return Array.from((reply.body as string).matchAll(/^\[-\](\S+) failed: reason withheld$/gm), ([, name = ""]) => name);
}

describe("a hub", () => {
  it("that is well fails none", async () => {
    for (const endpoint of ["healthz", "livez", "readyz"] as const) expect(await failures(endpoint, {})).toEqual([]);
  });

  it("whose store cannot be read is not alive, which is told as etcd", async () => {
    const store = { ...well.store, currentRevision: broken };
    expect(await failures("livez", { store })).toEqual(["etcd"]);
    expect(await failures("healthz", { store })).toEqual(["etcd"]);
    expect(await failures("readyz", { store })).toEqual(["etcd", "etcd-readiness"]);
  });

  it("that starts or stops is alive and not ready", async () => {
    const starting = { isReady: () => false };
    expect(await failures("livez", starting)).toEqual([]);
    expect(await failures("readyz", starting)).toEqual(["controllers"]);
    const stopping = { shutdown: AbortSignal.abort() };
    expect(await failures("livez", stopping)).toEqual([]);
    expect(await failures("readyz", stopping)).toEqual(["shutdown"]);
  });

  it("that cannot serve writes or whose certificate clients refuse is alive and not ready", async () => {
    const refusal = new TypeError("full") as unknown as NonNullable<typeof writable.refusal>;
    const store = { ...well.store, condition: () => ({ ...writable, refusal }) };
    expect(await failures("livez", { store })).toEqual([]);
    expect(await failures("readyz", { store })).toEqual(["store-writes"]);
    expect(await failures("readyz", {}, "expired")).toEqual(["serving-certificate"]);
  });
});
