import type { ObjectKey } from "../../apimachinery/object.ts";
import { hasReason, isTerminating } from "../../client/api-errors.ts";
import { done } from "../controller.ts";
import type { Controller, Outcome } from "../controller.ts";
import { namespaces, serviceAccounts } from "../kinds.ts";
import type { Selection, SharedInformers } from "../shared-informers.ts";

const name = "default";

/** The ServiceAccounts `default` of all namespaces. */
const defaultAccountSelection: Selection = { resource: serviceAccounts, fieldSelector: `metadata.name=${name}` };

const serviceAccount = "service-account-controller";

export interface ServiceAccountDefaultOptions {
  readonly informers: SharedInformers;
}

/** Keeps a ServiceAccount `default` in each namespace. Source: Kubernetes pkg/controller/serviceaccount. */
export function serviceAccountDefault(options: ServiceAccountDefaultOptions): Controller {
  const { client, reader } = options.informers.as(serviceAccount);
  const accounts = reader(defaultAccountSelection);
  const homes = reader({ resource: namespaces });

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const home = homes.get({ name: key.namespace ?? "" });
    if (home === undefined || home.metadata.deletionTimestamp !== undefined) return done;
    if (accounts.get(key) !== undefined) return done;
    try {
      await client.create(serviceAccounts, { apiVersion: "v1", kind: "ServiceAccount", metadata: { ...key } });
    } catch (error) {
      if (!hasReason(error, "AlreadyExists", "NotFound") && !isTerminating(error)) throw error;
    }
    return done;
  }

  return {
    name: "service-account",
    serviceAccount,
    watches: [
      defaultAccountSelection,
      { resource: namespaces, keys: (object) => [{ namespace: object.metadata.name ?? "", name }] },
    ],
    concurrency: 4,
    reconcile,
  };
}
