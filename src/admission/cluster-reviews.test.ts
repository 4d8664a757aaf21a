import { expect, test } from "vitest";
import type { JsonObject } from "../apimachinery/json-value.ts";
import type { AccessCheck } from "./admission.ts";
import { clusterAddOnAdmission } from "./required-rights.ts";
import { clusterReviews } from "./cluster-reviews.ts";

const group = "addon.open-cluster-management.io";
const asks = { v1alpha1: { signerName: "kubernetes.io/kube-apiserver-client" }, v1beta1: { type: "kubeClient" } };

/** The answer to a write of an add-on's status by somebody who may approve or not. */
async function answer(version: "v1alpha1" | "v1beta1", mayApprove: boolean, before: object = {}): Promise<JsonObject> {
  const may: AccessCheck = async () => ({ allowed: mayApprove, reason: "" });
  const object = { apiVersion: `${group}/${version}`, kind: "ManagedClusterAddOn", metadata: { name: "metrics" } };
  const review = {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      uid: "u",
      kind: { group, version, kind: "ManagedClusterAddOn" },
      resource: { group, version, resource: "managedclusteraddons" },
      subResource: "status",
      operation: "UPDATE",
      namespace: "prod2",
      name: "metrics",
      userInfo: { username: "agent" },
      object: { ...object, status: { registrations: [asks[version]] } },
      oldObject: { ...object, ...before },
    },
  };
  const reviewed = await clusterReviews([clusterAddOnAdmission(may)])("validating", review);
  return reviewed["response"] as JsonObject;
}

test.each(["v1alpha1", "v1beta1"] as const)(
  "registering an add-on for the API takes the right to approve what it is then given: %s",
  async (version) => {
    expect(await answer(version, false)).toMatchObject({
      allowed: false,
      status: {
        code: 403,
        message: expect.stringContaining('verb "approve" on signers.certificates.k8s.io') as string,
      },
    });
    expect(await answer(version, true)).toMatchObject({ allowed: true });
    const registered = { status: { registrations: [asks[version]] } };
    expect(await answer(version, false, registered)).toMatchObject({ allowed: true });
  },
);
