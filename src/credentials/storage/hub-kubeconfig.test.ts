import { expect, it } from "vitest";
import { hubKubeconfig } from "./hub-kubeconfig.ts";

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
