import type { ResourceRef } from "../client/client.ts";

/** A kind with the verbs that it is served with; every Resource is one. */
export interface ManagedResource extends ResourceRef {
  readonly verbs: readonly string[];
}

/** Each kind once, whichever version of it comes first: its objects are the same in all. */
export function oneVersionEach<T extends ManagedResource>(resources: readonly T[]): readonly T[] {
  const seen = new Map<string, T>();
  for (const resource of resources) {
    const name = `${resource.plural}.${resource.group}`;
    if (!seen.has(name)) seen.set(name, resource);
  }
  return [...seen.values()];
}

/** Whether objects of this kind can be followed, read and deleted one by one. */
export function isCollectable(resource: ManagedResource): boolean {
  return ["get", "list", "watch", "delete"].every((verb) => resource.verbs.includes(verb));
}
