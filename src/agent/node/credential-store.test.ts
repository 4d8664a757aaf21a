import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { tokenFileKubeconfig } from "../../client/build-kubeconfig.ts";
import { testCa } from "../../../test/kits/fake-hub.ts";
import { unsignedToken } from "../../../test/kits/service-account-token.ts";
import { credentialStore } from "./credential-store.ts";
import { memoryFiles } from "../simulated/machine.ts";

describe("the store of a token", () => {
  test("reads the whole way to the hub: its proxy, and the name that its certificate is for", async () => {
    const files = memoryFiles();
    const dir = "/access";
    const way = { server: "https://hub.example:6443", proxyUrl: "http://proxy.example:3128", tlsServerName: "hub" };
    const kubeconfig = tokenFileKubeconfig({ ...way, ca: { pem: testCa().pem }, tokenFile: join(dir, "token") });
    await files.replaceFile(join(dir, "kubeconfig"), kubeconfig);
    await files.replaceFile(join(dir, "token"), unsignedToken());
    expect(await credentialStore({ kind: "token", dir }, files, undefined).read()).toMatchObject(way);
  });
});
