import { describe, expect, it } from "vitest";
import { health, type HealthChecks } from "./health.ts";

const broken = async (): Promise<void> => {
  throw new TypeError("the store is closed");
};
const well = async (): Promise<void> => undefined;
const checks: HealthChecks = {
  healthz: [],
  livez: [{ name: "poststarthook/rbac/bootstrap-roles", check: well }],
  readyz: [
    { name: "etcd", check: broken },
    { name: "controllers", check: well },
  ],
};
const nosniff = { "x-content-type-options": "nosniff" };
const contentType = "text/plain; charset=utf-8";
const root = (query = ""): Parameters<typeof health>[1] => ({
  checks,
  query: new URLSearchParams(query),
  only: undefined,
});

describe("a health endpoint with a check that fails", () => {
  it("is 500 and says which check, without the reason", async () => {
    expect(await health("readyz", root())).toEqual({
      status: 500,
      contentType,
      headers: nosniff,
      body: "[+]ping ok\n[-]etcd failed: reason withheld\n[+]controllers ok\nreadyz check failed\n",
    });
  });

  it("is well without that check, and where only another is asked for", async () => {
    expect(await health("readyz", root("verbose&exclude=etcd"))).toMatchObject({
      status: 200,
      body: "[+]ping ok\n[+]etcd excluded: ok\n[+]controllers ok\nreadyz check passed\n",
    });
    const alone = { ...root(), only: "controllers" };
    expect(await health("readyz", alone)).toEqual({ status: 200, contentType, body: "ok" });
    expect(await health("readyz", { ...alone, only: "etcd" })).toEqual({
      status: 500,
      contentType,
      headers: nosniff,
      body: "internal server error: the store is closed\n",
    });
  });

  it("names those to exclude that do not exist, sorted and quoted, and only where it lists the checks", async () => {
    const unknown = "exclude=none&exclude=a%22b&exclude=";
    expect(await health("livez", root(`verbose=0&${unknown}`))).toMatchObject({
      status: 200,
      body: `[+]ping ok\n[+]poststarthook/rbac/bootstrap-roles ok\nwarn: some health checks cannot be excluded: no matches for "","a\\"b","none"\nlivez check passed\n`,
    });
    expect(await health("livez", root(unknown))).toMatchObject({ status: 200, body: "ok" });
  });
});

describe("the path of one check", () => {
  it("may have slashes", async () => {
    const reply = await health("livez", { ...root(), only: "poststarthook/rbac/bootstrap-roles" });
    expect(reply).toEqual({ status: 200, contentType, body: "ok" });
  });

  it.each(["etcd", "", "ping/", "poststarthook"])("is the plain 404 of Go where there is none: %j", async (only) => {
    expect(await health("livez", { ...root(), only })).toEqual({
      status: 404,
      contentType,
      headers: nosniff,
      body: "404 page not found\n",
    });
  });
});
