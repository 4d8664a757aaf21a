import { describe, expect, test } from "vitest";
import type { Condition } from "../../apimachinery/object.ts";
import { noSubjectAltNames } from "../../pki/subject-alt-name.ts";
import { awaitsSigning, refusalOf } from "./csr-signing.ts";
import type { CsrView } from "./csr-view.ts";

const signer = "kubernetes.io/kube-apiserver-client-kubelet";
const is = (type: string, status: Condition["status"] = "True"): Condition => ({ type, status });
const csr: CsrView = {
  signerName: signer,
  request: "",
  usages: ["digital signature", "client auth"],
  expirationSeconds: undefined,
  requester: { username: "", groups: [] },
  conditions: [is("Approved")],
  certificate: "",
};

describe("awaitsSigning", () => {
  test.each<[string, Partial<CsrView>, boolean]>([
    ["approved", {}, true],
    ["not approved", { conditions: [] }, false],
    ["approved with status Unknown", { conditions: [is("Approved", "Unknown")] }, false],
    ["approved and denied", { conditions: [is("Approved"), is("Denied")] }, false],
    ["approved and failed", { conditions: [is("Approved"), is("Failed")] }, false],
    ["already issued", { certificate: "x" }, false],
    ["another's signer", { signerName: "example.com/own" }, false],
  ])("when %s", (_, part, expected) => {
    expect(awaitsSigning({ ...csr, ...part }, new Set([signer]))).toBe(expected);
  });
});

describe("refusalOf", () => {
  const subject = { commonName: "system:node:a", organizations: ["system:nodes"] };

  test("lets the shape of the signer pass", () => {
    expect(refusalOf(csr, { subject, sans: noSubjectAltNames })).toBeUndefined();
  });

  test("fails any other with the rule it breaks", () => {
    expect(refusalOf(csr, { subject: { ...subject, organizations: [] }, sans: noSubjectAltNames })).toEqual({
      type: "Failed",
      status: "True",
      reason: "SignerValidationFailure",
      message: "subject organization is not system:nodes",
    });
  });

  test("refuses a signer that it knows no shape of", () => {
    const odd = { ...csr, signerName: "example.com/own" };
    expect(refusalOf(odd, { subject, sans: noSubjectAltNames })?.type).toBe("Failed");
  });
});
