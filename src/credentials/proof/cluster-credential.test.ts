import { describe, expect, it } from "vitest";
import { createCsr, parseCsr } from "../../pki/csr.ts";
import { exportSec1Pem, generatePrivateKey } from "../../pki/keys.ts";
import { clientCertificate, testCa } from "../../../test/kits/fake-hub.ts";
import { ownClusterCertificate, readClusterCredential, hubKubeconfig } from "./cluster-credential.ts";
import type { CredentialFiles } from "../storage/klusterlet-store.ts";

const prefix = "system:open-cluster-management:";
const groups = [`${prefix}east`, `${prefix}managed-clusters`];
const key = generatePrivateKey();
const keyPem = exportSec1Pem(key);
const ca = testCa();
const now = Date.now();

function certificate(
  commonName = `${prefix}east:a1b2c`,
  organizations: readonly string[] = groups,
  validity: Parameters<typeof clientCertificate>[2] = {},
): string {
  return clientCertificate(ca, parseCsr(createCsr({ key, commonName, organizations })), validity);
}

function files(changes: Partial<CredentialFiles> = {}): CredentialFiles {
  return {
    kubeconfig: hubKubeconfig({ server: "https://hub:6443", caPem: ca.pem, entry: "hub" }),
    "tls.crt": certificate(),
    "tls.key": keyPem,
    "cluster-name": "east",
    "agent-name": "a1b2c",
    ...changes,
  };
}

describe("the credential that files hold", () => {
  it("is theirs where all five belong together", () => {
    expect(readClusterCredential(files())).toMatchObject({
      identity: { cluster: "east", agent: "a1b2c" },
      hub: { server: "https://hub:6443", caPem: ca.pem, entry: "hub" },
    });
  });

  it.each([
    ["the certificate of another key", { "tls.key": exportSec1Pem(generatePrivateKey()) }],
    ["another cluster's name", { "cluster-name": "eas" }],
    ["another agent's name", { "agent-name": "" }],
    ["a certificate that is none", { "tls.crt": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n" }],
    ["a kubeconfig that is none", { kubeconfig: "{" }],
    ["a kubeconfig without a server", { kubeconfig: "apiVersion: v1\n" }],
    ["a node's certificate", { "tls.crt": certificate("system:node:east", ["system:nodes"]) }],
  ] as const)("is none with %s", (_what, changes) => {
    expect(readClusterCredential(files(changes))).toBeUndefined();
  });

  it("is none where a file is missing", () => {
    const { "tls.key": _key, ...rest } = files();
    expect(readClusterCredential(rest)).toBeUndefined();
  });
});

describe("a certificate that a hub has issued", () => {
  const wanted = { keyPem, identity: { cluster: "east", agent: "a1b2c" }, now };

  it("is taken where it is for this agent, with the group of all clusters or without", () => {
    const pem = certificate();
    expect(ownClusterCertificate(pem, wanted).certificatePem).toBe(pem);
    expect(ownClusterCertificate(certificate(undefined, groups.slice(0, 1)), wanted).identity.agent).toBe("a1b2c");
  });

  it.each([
    ["another agent", certificate(`${prefix}east:zzzzz`)],
    ["a cluster whose name begins alike", certificate(`${prefix}east2:a1b2c`, [`${prefix}east2`])],
    ["one group more", certificate(undefined, [...groups, "system:masters"])],
    ["another cluster's group", certificate(undefined, [`${prefix}west`])],
    ["nothing that can be read", "certificate"],
  ])("is refused when it is for %s", (_what, pem) => {
    expect(() => ownClusterCertificate(pem, wanted)).toThrow(/does not accept/);
  });

  it("is refused for another key", () => {
    const other = { ...wanted, keyPem: exportSec1Pem(generatePrivateKey()) };
    expect(() => ownClusterCertificate(certificate(), other)).toThrow(/another key/);
  });

  it("names the clock when it has ended already", () => {
    const pem = certificate(undefined, groups, { fromMs: -7_200_000, toMs: -3_600_000 });
    expect(() => ownClusterCertificate(pem, wanted)).toThrow(/set the clock/);
  });
});

it("the kubeconfig of an agent is byte for byte what client-go 0.35 writes", () => {
  const text = hubKubeconfig({
    server: "https://hub.example:6443",
    caPem: "-----BEGIN CERTIFICATE-----\nabc\n",
    entry: "hub-1",
  });
  expect(text).toBe(`apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCmFiYwo=
    server: https://hub.example:6443
  name: hub-1
contexts:
- context:
    cluster: hub-1
    namespace: configuration
    user: default-auth
  name: default-context
current-context: default-context
kind: Config
users:
- name: default-auth
  user:
    client-certificate: tls.crt
    client-key: tls.key
`);
});

it("the kubeconfig of an agent is in lines that are never folded", () => {
  const text = hubKubeconfig({ server: "https://h:1", caPem: "x".repeat(9000), entry: "on" });
  expect(text.split("\n")).toHaveLength(20);
  expect(text).toContain('name: "on"');
});
