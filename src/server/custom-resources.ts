import { jsonEqual } from "../apimachinery/equal.ts";
import { objectOf } from "../registry/entry.ts";
import { customKinds, type CustomKindOptions } from "../apis/custom/custom-kind.ts";
import { type CustomResourceDefinition, isDefinition, isEstablished } from "../apis/custom/crd-object.ts";
import { storagePrefix, type Resource } from "../apis/resource.ts";
import type { CacheEvent, WatchCache } from "../storage/watch-cache.ts";

export interface CustomResourcesOptions {
  readonly cache: WatchCache;
  /** The kinds that no definition can take the place of. */
  readonly builtin: readonly Resource[];
  /** Makes what asks the conversion webhook of a definition. */
  readonly converter: (crd: CustomResourceDefinition) => CustomKindOptions["convert"];
  readonly failed: (name: string, error: unknown) => void;
}

/** The kinds that are served, as definitions come and go. */
export interface CustomResources {
  /** Built-in and custom kinds; another array whenever they change. */
  resources(): readonly Resource[];
  /** Aborts when a custom kind is served no more, or from another definition; undefined for built-in kinds. */
  lifeOf(resource: Resource): AbortSignal | undefined;
  /** Calls `listener` after each change of the kinds. */
  onChange(listener: () => void): void;
}

/** What one definition has added. */
interface Added {
  readonly crd: CustomResourceDefinition;
  readonly since: number;
  readonly kinds: readonly Resource[];
  /** Ends with the specification that the kinds were made from, so that whoever watches begins anew. */
  readonly life: AbortController;
}

/** Follows the definitions in the cache: a kind is there, or gone, before the write that makes it so is acknowledged. */
export function customResources(options: CustomResourcesOptions): CustomResources {
  const { cache, builtin, failed } = options;
  const added = new Map<string, Added>();
  const lifetimes = new WeakMap<Resource, AbortSignal>();
  const listeners: (() => void)[] = [];
  const taken = new Set(builtin.map(storagePrefix));
  let all = builtin;

  function apply({ type, entry }: CacheEvent): void {
    const before = added.get(entry.key);
    const object = objectOf(entry);
    const crd = type !== "DELETED" && isDefinition(object) && isServed(object) ? object : undefined;
    if (crd === undefined) {
      if (before !== undefined) replace(entry.key, before, undefined);
      return;
    }
    const kept = before !== undefined && isSameKind(before.crd, crd) ? before : undefined;
    if (kept !== undefined && isTerminating(kept.crd) === isTerminating(crd)) return;
    // What was written since the last change of the specification was written under it.
    const { since, life } = kept ?? { since: entry.revision, life: new AbortController() };
    const kinds = customKinds(crd, { since, convert: options.converter(crd) });
    replace(entry.key, before, { crd, since, kinds, life });
  }

  function isServed(crd: CustomResourceDefinition): boolean {
    const { group, names } = crd.spec;
    return isEstablished(crd) && !taken.has(storagePrefix({ group, plural: names.plural }));
  }

  function replace(key: string, before: Added | undefined, after: Added | undefined): void {
    if (after === undefined) added.delete(key);
    else {
      added.set(key, after);
      for (const kind of after.kinds) lifetimes.set(kind, after.life.signal);
    }
    all = [...builtin, ...[...added.values()].flatMap(({ kinds }) => kinds)];
    if (before !== undefined && before.life !== after?.life) before.life.abort();
    for (const listener of listeners) listener();
  }

  cache.observe(storagePrefix({ group: "apiextensions.k8s.io", plural: "customresourcedefinitions" }), (event) => {
    try {
      apply(event);
    } catch (error) {
      failed(event.entry.key, error);
    }
  });
  return {
    resources: () => all,
    lifeOf: (resource) => lifetimes.get(resource),
    onChange: (listener) => void listeners.push(listener),
  };
}

function isSameKind(one: CustomResourceDefinition, other: CustomResourceDefinition): boolean {
  return (
    one.metadata.uid === other.metadata.uid &&
    // A deletion that begins counts the generation on, and changes nothing of the specification.
    (one.metadata.generation === other.metadata.generation || jsonEqual(one.spec, other.spec)) &&
    jsonEqual(one.status?.acceptedNames, other.status?.acceptedNames)
  );
}

function isTerminating({ metadata }: CustomResourceDefinition): boolean {
  return metadata.deletionTimestamp !== undefined;
}
