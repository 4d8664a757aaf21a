import type { ApiObject } from "../apimachinery/object.ts";
import { fieldListAt, stringAt, valueAt } from "./json-fields.ts";

/** The signer of the certificates of agents. */
export const clientSigner = "kubernetes.io/kube-apiserver-client";

/** Whether the hub side of an add-on, of either version, wants its agents to have a certificate for the API. */
export function wantsApiAccess(addOn: ApiObject): boolean {
  return fieldListAt(addOn, "status", "registrations").some(
    (one) =>
      stringAt(one, "signerName") === clientSigner ||
      valueAt(one, "kubeClient") !== undefined ||
      stringAt(one, "type").toLowerCase() === "kubeclient",
  );
}
