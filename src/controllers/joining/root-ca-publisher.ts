import type { ApiObject, ObjectKey } from "../../apimachinery/object.ts";
import { hasReason, isTerminating } from "../../client/api-errors.ts";
import { done } from "../controller.ts";
import type { Controller, Outcome } from "../controller.ts";
import { configMaps, namespaces } from "../kinds.ts";
import type { Selection, SharedInformers } from "../shared-informers.ts";

const name = "kube-root-ca.crt";

/** The ConfigMaps `kube-root-ca.crt` of all namespaces. */
const rootCaSelection: Selection = { resource: configMaps, fieldSelector: `metadata.name=${name}` };

const serviceAccount = "root-ca-cert-publisher";

export interface RootCaPublisherOptions {
  readonly informers: SharedInformers;
  /** The CA that clients in a namespace must trust. */
  readonly caPem: string;
}

/** Keeps the hub's CA in a ConfigMap of each namespace, and restores it when it is changed or removed. Source: Kubernetes pkg/controller/certificates/rootcacertpublisher. */
export function rootCaPublisher(options: RootCaPublisherOptions): Controller {
  const { caPem } = options;
  const { client, reader } = options.informers.as(serviceAccount);
  const published = reader(rootCaSelection);
  const homes = reader({ resource: namespaces });

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const home = homes.get({ name: key.namespace ?? "" });
    if (home === undefined || home.metadata.deletionTimestamp !== undefined) return done;
    const current = published.get(key);
    try {
      if (current === undefined) await client.create(configMaps, configMap(key, caPem));
      else if (!isRight(current, caPem)) await client.update(configMaps, { ...current, data: { "ca.crt": caPem } });
    } catch (error) {
      if (!hasReason(error, "AlreadyExists", "NotFound", "Conflict") && !isTerminating(error)) throw error;
    }
    return done;
  }

  return {
    name: "root-ca-certificate-publisher",
    serviceAccount,
    watches: [
      rootCaSelection,
      { resource: namespaces, keys: (object) => [{ namespace: object.metadata.name ?? "", name }] },
    ],
    concurrency: 4,
    reconcile,
  };
}

function isRight(current: ApiObject, caPem: string): boolean {
  const data = (current["data"] ?? {}) as Readonly<Record<string, unknown>>;
  return Object.keys(data).length === 1 && Object.hasOwn(data, "ca.crt") && data["ca.crt"] === caPem;
}

function configMap(key: ObjectKey, caPem: string): ApiObject {
  const annotations = {
    "kubernetes.io/description": "The certificate authority with which clients verify the API server of this cluster.",
  };
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { ...key, annotations },
    data: { "ca.crt": caPem },
  };
}
