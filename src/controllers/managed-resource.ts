import type { ResourceRef } from "../client/client.ts";

/** A kind with the verbs that it is served with; every Resource is one. */
export interface ManagedResource extends ResourceRef {
  readonly verbs: readonly string[];
}

/** Whether objects of this kind can be followed, read and deleted one by one. */
export function isCollectable(resource: ManagedResource): boolean {
  return ["get", "list", "watch", "delete"].every((verb) => resource.verbs.includes(verb));
}
