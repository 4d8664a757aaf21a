import { describe, expect, it } from "vitest";
import { health, type HealthChecks } from "./health.ts";

const broken = async (): Promise<void> => {
  throw new TypeError("the store is closed");
};
const checks: HealthChecks = {
  healthz: [],
  livez: [],
  readyz: [
    { name: "store", check: broken },
    { name: "controllers", check: async () => undefined },
  ],
};

describe("a health endpoint with a check that fails", () => {
  it("is 500 and says which check, without the reason", async () => {
    const reply = await health("readyz", { checks, query: new URLSearchParams(), only: undefined });
    expect(reply).toMatchObject({
      status: 500,
      body: "[+]ping ok\n[-]store failed: reason withheld\n[+]controllers ok\nreadyz check failed\n",
    });
  });

  it("is well without that check, and where only another is asked for", async () => {
    const query = new URLSearchParams("verbose&exclude=store&exclude=none");
    expect(await health("readyz", { checks, query, only: undefined })).toMatchObject({
      status: 200,
      body: "[+]ping ok\n[+]store excluded: ok\n[+]controllers ok\nreadyz check passed\n",
    });
    const alone = { checks, query: new URLSearchParams(), only: "controllers" };
    expect(await health("readyz", alone)).toMatchObject({ status: 200, body: "ok" });
    expect(await health("readyz", { ...alone, only: "store" })).toMatchObject({
      status: 500,
      body: "internal server error: the store is closed\n",
    });
    expect(await health("livez", { ...alone, only: "store" })).toBeUndefined();
  });
});
