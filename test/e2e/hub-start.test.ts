import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startHub } from "../../src/server/hub.ts";
import type { HubOptions } from "../../src/server/hub-options.ts";
import { reportSkip } from "../kits/report-skip.ts";

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
      message: `the hub cannot make the data directory ${dataDir.replace(/\/$/, "")}: ${file} exists and is not a directory; give a path with --data-dir where this account may make a directory`,
    });
  });

  it.each([
    ["nowhere", "/below", "leads to a path that does not exist"],
    ["nowhere", "", "leads to a path that does not exist"],
    ["link", "", "leads back to itself"],
  ])("for a data directory that is or lies below a symbolic link to %s: %j", async (target, below, why) => {
    const link = join(await mkdtemp(join(folder, "links-")), "link");
    await symlink(join(dirname(link), target), link);
    expect(await refusal({ dataDir: link + below })).toMatchObject({
      code: "data-dir",
      message: `the hub cannot make the data directory ${link}${below}: the symbolic link ${link} ${why}; correct the link, or give another path with --data-dir`,
    });
  });

  if (process.platform !== "linux")
    reportSkip("for a data directory in /proc, where nothing can be made", "only Linux has /proc", "linux");
  it.runIf(process.platform === "linux")("for a data directory in /proc, where nothing can be made", async () => {
    const dataDir = relative(process.cwd(), "/proc/pratique/data");
    expect(await refusal({ dataDir })).toMatchObject({
      code: "data-dir",
      message:
        "the hub cannot make the data directory /proc/pratique/data: the file system of /proc/pratique, such as /proc, does not allow new directories there; give a path with --data-dir where this account may make a directory",
    });
  });

  it("for an address that is none of this machine", async () => {
    expect(await refusal({ bindAddress: "no-such-host.invalid" })).toMatchObject({
      code: "options",
      message: expect.stringMatching(/^--bind-address no-such-host\.invalid: must be an address of this machine, or 0/),
    });
  });
});
