import { describe, expect, it } from "vitest";
import { isClientKubelet, signerChecks, type CsrFacts } from "./signers.ts";
import { noSubjectAltNames, type SubjectAltNames } from "./subject-alt-name.ts";
import { knownUsages } from "./usages.ts";

const client = "kubernetes.io/kube-apiserver-client";
const kubelet = "kubernetes.io/kube-apiserver-client-kubelet";
const serving = "kubernetes.io/kubelet-serving";
const csr = (
  sans: Partial<SubjectAltNames> = {},
  commonName = "system:node:a",
  organizations = ["system:nodes"],
): CsrFacts => ({
  subject: { commonName, organizations },
  sans: { ...noSubjectAltNames, ...sans },
});
const check = (signer: string, facts: CsrFacts, usages: readonly string[]) => {
  const rule = signerChecks.get(signer);
  return rule === undefined ? "no such signer" : rule(facts, usages);
};
const clientUsages = ["digital signature", "client auth"];
const servingUsages = ["digital signature", "server auth"];
const all = { dns: ["a"], email: ["a@b"], ip: ["::1"], uri: ["x:y"] };

describe("kube-apiserver-client-kubelet", () => {
  it("accepts both sets of usages, in any order", () => {
    expect(check(kubelet, csr(), clientUsages)).toBeUndefined();
    expect(check(kubelet, csr(), ["client auth", "key encipherment", "digital signature"])).toBeUndefined();
  });

  it.each([
    [csr(all, "x", []), [], "subject organization is not system:nodes"],
    [
      csr({}, "system:node:a", ["system:nodes", "system:masters"]),
      clientUsages,
      "subject organization is not system:nodes",
    ],
    [
      csr({}, "system:node:a", ["system:nodes", "system:nodes"]),
      clientUsages,
      "subject organization is not system:nodes",
    ],
    [csr(all, "x"), [], "DNS subjectAltNames are not allowed"],
    [csr({ ...all, dns: [] }, "x"), [], "Email subjectAltNames are not allowed"],
    [csr({ ip: ["::1"], uri: ["x:y"] }, "x"), [], "IP subjectAltNames are not allowed"],
    [csr({ uri: ["x:y"] }, "x"), [], "URI subjectAltNames are not allowed"],
    [csr({}, "x"), [], "subject common name does not begin with system:node:"],
    [csr({}, "System:node:a"), clientUsages, "subject common name does not begin with system:node:"],
    [csr(), [], "usages did not match [client auth digital signature key encipherment]"],
    [csr(), ["client auth"], "usages did not match [client auth digital signature key encipherment]"],
    [csr(), [...clientUsages, "server auth"], "usages did not match [client auth digital signature key encipherment]"],
    [
      csr(),
      ["key encipherment", "client auth"],
      "usages did not match [client auth digital signature key encipherment]",
    ],
  ])("refuses in the order of Kubernetes (case %#)", (facts, usages, text) => {
    expect(check(kubelet, facts, usages)).toBe(text);
    expect(isClientKubelet(kubelet, facts, usages)).toBe(false);
  });

  it("is recognised under its own signer name only", () => {
    expect(isClientKubelet(kubelet, csr(), clientUsages)).toBe(true);
    expect(isClientKubelet(client, csr(), clientUsages)).toBe(false);
  });
});

describe("kubelet-serving", () => {
  it("accepts DNS or IP names and both sets of usages", () => {
    expect(check(serving, csr({ dns: ["a"] }), servingUsages)).toBeUndefined();
    expect(check(serving, csr({ ip: ["::1"] }), [...servingUsages, "key encipherment"])).toBeUndefined();
  });

  it.each([
    [csr({}, "x", ["other"]), [], "subject organization is not system:nodes"],
    [csr({ email: ["a@b"] }, "x"), [], "DNS or IP subjectAltName is required"],
    [csr(all, "x"), [], "Email subjectAltNames are not allowed"],
    [csr({ dns: ["a"], uri: ["x:y"] }, "x"), [], "URI subjectAltNames are not allowed"],
    [csr({ dns: ["a"] }, "x"), clientUsages, "usages did not match [digital signature key encipherment server auth]"],
    [csr({ dns: ["a"] }, "x"), servingUsages, "subject common name does not begin with system:node:"],
  ])("refuses in the order of Kubernetes (case %#)", (facts, usages, text) => {
    expect(check(serving, facts, usages)).toBe(text);
  });
});

describe("kube-apiserver-client", () => {
  it("accepts any subject and names with client auth", () => {
    expect(check(client, csr(all, "x", ["a", "b"]), ["client auth"])).toBeUndefined();
    expect(check(client, csr(), [...clientUsages, "key encipherment"])).toBeUndefined();
  });

  it("refuses without client auth and with anything else", () => {
    expect(check(client, csr(), ["digital signature"])).toBe(
      "missing required usage for client certificate: client auth",
    );
    expect(check(client, csr(), ["client auth", "cert sign"])).toBe("invalid usage for client certificate: cert sign");
  });
});

describe("the tables", () => {
  it("know three signers, and neither legacy-unknown nor inherited names", () => {
    expect([...signerChecks.keys()].sort()).toEqual([client, kubelet, serving]);
    expect(signerChecks.get("__proto__")).toBeUndefined();
  });

  it("know the 23 usages of the API", () => {
    expect(knownUsages()).toHaveLength(23);
    expect(new Set(knownUsages()).size).toBe(23);
  });
});
