import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { kubeletKubeconfig } from "../../client/build-kubeconfig.ts";
import { findCredentials, type FolderView } from "./find-credentials.ts";
import { joinRecordText, readJoinRecord } from "../join/join-folder.ts";

const pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

function view(files: Readonly<Record<string, string>>): FolderView {
  return {
    list: async (path) => {
      const below = Object.keys(files).filter((file) => file.startsWith(`${path}/`));
      const names = below.map((file) => file.slice(path.length + 1).split("/"));
      return names.map(([name = "", ...more]) => ({ name, isFolder: more.length > 0 }));
    },
    text: async (path) => new Map(Object.entries(files)).get(path),
  };
}

const current = "kubelet-client-current.pem";

describe("what an agent finds", () => {
  test("is every token and every joined node up to two folders below, once each", async () => {
    const record = joinRecordText({ kubeconfig: "/d/n/kubelet.conf", serving: { names: [], addresses: [] } });
    const files = {
      "/d/token": "t",
      "/d/kubeconfig": "k",
      "/d/a/b/token": "t",
      "/d/a/b/kubeconfig": "k",
      "/d/a/b/c/token": "too deep",
      "/d/a/b/c/kubeconfig": "k",
      [`/d/n/pki/${current}`]: "",
      "/d/n/pki/pratique-join.json": record,
    };
    expect(await findCredentials(["/d", "/d/a"], view(files))).toEqual([
      { kind: "token", dir: "/d" },
      { kind: "token", dir: "/d/a/b" },
      { kind: "node", certDir: "/d/n/pki", kubeconfig: "/d/n/kubelet.conf", serving: { names: [], addresses: [] } },
      { kind: "token", dir: "/d/a/b/c" },
    ]);
  });

  test("is a node of an earlier release by the kubeconfig beside it, and no node of somebody else", async () => {
    const text = kubeletKubeconfig({ server: "https://h:1", ca: { pem }, credentialFile: `/d/pki/${current}` });
    const files = { "/d/kubelet.conf": text, [`/d/pki/${current}`]: "", [`/d/other/${current}`]: "" };
    expect(await findCredentials(["/d"], view(files))).toEqual([
      { kind: "node", certDir: "/d/pki", kubeconfig: "/d/kubelet.conf" },
    ]);
  });

  test("is told where it is nothing", async () => {
    await expect(findCredentials(["/d", "/e"], view({ "/d/kubelet.conf": "{" }))).rejects.toMatchObject({
      code: "no-access",
      message: expect.stringContaining("/d or /e"),
    });
  });

  test("is bounded, however many folders there are", async () => {
    let looked = 0;
    const endless: FolderView = {
      list: async () => {
        looked += 1;
        return Array.from({ length: 100 }, (_, at) => ({ name: `f${at}`, isFolder: true }));
      },
      text: async () => undefined,
    };
    await expect(findCredentials(["/d"], endless)).rejects.toMatchObject({ code: "no-access" });
    expect(looked).toBeLessThanOrEqual(500);
  });
});

describe("the record of a join", () => {
  test("says afterwards what was written", () => {
    const record = { kubeconfig: "/k", serving: { names: ["n"], addresses: ["10.0.0.1"] } };
    expect(readJoinRecord(joinRecordText(record))).toEqual(record);
    expect(readJoinRecord(joinRecordText({ kubeconfig: "/k" }))).toEqual({ kubeconfig: "/k" });
  });

  test("is none where it names no absolute path, and any text is read without a failure", () => {
    expect(readJoinRecord('{"kubeconfig":"k"}')).toBeUndefined();
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        const record = readJoinRecord(text);
        expect(record === undefined || record.kubeconfig.startsWith("/")).toBe(true);
      }),
    );
  });
});
