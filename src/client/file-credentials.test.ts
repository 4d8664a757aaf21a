import { describe, expect, it } from "vitest";
import { fakeClock } from "../../test/kits/fake-clock.ts";
import { fileCredentials } from "./file-credentials.ts";
import type { ResolvedKubeconfig } from "./resolve-kubeconfig.ts";

const config: ResolvedKubeconfig = {
  context: "c",
  server: "https://hub.example",
  namespace: "default",
  insecureSkipTlsVerify: false,
  token: "first",
};

function world(files: Record<string, string>): Parameters<typeof fileCredentials>[1] & {
  readonly clock: ReturnType<typeof fakeClock>;
} {
  return {
    clock: fakeClock(),
    readFile: async (path) => {
      const text = files[path];
      if (text === undefined) throw Object.assign(new Error("ENOENT"), { code: "ENOENT" });
      return Buffer.from(text);
    },
  };
}

describe("credentials of files", () => {
  it("are none where the kubeconfig names no file", () => {
    expect(fileCredentials(config, world({}))).toBeUndefined();
  });

  it("are read again after a minute, and not before", async () => {
    const files = { "/token": "second\n" };
    const io = world(files);
    const credentials = fileCredentials({ ...config, tokenFile: "/token" }, io);
    expect(await credentials?.()).toEqual({ token: "first" });
    await io.clock.advance(59_999);
    expect(await credentials?.()).toEqual({ token: "first" });
    await io.clock.advance(1);
    expect(await credentials?.()).toEqual({ token: "second" });
    files["/token"] = "third";
    expect(await credentials?.()).toEqual({ token: "second" });
  });

  it("bring certificate and key together", async () => {
    const io = world({ "/c": "CERT", "/k": "KEY" });
    const credentials = fileCredentials({ ...config, clientCertFile: "/c", clientKeyFile: "/k" }, io);
    await io.clock.advance(60_000);
    expect(await credentials?.()).toEqual({ token: "first", clientCertPem: "CERT", clientKeyPem: "KEY" });
  });

  it.each([
    ["is gone", {}],
    ["is empty", { "/token": "\n" }],
    ["holds two lines", { "/token": "a\r\nx-remote-user: admin" }],
  ])("stay as they were when the file %s", async (_what, files) => {
    const io = world(files);
    const credentials = fileCredentials({ ...config, tokenFile: "/token" }, io);
    await io.clock.advance(60_000);
    expect(await credentials?.()).toEqual({ token: "first" });
  });
});
