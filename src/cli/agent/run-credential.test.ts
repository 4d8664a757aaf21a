import { describe, expect, test } from "vitest";
import { credentialDigest } from "../../credentials/proof/credential-probe.ts";
import { certificateFolder } from "../../credentials/storage/certificate-folder.ts";
import { privateFiles } from "../../host/private-files.ts";
import { kubeletKubeconfig, tokenFileKubeconfig } from "../../client/build-kubeconfig.ts";
import { parseKubeconfig } from "../../client/kubeconfig.ts";
import { exportSec1Pem, generatePrivateKey, spkiOf } from "../../pki/keys.ts";
import { buildName } from "../../pki/names.ts";
import { clientCertificate, testCa } from "../../../test/kits/fake-hub.ts";
import { fakeClock } from "../../../test/kits/fake-clock.ts";
import { type FakeIo, fakeIo, runLine } from "../../../test/kits/fake-io.ts";
import { unsignedToken } from "../../../test/kits/service-account-token.ts";

const start = Math.floor(Date.now() / 1000) * 1000;
const minute = 60_000;
const server = "https://hub.example:6443";
const ca = testCa();
const key = generatePrivateKey();
const keyPem = exportSec1Pem(key);
const certPem = clientCertificate(
  ca,
  { rawSubject: buildName({ commonName: "system:node:n1", organizations: ["system:nodes"] }), spki: spkiOf(key) },
  { toMs: 60 * minute },
);
const token = unsignedToken({ issuedAt: start });

const access = {
  "/here/a/token": token,
  "/here/a/kubeconfig": tokenFileKubeconfig({ server, ca: { pem: ca.pem }, tokenFile: "/here/a/token" }),
};
const current = "/here/n/pki/kubelet-client-current.pem";
const node = {
  [current]: `${certPem}${keyPem}`,
  "/here/n/kubelet.conf": kubeletKubeconfig({ server, ca: { pem: ca.pem }, credentialFile: current }),
};

const nodeFolder = { certDir: "/here/n/pki", prefix: "kubelet-client" } as const;

function world(files: Readonly<Record<string, string>>, info?: unknown, now = start): FakeIo {
  const env = info === undefined ? {} : { KUBERNETES_EXEC_INFO: JSON.stringify(info) };
  return fakeIo({ files, env, clock: fakeClock(now) });
}

const info = { apiVersion: "client.authentication.k8s.io/v1", kind: "ExecCredential", spec: { interactive: false } };

describe("pratique credential", () => {
  test("gives certificate and key as they stand in the file, until they end", async () => {
    const io = world(node, info);
    expect(await runLine("credential --dir n", io)).toBe(0);
    const given = JSON.parse(io.out()) as { readonly status: { readonly expirationTimestamp: string } };
    expect(given).toMatchObject({
      apiVersion: "client.authentication.k8s.io/v1",
      kind: "ExecCredential",
      status: { clientCertificateData: certPem, clientKeyData: keyPem },
    });
    expect(Math.abs(Date.parse(given.status.expirationTimestamp) - start - 60 * minute)).toBeLessThan(minute);
  });

  test.each([
    ["a", access, { token }, "pratique request"],
    ["n", node, { clientCertPem: certPem, clientKeyPem: keyPem }, "pratique join --force"],
  ] as const)(
    "says of one in %s that the hub refuses it, and gives it all the same",
    async (dir, files, own, remedy) => {
      const since = "2026-11-21T00:10:00Z";
      const refusals = (credential: string): string =>
        JSON.stringify({ credential, count: 3, since, message: "401 Unauthorized" });
      const file =
        "token" in own ? "/here/a/refused.json" : certificateFolder(nodeFolder, privateFiles, undefined).refusals;
      const [refused, another] = [
        world({ ...files, [file]: refusals(credentialDigest(own)) }, info),
        world({ ...files, [file]: refusals("0".repeat(64)) }, info),
      ];
      for (const io of [refused, another]) expect(await runLine(`credential --dir ${dir}`, io)).toBe(0);
      expect(refused.out()).toBe(another.out());
      expect(another.err()).toBe("");
      expect(refused.err()).toMatch(
        /^warning: https:\/\/hub\.example:6443 has refused this credential since 2026-11-21T00:10:00Z \(401 Unauthorized\): see why on the hub/,
      );
      expect(refused.err()).toContain(remedy);
    },
  );

  test("gives a token, in the version that is asked for", async () => {
    const io = world(access, { ...info, apiVersion: "client.authentication.k8s.io/v1beta1" });
    expect(await runLine("credential --dir a", io)).toBe(0);
    expect(JSON.parse(io.out())).toMatchObject({
      apiVersion: "client.authentication.k8s.io/v1beta1",
      status: { token },
    });
  });

  test.each([
    ["shortly after the agent means to renew it", 45, 45.5],
    ["in a minute while the agent is late", -5, 1],
    ["at its end where that is sooner", 70, 60],
  ])("lets clients ask again %s", async (_title, nextMinutes, againMinutes) => {
    const iso = (at: number): string => new Date(at).toISOString().replace(".000", "");
    const state = {
      expiresAt: iso(start + 60 * minute),
      nextAt: iso(start + nextMinutes * minute),
      failures: 0,
      refused: false,
    };
    const io = world({ ...access, "/here/a/agent.json": JSON.stringify(state) }, info);
    expect(await runLine("credential --dir a", io)).toBe(0);
    expect(JSON.parse(io.out())).toMatchObject({
      status: { expirationTimestamp: iso(start + againMinutes * minute) },
    });
  });

  test("gives nothing that has expired", async () => {
    const io = world(access, info, start + 61 * minute);
    expect(await runLine("credential --dir a", io)).toBe(4);
    expect([io.out(), io.err()]).toEqual(["", expect.stringContaining("the credential in /here/a has expired")]);
  });

  test("gives nothing to a client that would send it elsewhere", async () => {
    for (const elsewhere of ["https://evil.example:6443", "https://hub.example:6444", "http://hub.example:6443", "x"]) {
      const io = world(access, { ...info, spec: { cluster: { server: elsewhere } } });
      expect([elsewhere, await runLine("credential --dir a", io), io.out()]).toEqual([elsewhere, 4, ""]);
    }
    const io = world(access, { ...info, spec: { cluster: { server: `${server}/` } } });
    expect(await runLine("credential --dir a", io)).toBe(0);
  });

  test.each(["nonsense", 7, null, { apiVersion: "client.authentication.k8s.io/v2" }, []])(
    "refuses a question that is none: %j",
    async (given) => {
      const io = world(access, given);
      expect(await runLine("credential --dir a", io)).toBe(2);
      expect(io.out()).toBe("");
    },
  );

  test("asks which where there are several, and takes the one of the kind", async () => {
    const both = { ...access, ...node };
    const io = world(both, info);
    expect(await runLine("credential --dir /here", io)).toBe(2);
    expect(io.err()).toContain("They are in /here/a, /here/n/pki.");
    const one = world(both, info);
    expect(await runLine("credential --dir /here --kind certificate", one)).toBe(0);
    expect(one.out()).toContain("clientKeyData");
    expect(await runLine("credential --dir a --kind certificate", world(both, info))).toBe(6);
  });

  test("prints a kubeconfig without a secret, which says how to call it", async () => {
    const io = world(node);
    expect(await runLine("credential --dir n --print-kubeconfig --command /opt/pratique", io)).toBe(0);
    expect(parseKubeconfig(io.out(), "k").clusters.get("pratique")?.texts.get("server")).toBe(server);
    expect(io.out()).toContain("command: /opt/pratique\n");
    expect(io.out()).toContain("provideClusterInfo: true\n");
    expect(io.out()).toMatch(/- credential\n +- --dir\n +- \/here\/n\/pki\n +- --kind\n +- certificate\n/);
    expect(io.out()).not.toMatch(/key-data|PRIVATE/);
  });

  test("names the file of the CA that the agent keeps, where there is one", async () => {
    const clusterOf = async (files: Readonly<Record<string, string>>): Promise<ReadonlyMap<string, string>> => {
      const io = world(files);
      expect(await runLine("credential --dir n --print-kubeconfig", io)).toBe(0);
      return parseKubeconfig(io.out(), "k").clusters.get("pratique")?.texts ?? new Map();
    };
    const kept = await clusterOf({ ...node, "/here/n/pki/ca.crt": ca.pem });
    expect(kept.get("certificate-authority")).toBe("/here/n/pki/ca.crt");
    expect(kept.has("certificate-authority-data")).toBe(false);
    for (const files of [node, { ...node, "/here/n/pki/ca.crt": "of something else" }]) {
      expect((await clusterOf(files)).has("certificate-authority-data")).toBe(true);
    }
  });
});
