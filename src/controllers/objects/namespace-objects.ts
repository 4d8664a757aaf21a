import type { ApiObject, ObjectKey } from "../../apimachinery/object.ts";
import { hasReason, isTerminating } from "../../client/api-errors.ts";
import type { ResourceRef } from "../../client/client.ts";
import { done, type Controller, type Outcome } from "../controller.ts";
import { configMaps, namespaces, serviceAccounts } from "../kinds.ts";
import type { ControllerOptions, Selection } from "../shared-informers.ts";

type InformersOnly = Pick<ControllerOptions, "informers">;

/** Maintains a ServiceAccount `default` in each namespace. Source: Kubernetes pkg/controller/serviceaccount. */
export function serviceAccountDefault({ informers }: InformersOnly): Controller {
  return inEachNamespace(informers, {
    controller: "service-account",
    serviceAccount: "service-account-controller",
    resource: serviceAccounts,
    object: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } },
    corrected: () => undefined,
  });
}

export interface RootCaPublisherOptions extends InformersOnly {
  /** The CA that clients in a namespace must trust. */
  readonly caPem: string;
}

/**
 * Maintains a ConfigMap with the CA of the hub in each namespace, and restores it when it is changed or removed. Source: Kubernetes
 * pkg/controller/certificates/rootcacertpublisher.
 */
export function rootCaPublisher({ informers, caPem }: RootCaPublisherOptions): Controller {
  const description = "The certificate authority with which clients verify the API server of this cluster.";
  const annotations = { "kubernetes.io/description": description };
  const data = { "ca.crt": caPem };
  return inEachNamespace(informers, {
    controller: "root-ca-certificate-publisher",
    serviceAccount: "root-ca-cert-publisher",
    resource: configMaps,
    object: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "kube-root-ca.crt", annotations }, data },
    corrected: (current) => (isRight(current, caPem) ? undefined : { ...current, data }),
  });
}

function isRight(current: ApiObject, caPem: string): boolean {
  const data = (current["data"] ?? {}) as Readonly<Record<string, unknown>>;
  return Object.keys(data).length === 1 && Object.hasOwn(data, "ca.crt") && data["ca.crt"] === caPem;
}

interface NamespaceObject {
  readonly controller: string;
  readonly serviceAccount: string;
  readonly resource: ResourceRef;
  /** As it is created in each namespace. */
  readonly object: ApiObject & { readonly metadata: { readonly name: string } };
  /** The replacement of an existing object, or undefined where it is correct. */
  readonly corrected: (current: ApiObject) => ApiObject | undefined;
}

/**
 * Whether the namespace or the object has changed since it was read; that change wakes the key again. A create has no version that could
 * conflict: there a 409 is the answer of an admission webhook, and is tried again.
 */
function isOvertaken(error: unknown, current: ApiObject | undefined): boolean {
  if (isTerminating(error) || hasReason(error, "AlreadyExists", "NotFound")) return true;
  return current !== undefined && hasReason(error, "Conflict");
}

/** A controller that maintains an object of one name in each namespace that is not being deleted. */
function inEachNamespace(informers: ControllerOptions["informers"], kept: NamespaceObject): Controller {
  const { serviceAccount, resource, object } = kept;
  const { name } = object.metadata;
  const selection: Selection = { resource, fieldSelector: `metadata.name=${name}` };
  const { client, reader } = informers.as(serviceAccount);
  const present = reader(selection);
  const all = reader({ resource: namespaces });

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const namespace = all.get({ name: key.namespace ?? "" });
    if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) return done;
    const current = present.get(key);
    const next = current === undefined ? undefined : kept.corrected(current);
    try {
      if (current === undefined) await client.create(resource, { ...object, metadata: { ...key, ...object.metadata } });
      else if (next !== undefined) await client.update(resource, next);
    } catch (error) {
      if (!isOvertaken(error, current)) throw error;
    }
    return done;
  }

  const ofNamespace = ({ metadata }: ApiObject): readonly ObjectKey[] => [{ namespace: metadata.name ?? "", name }];
  return {
    name: kept.controller,
    serviceAccount,
    watches: [selection, { resource: namespaces, keys: ofNamespace }],
    concurrency: 4,
    reconcile,
  };
}
