import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { secrets } from "../../controllers/kinds.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { readTokenSecret } from "../../trust/token-secret.ts";
import { memoryApi, type MemoryApi } from "../../../test/kits/memory-api.ts";
import { fakeClock } from "../../../test/kits/fake-clock.ts";
import { fakeIo, kubeconfigText, runLine, type FakeIo } from "../../../test/kits/fake-io.ts";

const ca = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
const replies = { "/apis/cluster.open-cluster-management.io/v1": { status: 200, body: "{}" } };

let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "pratique-token-"));
});

afterEach(async () => {
  await rm(dir, { recursive: true });
});

interface World {
  readonly api: MemoryApi;
  readonly io: FakeIo;
}

function world(allowed: (review: ApiObject) => boolean = () => true, caPem = ca): World {
  const clock = fakeClock();
  const reviews = {
    selfsubjectaccessreviews: (review: ApiObject): ApiObject => ({ ...review, status: { allowed: allowed(review) } }),
  };
  const api = memoryApi({ clock, reviews });
  const files = { "/home/ada/.kube/config": kubeconfigText("https://hub.example:6443", caPem) };
  return { api, io: fakeIo({ clock, client: api.client, files, replies, cwd: dir }) };
}

describe("pratique cluster token", () => {
  test("makes a token for one hour that may authenticate and is of the group of clusters, and no more", async () => {
    const { api, io } = world();
    expect(await runLine("cluster token", io)).toBe(0);
    const [secret] = api.all(secrets);
    const { usages, groups, expiration, id } = readTokenSecret(secret as ApiObject);
    expect({ usages, groups, expiration }).toEqual({
      usages: ["authentication"],
      groups: ["system:bootstrappers:managedcluster"],
      expiration: "2026-11-21T01:00:00Z",
    });
    expect(io.out()).toContain(`It is system:bootstrap:${id}, for 60m, until 2026-11-21T01:00:00Z.`);
    const path = join(dir, "bootstrap.kubeconfig");
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readFile(path, "utf8")).toContain("server: https://hub.example:6443");
    // Tried with what the spoke will have, and nothing else.
    expect(io.connections[1]).toMatchObject({ token: expect.stringContaining(`${id}.`) as string, caPem: ca });
    expect(io.connections[1]).not.toHaveProperty("clientCertPem");
  });

  test("says so where the identity may not do what it is for", async () => {
    const { io } = world((review) => !JSON.stringify(review).includes("certificatesigningrequests"));
    expect(await runLine("cluster token", io)).toBe(1);
    expect(io.err()).toContain("may not do what a cluster joins with: create certificatesigningrequests");
    expect(io.err()).toMatch(/To have it gone: pratique token delete [a-z0-9]{6}/);
  });

  const wrong: readonly (readonly [string, string, RegExp])[] = [
    ["a life that is too short", "--ttl 10s", /--ttl must be 60s or more/],
    ["a life that no token of an account has", "--identity service-account --ttl 5m", /--ttl must be 10m or more/],
    ["a pattern that is none", "--clusters a*b*", /--clusters "a\*b\*"/],
    ["an address without TLS", "--server http://hub.example", /must be a URL that begins with https/],
  ];
  test.each(wrong)("refuses %s, and makes nothing", async (_what, words, why) => {
    const { api, io } = world();
    expect(await runLine(`cluster token ${words}`, io)).toBe(2);
    expect(io.err()).toMatch(why);
    expect(api.writes).toEqual([]);
  });

  test.each([
    ["a folder that is not there", "none/east.kubeconfig"],
    ["a folder", "."],
  ])("makes no identity whose file would be in the place of %s", async (_what, file) => {
    const { api, io } = world();
    expect(await runLine(`cluster token --bootstrap-kubeconfig ${file}`, io)).toBe(2);
    expect(io.err()).toContain("; nothing was made");
    expect(api.writes).toEqual([]);
  });

  test("refuses to make a file without the CA of the hub", async () => {
    const { api, io } = world(undefined, "");
    expect(await runLine("cluster token", io)).toBe(2);
    expect(io.err()).toContain("your kubeconfig names no CA");
    expect(api.writes).toEqual([]);
  });
});
