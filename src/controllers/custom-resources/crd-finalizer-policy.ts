import { setCondition } from "../../apimachinery/conditions.ts";
import type { Condition } from "../../apimachinery/object.ts";
import type { CrdStatus, CustomResourceDefinition } from "../../apis/custom/crd-object.ts";
import { cleanupFinalizer } from "../../apis/custom/crd-object.ts";

/** Whether a definition is to go and still waits for its objects. */
export function awaitsCleanup({ metadata }: CustomResourceDefinition): boolean {
  return metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).includes(cleanupFinalizer);
}

/** What became of the objects of a definition that is to go. */
export type Cleanup =
  | { readonly kind: "waits" }
  | { readonly kind: "failed"; readonly why: string }
  | { readonly kind: "done" };

const conditions: Readonly<Record<Cleanup["kind"], (cleanup: Cleanup) => Omit<Condition, "type">>> = {
  waits: () => ({
    status: "True",
    reason: "InstanceDeletionInProgress",
    message: "CustomResource deletion is in progress",
  }),
  failed: (cleanup) => ({
    status: "True",
    reason: "InstanceDeletionFailed",
    message: `could not delete all instances: ${cleanup.kind === "failed" ? cleanup.why : ""}`,
  }),
  done: () => ({ status: "False", reason: "InstanceDeletionCompleted", message: "removed all instances" }),
};

/** The status that tells of the clean-up, or undefined when it does already. */
export function cleanupStatus(crd: CustomResourceDefinition, cleanup: Cleanup, now: string): CrdStatus | undefined {
  const before = crd.status?.conditions ?? [];
  const next = setCondition(before, { type: "Terminating", ...conditions[cleanup.kind](cleanup) }, now);
  return next === before ? undefined : { ...crd.status, conditions: next };
}

/** The definition without the finalizer that waits for its objects. */
export function released(crd: CustomResourceDefinition): CustomResourceDefinition {
  const { finalizers = [], ...metadata } = crd.metadata;
  return { ...crd, metadata: { ...metadata, finalizers: finalizers.filter((one) => one !== cleanupFinalizer) } };
}
