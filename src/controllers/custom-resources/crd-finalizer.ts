import { changedConditions } from "../object-status.ts";
import type { ControllerOptions } from "../shared-informers.ts";
import type { Backoff } from "../../client/backoff.ts";
import type { Client, ResourceRef } from "../../client/client.ts";
import type { ObjectKey, Condition } from "../../apimachinery/object.ts";
import { cleanupFinalizer, type CustomResourceDefinition } from "../../apis/custom/crd-object.ts";
import { ignoreReasons } from "../../client/api-errors.ts";
import { done, type Controller, type Outcome, referenceTo } from "../controller.ts";
import { apiserverAccount, customResourceDefinitions, type ManagedResource } from "../kinds.ts";

export interface CrdFinalizerOptions extends ControllerOptions {
  /** The served custom kinds; never built-in kinds, whatever name a definition has. */
  readonly customKinds: () => readonly ManagedResource[];
}

// Remaining objects wait for finalizers of others, whose removal causes no event here.
const backoff: Backoff = { initialMs: 100, maxMs: 5_000 };

/**
 * Deletes the objects of definitions that are being deleted, and removes the finalizer when no object is left. Source:
 * apiextensions-apiserver pkg/controller/finalizer.
 */
export function crdFinalizer(options: CrdFinalizerOptions): Controller {
  const { client, reader } = options.informers.as(apiserverAccount);
  const definitions = reader({ resource: customResourceDefinitions });

  async function writeStatus(crd: CustomResourceDefinition, left: number | string): Promise<CustomResourceDefinition> {
    const conditions = changedConditions(crd, cleanupCondition(left), options.clock.now());
    if (conditions === undefined) return crd;
    const next = { ...crd, status: { ...crd.status, conditions } };
    return client.update(customResourceDefinitions, next, { subresource: "status" });
  }

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const known = definitions.get(key) as CustomResourceDefinition | undefined;
    if (known === undefined || !awaitsCleanup(known)) return done;
    return (await ignoreReasons(cleanUp(known), "NotFound")) ?? done;
  }

  async function cleanUp(known: CustomResourceDefinition): Promise<Outcome> {
    const { group, names } = known.spec;
    const kind = options.customKinds().find((one) => one.group === group && one.plural === names.plural);
    // A kind that was never served has no objects.
    const left = kind === undefined ? 0 : await emptied(client, kind);
    const reported = await writeStatus(known, left);
    if (left === 0) {
      await client.update(customResourceDefinitions, released(reported));
      return done;
    }
    if (typeof left === "number") return { kind: "retry", why: "objects of the kind are left" };
    const about = referenceTo(customResourceDefinitions, known);
    const because = { reason: "InstanceDeletionFailed", about, message: failureText(left) } as const;
    return { kind: "blocked", because, again: "paused" };
  }

  return {
    name: "crd-finalizer",
    serviceAccount: apiserverAccount,
    watches: [{ resource: customResourceDefinitions }],
    concurrency: 5,
    backoff,
    reconcile,
  };
}

/** How many objects are left after all were deleted, or why they cannot be deleted. */
async function emptied(client: Client, kind: ResourceRef): Promise<number | string> {
  try {
    const { items } = await client.list(kind);
    if (items.length === 0) return 0;
    const namespaces = new Set(items.map((object) => object.metadata.namespace ?? ""));
    for (const namespace of namespaces) {
      await client.deleteCollection(kind, namespace === "" ? {} : { namespace });
    }
    return (await client.list(kind)).items.length;
  } catch (error) {
    // Usually a missing conversion webhook.
    return error instanceof Error ? error.message : "unknown error";
  }
}

/** Whether a definition is being deleted and still waits for its objects. */
function awaitsCleanup({ metadata }: CustomResourceDefinition): boolean {
  return metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).includes(cleanupFinalizer);
}

/** The condition of a definition that is being deleted: its objects still exist, cannot be deleted for this reason, or are gone. */
function cleanupCondition(left: number | string): Condition {
  const type = "Terminating";
  if (left === 0) {
    return { type, status: "False", reason: "InstanceDeletionCompleted", message: "removed all instances" };
  }
  return typeof left === "number"
    ? {
        type,
        status: "True",
        reason: "InstanceDeletionInProgress",
        message: "CustomResource deletion is in progress",
      }
    : { type, status: "True", reason: "InstanceDeletionFailed", message: failureText(left) };
}

function failureText(why: string): string {
  return `could not delete all instances: ${why}`;
}

/** The definition without the finalizer that waits for its objects. */
function released(crd: CustomResourceDefinition): CustomResourceDefinition {
  const { finalizers = [], ...metadata } = crd.metadata;
  return { ...crd, metadata: { ...metadata, finalizers: finalizers.filter((one) => one !== cleanupFinalizer) } };
}
