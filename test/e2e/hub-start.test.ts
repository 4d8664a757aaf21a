import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startHub } from "../../src/hub/hub.ts";
import type { HubOptions } from "../../src/hub/hub-options.ts";

let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pratique-start-"));
});

afterAll(async () => rm(folder, { recursive: true, force: true }));

function options(more: Partial<HubOptions>): HubOptions {
  return {
    dataDir: join(folder, "data"),
    bindAddress: "127.0.0.1",
    securePort: 0,
    tlsSans: [],
    authorizationModes: ["RBAC"],
    anonymousAuth: true,
    clusterSigningDurationSeconds: 86_400,
    nodeAutoapprove: false,
    maxRequestsInflight: 100,
    release: "0.0.0-test",
    log: () => {},
    ...more,
  };
}

async function refusal(more: Partial<HubOptions>): Promise<unknown> {
  return startHub(options(more)).then(
    async (hub) => hub.close(),
    (error: unknown) => error,
  );
}

describe("a hub that cannot start says which option is wrong", () => {
  it.each(["", "below"])("for a data directory that is a file, or lies below one: %j", async (below) => {
    const file = join(folder, "file");
    await writeFile(file, "kept");
    const dataDir = join(file, below);
    expect(await refusal({ dataDir })).toMatchObject({
      code: "options",
      message: `the data directory ${dataDir} is a file, or lies below one; choose another --data-dir`,
    });
  });

  it("for an address that is none of this machine", async () => {
    expect(await refusal({ bindAddress: "no-such-host.invalid" })).toMatchObject({
      code: "options",
      message: expect.stringMatching(/^--bind-address no-such-host\.invalid: must be an address of this machine, or 0/),
    });
  });
});
