import type { Backoff } from "../../client/backoff.ts";
import type { Client } from "../../client/client.ts";
import { keyOf } from "../../client/object-key.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import type { Clock } from "../../apimachinery/clock.ts";
import type { ApiObject, ObjectKey } from "../../apimachinery/object.ts";
import { qualified } from "../../apimachinery/status.ts";
import { hasReason, ignoreReasons } from "../../client/api-errors.ts";
import { done } from "../controller.ts";
import type { Controller, Outcome } from "../controller.ts";
import { namespaces } from "../kinds.ts";
import { oneVersionEach, type ManagedResource } from "../managed-resource.ts";
import { awaitsFinalization, finalized, isEmptied, withConditions } from "./namespace-policy.ts";
import type { Emptying, Remainder } from "./namespace-policy.ts";
import type { SharedInformers } from "../shared-informers.ts";

const serviceAccount = "namespace-controller";

export interface NamespaceOptions {
  readonly informers: SharedInformers;
  /** Every kind that is served now. */
  readonly resources: () => readonly ManagedResource[];
  readonly clock: Clock;
}

// What is left waits for other finalizers, which take seconds rather than milliseconds; nothing tells when they are gone.
const backoff: Backoff = { initialMs: 100, maxMs: 60_000 };

/** Empties namespaces that are being deleted, tells what holds them up, and lets them go when nothing is left. Source: Kubernetes pkg/controller/namespace. */
export function namespaceController(options: NamespaceOptions): Controller {
  const { clock } = options;
  const { client, reader } = options.informers.as(serviceAccount);
  const homes = reader({ resource: namespaces });

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const namespace = homes.get(key);
    if (namespace === undefined || !awaitsFinalization(namespace)) return done;
    const emptying = await empty(client, key.name, options.resources());
    try {
      if (isEmptied(emptying)) {
        await client.update(namespaces, finalized(namespace), { subresource: "finalize" });
        return done;
      }
      const reported = withConditions(namespace, emptying, rfc3339(clock.now()));
      if (reported !== undefined) await client.update(namespaces, reported, { subresource: "status" });
    } catch (error) {
      if (hasReason(error, "NotFound")) return done;
      throw error;
    }
    const [failure] = emptying.failures;
    const why = failure === undefined ? "objects are left that wait for finalizers" : `cannot delete ${failure}`;
    return { kind: "retry", why: `the namespace is not empty yet: ${why}` };
  }

  return {
    name: "namespace",
    serviceAccount,
    watches: [{ resource: namespaces }],
    concurrency: 10,
    backoff,
    reconcile,
  };
}

async function empty(client: Client, namespace: string, resources: readonly ManagedResource[]): Promise<Emptying> {
  const remaining: Remainder[] = [];
  const failures: string[] = [];
  for (const resource of oneVersionEach(resources)) {
    if (resource.scope !== "Namespaced" || !resource.verbs.includes("list") || !resource.verbs.includes("delete"))
      continue;
    try {
      remaining.push(remainderOf(resource, await emptyOne(client, namespace, resource)));
    } catch (error) {
      const why = error instanceof Error ? error.message : "unknown error";
      failures.push(`${qualified(resource)}: ${why}`);
    }
  }
  return { remaining, failures };
}

// Looks first: most kinds have nothing in most namespaces, and a read costs no write.
async function emptyOne(client: Client, namespace: string, resource: ManagedResource): Promise<readonly ApiObject[]> {
  const { items } = await client.list(resource, { namespace });
  if (items.every((object) => object.metadata.deletionTimestamp !== undefined)) return items;
  if (resource.verbs.includes("deletecollection")) {
    await client.deleteCollection(resource, { namespace });
  } else {
    for (const object of items) await deleteOne(client, resource, object);
  }
  return (await client.list(resource, { namespace })).items;
}

async function deleteOne(client: Client, resource: ManagedResource, object: ApiObject): Promise<void> {
  const { uid } = object.metadata;
  const preconditions = uid === undefined ? {} : { preconditions: { uid } };
  await ignoreReasons(client.delete(resource, keyOf(object), preconditions), "NotFound", "Conflict");
}

function remainderOf(resource: ManagedResource, left: readonly ApiObject[]): Remainder {
  const finalizers = new Map<string, number>();
  for (const name of left.flatMap((object) => object.metadata.finalizers ?? [])) {
    finalizers.set(name, (finalizers.get(name) ?? 0) + 1);
  }
  return { group: resource.group, plural: resource.plural, count: left.length, finalizers };
}
