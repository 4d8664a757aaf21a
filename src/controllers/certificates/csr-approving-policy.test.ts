import { isUndecided, type CsrView } from "./csr-view.ts";
import { describe, expect, test } from "vitest";
import type { Condition } from "../../apimachinery/object.ts";
import { noSubjectAltNames } from "../../pki/subject-alt-name.ts";
import type { CsrFacts } from "../../pki/signers.ts";
import { accessReviewOf, isAllowed, recognisersOf } from "./csr-approving-policy.ts";

const kubelet = "kubernetes.io/kube-apiserver-client-kubelet";
const facts: CsrFacts = {
  subject: { commonName: "system:node:one", organizations: ["system:nodes"] },
  sans: noSubjectAltNames,
};
const base: CsrView = {
  signerName: kubelet,
  request: "",
  usages: ["digital signature", "client auth"],
  expirationSeconds: undefined,
  requester: { username: "system:bootstrap:abcdef", groups: ["system:bootstrappers"] },
  conditions: [],
  certificate: "",
};

describe("recognisersOf", () => {
  test.each<[string, CsrView, CsrFacts, readonly string[]]>([
    ["a token's request for a node", base, facts, ["nodeclient"]],
    ["key encipherment too", { ...base, usages: [...base.usages, "key encipherment"] }, facts, ["nodeclient"]],
    [
      "a node's request for itself, its own permission first",
      { ...base, requester: { username: "system:node:one", groups: ["system:nodes"] } },
      facts,
      ["selfnodeclient", "nodeclient"],
    ],
    [
      "a node's request for another node",
      { ...base, requester: { username: "system:node:two", groups: ["system:nodes"] } },
      facts,
      ["nodeclient"],
    ],
    ["another signer", { ...base, signerName: "kubernetes.io/kubelet-serving" }, facts, []],
    ["a prefix of the signer", { ...base, signerName: "kubernetes.io/kube-apiserver-client" }, facts, []],
    ["a usage too many", { ...base, usages: [...base.usages, "server auth"] }, facts, []],
    ["no usages", { ...base, usages: [] }, facts, []],
    ["another organization", base, { ...facts, subject: { ...facts.subject, organizations: ["system:masters"] } }, []],
    [
      "an organization too many",
      base,
      { ...facts, subject: { ...facts.subject, organizations: ["system:nodes", "system:masters"] } },
      [],
    ],
    ["a common name that is no node", base, { ...facts, subject: { ...facts.subject, commonName: "admin" } }, []],
    ["an alternative name", base, { ...facts, sans: { ...noSubjectAltNames, dns: ["hub"] } }, []],
  ])("knows %s", (_, csr, of, expected) => {
    expect(recognisersOf(csr, of).map((one) => one.access.subresource)).toEqual(expected);
  });
});

describe("isUndecided", () => {
  const decided = (type: string): Condition => ({ type, status: "True" });
  test.each<[string, Partial<CsrView>, boolean]>([
    ["nothing said", {}, true],
    ["Approved", { conditions: [decided("Approved")] }, false],
    ["Denied", { conditions: [decided("Denied")] }, false],
    ["a certificate", { certificate: "x" }, false],
    ["another condition", { conditions: [decided("Odd")] }, true],
  ])("with %s", (_, part, expected) => {
    expect(isUndecided({ ...base, ...part })).toBe(expected);
  });
});

describe("accessReviewOf", () => {
  test("asks for the requester as the server recorded it, without version, namespace and name", () => {
    const requester = { username: "u", uid: "1", groups: ["g"], extra: { k: ["v"] } };
    const [recogniser] = recognisersOf({ ...base, requester }, facts);
    if (recogniser === undefined) throw new TypeError("not recognised");
    expect(accessReviewOf({ ...base, requester }, recogniser.access)["spec"]).toEqual({
      user: "u",
      uid: "1",
      groups: ["g"],
      extra: { k: ["v"] },
      resourceAttributes: {
        group: "certificates.k8s.io",
        resource: "certificatesigningrequests",
        verb: "create",
        subresource: "nodeclient",
      },
    });
  });
});

describe("isAllowed", () => {
  const review = (status: unknown): boolean => isAllowed({ apiVersion: "", kind: "", metadata: {}, status });
  test("takes only a plain yes for one", () => {
    expect(review({ allowed: true })).toBe(true);
    for (const status of [
      undefined,
      {},
      { allowed: "true" },
      { allowed: 1 },
      { allowed: false },
      { allowed: true, denied: true },
    ]) {
      expect(review(status)).toBe(false);
    }
  });
});
