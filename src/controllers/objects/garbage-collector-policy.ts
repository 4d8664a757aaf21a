import type { DeleteOptions } from "../../client/client.ts";
import type { OwnerReference } from "../../apimachinery/object.ts";

/** Finalizer of an owner that goes only after the dependents that block it. */
export const foregroundFinalizer = "foregroundDeletion";
/** Finalizer of an owner that lets its dependents live on without it. */
export const orphanFinalizer = "orphan";

/** What became of an owner: alive; gone for certain; waiting in the foreground for its dependents; or of a kind that we cannot look at. */
export type OwnerState = "alive" | "gone" | "waiting" | "unknown";

/** What happens to an object because of its owners. */
export type Collection =
  | { readonly kind: "keep" }
  /** Some owner lives: only these references stay. */
  | { readonly kind: "release"; readonly owners: readonly OwnerReference[] }
  | { readonly kind: "delete"; readonly propagation: NonNullable<DeleteOptions["propagationPolicy"]> };

/**
 * Decides over an object that is not being deleted. It goes only when every owner is certainly gone or going: an owner that cannot
 * be looked at keeps it alive. Source: Kubernetes pkg/controller/garbagecollector.
 */
export function collectionOf(
  owners: readonly { readonly reference: OwnerReference; readonly state: OwnerState }[],
  object: { readonly finalizers: readonly string[]; readonly hasDependents: boolean },
): Collection {
  if (owners.length === 0) return { kind: "keep" };
  const holding = owners.filter(({ state }) => state === "alive" || state === "unknown");
  if (holding.length === owners.length) return { kind: "keep" };
  if (holding.length > 0) return { kind: "release", owners: holding.map(({ reference }) => reference) };
  const waited = owners.some(({ state, reference }) => state === "waiting" && reference.blockOwnerDeletion === true);
  // An owner that waits for this object also waits for what hangs on it.
  if (waited && object.hasDependents) return { kind: "delete", propagation: "Foreground" };
  if (object.finalizers.includes(orphanFinalizer)) return { kind: "delete", propagation: "Orphan" };
  if (object.finalizers.includes(foregroundFinalizer)) return { kind: "delete", propagation: "Foreground" };
  return { kind: "delete", propagation: "Background" };
}

/** Which of our two finalizers an object that is being deleted waits for; orphaning comes first. */
export function pendingFinalizer(finalizers: readonly string[]): "orphan" | "foreground" | undefined {
  if (finalizers.includes(orphanFinalizer)) return "orphan";
  return finalizers.includes(foregroundFinalizer) ? "foreground" : undefined;
}
