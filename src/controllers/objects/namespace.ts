import { sameUid } from "../object-status.ts";
import type { ControllerOptions } from "../shared-informers.ts";
import type { Backoff } from "../../client/backoff.ts";
import type { Client } from "../../client/client.ts";
import { keyOf } from "../../client/paths.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import type { ApiObject, Condition, ObjectKey } from "../../apimachinery/object.ts";
import { qualified } from "../../apimachinery/status.ts";
import { hasReason, ignoreReasons } from "../../client/api-errors.ts";
import { type Controller, type Outcome, done } from "../controller.ts";
import { type ManagedResource, namespaces, oneVersionEach } from "../kinds.ts";

const serviceAccount = "namespace-controller";

export interface NamespaceOptions extends ControllerOptions {
  /** All served kinds. */
  readonly resources: () => readonly ManagedResource[];
}

// Remaining objects wait for other finalizers, which take seconds rather than milliseconds; their removal causes no event here.
const backoff: Backoff = { initialMs: 100, maxMs: 60_000 };

/** Empties namespaces that are being deleted, reports what blocks them, and removes the finalizer when nothing is left. Source: Kubernetes pkg/controller/namespace. */
export function namespaceController(options: NamespaceOptions): Controller {
  const { clock } = options;
  const { client, reader } = options.informers.as(serviceAccount);
  const all = reader({ resource: namespaces });

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const namespace = all.get(key);
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

// Lists first: most kinds have no objects in most namespaces, and a read causes no write.
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
  await ignoreReasons(client.delete(resource, keyOf(object), sameUid(object)), "NotFound", "Conflict");
}

function remainderOf(resource: ManagedResource, left: readonly ApiObject[]): Remainder {
  const finalizers = new Map<string, number>();
  for (const name of left.flatMap((object) => object.metadata.finalizers ?? [])) {
    finalizers.set(name, (finalizers.get(name) ?? 0) + 1);
  }
  return { group: resource.group, plural: resource.plural, count: left.length, finalizers };
}

/** The remaining objects of one kind in a namespace that is being emptied. */
interface Remainder {
  readonly group: string;
  readonly plural: string;
  readonly count: number;
  /** Each finalizer with the number of objects that have it. */
  readonly finalizers: ReadonlyMap<string, number>;
}

/** The progress of emptying a namespace. */
interface Emptying {
  readonly remaining: readonly Remainder[];
  /** One line for each kind that could not be deleted or listed. */
  readonly failures: readonly string[];
}

const ourFinalizer = "kubernetes";

/** Whether a namespace waits for this controller: it is being deleted, and has the finalizer `kubernetes` in its spec. */
function awaitsFinalization(namespace: ApiObject): boolean {
  return namespace.metadata.deletionTimestamp !== undefined && finalizersOf(namespace).includes(ourFinalizer);
}

/** Whether nothing is left and every kind could be listed. */
function isEmptied(emptying: Emptying): boolean {
  return emptying.failures.length === 0 && emptying.remaining.every((one) => one.count === 0);
}

/** The namespace without the finalizer `kubernetes`, for its subresource `finalize`. */
function finalized(namespace: ApiObject): ApiObject {
  const finalizers = finalizersOf(namespace).filter((one) => one !== ourFinalizer);
  return { ...namespace, spec: { ...(namespace["spec"] as object), finalizers } };
}

/**
 * The namespace with conditions for what blocks its deletion, or undefined when nothing changes. `now` is an RFC 3339 time. Source of
 * names and wording: Kubernetes pkg/controller/namespace/deletion.
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

// `texts`: the reason with problems, the reason without, and the message without.
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
