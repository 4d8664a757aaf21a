import type { ApiObject, Condition } from "../../apimachinery/object.ts";

/** What one kind still holds in a namespace that is being emptied. */
export interface Remainder {
  readonly group: string;
  readonly plural: string;
  readonly count: number;
  /** Each finalizer with how many of these objects carry it. */
  readonly finalizers: ReadonlyMap<string, number>;
}

/** How far the emptying has come. */
export interface Emptying {
  readonly remaining: readonly Remainder[];
  /** One line for each kind that could not be emptied or looked at. */
  readonly failures: readonly string[];
}

const ourFinalizer = "kubernetes";

/** Whether a namespace waits for us: it is being deleted, and our finalizer is still in its spec. */
export function awaitsFinalization(namespace: ApiObject): boolean {
  return namespace.metadata.deletionTimestamp !== undefined && finalizersOf(namespace).includes(ourFinalizer);
}

/** Whether nothing is left, as far as everything could be looked at. */
export function isEmptied(emptying: Emptying): boolean {
  return emptying.failures.length === 0 && emptying.remaining.every((one) => one.count === 0);
}

/** The namespace without our finalizer, for its subresource `finalize`. */
export function finalized(namespace: ApiObject): ApiObject {
  const finalizers = finalizersOf(namespace).filter((one) => one !== ourFinalizer);
  return { ...namespace, spec: { ...(namespace["spec"] as object), finalizers } };
}

/**
 * The namespace with conditions that say what holds it up, or undefined when it says so already. `now` is an RFC 3339 time.
 * Source of names and wording: Kubernetes pkg/controller/namespace/deletion.
 */
export function withConditions(namespace: ApiObject, emptying: Emptying, now: string): ApiObject | undefined {
  const status = (namespace["status"] ?? {}) as { readonly conditions?: readonly Condition[] };
  const present = status.conditions ?? [];
  const wanted = conditionsOf(emptying);
  const conditionFor = (one: Wanted): Condition | undefined =>
    present.find((old) => old.type === one.type && old.status === one.status && old.message === one.message);
  if (wanted.every((one) => conditionFor(one)?.reason === one.reason)) return undefined;
  const others = present.filter((old) => wanted.every((one) => one.type !== old.type));
  const next = wanted.map((one) => {
    const old = present.find((each) => each.type === one.type);
    const since = old?.status === one.status ? (old.lastTransitionTime ?? now) : now;
    return { ...one, lastTransitionTime: since };
  });
  return { ...namespace, status: { ...status, conditions: [...others, ...next] } };
}

type Wanted = Required<Pick<Condition, "type" | "status" | "reason" | "message">>;

function conditionsOf(emptying: Emptying): readonly Wanted[] {
  const kept = emptying.remaining.filter((one) => one.count > 0);
  const contents = kept.map((one) => `${one.plural}.${one.group} has ${one.count} resource instances`);
  const finalizers = [...totals(kept)].map(([name, count]) => `${name} in ${count} resource instances`);
  return [
    condition("NamespaceDeletionDiscoveryFailure", "", [
      "",
      "ResourcesDiscovered",
      "All resources successfully discovered",
    ]),
    condition("NamespaceDeletionGroupVersionParsingFailure", "", [
      "",
      "ParsedGroupVersions",
      "All legacy kube types successfully parsed",
    ]),
    condition(
      "NamespaceDeletionContentFailure",
      emptying.failures.length === 0
        ? ""
        : `Failed to delete all resource types, ${emptying.failures.length} remaining: ${emptying.failures.join(", ")}`,
      ["ContentDeletionFailed", "ContentDeleted", "All content successfully deleted, may be waiting on finalization"],
    ),
    condition(
      "NamespaceContentRemaining",
      contents.length === 0 ? "" : `Some resources are remaining: ${contents.toSorted().join(", ")}`,
      ["SomeResourcesRemain", "ContentRemoved", "All content successfully removed"],
    ),
    condition(
      "NamespaceFinalizersRemaining",
      finalizers.length === 0
        ? ""
        : `Some content in the namespace has finalizers remaining: ${finalizers.toSorted().join(", ")}`,
      ["SomeFinalizersRemain", "ContentHasNoFinalizers", "All content-preserving finalizers finished"],
    ),
  ];
}

// `texts`: the reason when there is trouble, the reason when there is none, and the message when there is none.
function condition(type: string, trouble: string, texts: readonly [string, string, string]): Wanted {
  const [bad, good, message] = texts;
  return trouble === ""
    ? { type, status: "False", reason: good, message }
    : { type, status: "True", reason: bad, message: trouble };
}

function totals(kept: readonly Remainder[]): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const one of kept) for (const [name, count] of one.finalizers) sums.set(name, (sums.get(name) ?? 0) + count);
  return sums;
}

function finalizersOf(namespace: ApiObject): readonly string[] {
  return ((namespace["spec"] ?? {}) as { readonly finalizers?: readonly string[] }).finalizers ?? [];
}
