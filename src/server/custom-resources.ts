import { jsonEqual } from "../apimachinery/equal.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { objectOf } from "../registry/entry.ts";
import { customKinds, type CustomKindOptions } from "../apis/custom/custom-kind.ts";
import { type CustomResourceDefinition, isDefinition, isEstablished } from "../apis/custom/crd-object.ts";
import { storagePrefix, type Resource } from "../apis/resource.ts";
import type { CacheEvent, WatchCache } from "../storage/watch-cache.ts";

export interface CustomResourcesOptions {
  readonly cache: WatchCache;
  /** The kinds that no definition can replace. */
  readonly builtin: readonly Resource[];
  /** Returns the converter that calls the conversion webhook of a definition. */
  readonly converter: (crd: CustomResourceDefinition) => CustomKindOptions["convert"];
  readonly failed: (name: string, error: unknown) => void;
}

/** The served kinds, kept up to date with the definitions. */
export interface CustomResources {
  /** Built-in and custom kinds; a new array after each change. */
  resources(): readonly Resource[];
  /** Aborts when a custom kind is no longer served, or is served from another definition; undefined for built-in kinds. */
  lifeOf(resource: Resource): AbortSignal | undefined;
  /** Calls `listener` after each change of the kinds. */
  onChange(listener: () => void): void;
}

/** What one definition has added. */
interface Added {
  readonly crd: CustomResourceDefinition;
  readonly since: number;
  readonly kinds: readonly Resource[];
  /** Aborts when the spec behind the kinds changes, so that watchers list again. */
  readonly life: AbortController;
}

/** Follows the definitions in the cache: a kind is served, or no longer served, before the write of its definition is acknowledged. */
export function customResources(options: CustomResourcesOptions): CustomResources {
  const { cache, builtin, failed } = options;
  const added = new Map<string, Added>();
  const lifetimes = new WeakMap<Resource, AbortSignal>();
  const listeners: (() => void)[] = [];
  const taken = new Set(builtin.map(storagePrefix));
  let all = builtin;

  function apply({ type, entry }: CacheEvent): void {
    const before = added.get(entry.key);
    const crd = type === "DELETED" ? undefined : servedIn(objectOf(entry));
    if (crd === undefined) {
      if (before !== undefined) replace(entry.key, before, undefined);
      return;
    }
    const kept = before !== undefined && isSameKind(before.crd, crd) ? before : undefined;
    if (kept !== undefined && isTerminating(kept.crd) === isTerminating(crd)) return;
    // Objects written since the last change of the spec were written under it.
    const { since, life } = kept ?? { since: entry.revision, life: new AbortController() };
    const kinds = customKinds(crd, { since, convert: options.converter(crd) });
    replace(entry.key, before, { crd, since, kinds, life });
  }

  function servedIn(object: ApiObject): CustomResourceDefinition | undefined {
    return isDefinition(object) && isServed(object) ? object : undefined;
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
    // The start of a deletion increments the generation without changing the spec.
    (one.metadata.generation === other.metadata.generation || jsonEqual(one.spec, other.spec)) &&
    jsonEqual(one.status?.acceptedNames, other.status?.acceptedNames)
  );
}

function isTerminating({ metadata }: CustomResourceDefinition): boolean {
  return metadata.deletionTimestamp !== undefined;
}
