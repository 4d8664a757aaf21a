import type { Attributes } from "./authorizer.ts";

/** One request without the one who makes it. */
export type Ask = Omit<Attributes, "user">;

/** Where a component runs; on a hub its own controllers are let through by their roles, whatever the chain says. */
export type EssentialPlace = "hub" | "kubernetes";

/** Which objects a request is about. */
export interface AskedPlace {
  readonly namespace?: string;
  readonly name?: string;
  /** A field that must have this value. */
  readonly field?: readonly [key: string, value: string];
}

const nothing = { group: "", version: "", resource: "", subresource: "", namespace: "", name: "" };

/** Requests for `pods`, `apps/deployments` or `pods/status`, one for each verb; verbs are separated by spaces, groups have a dot or are apps, batch and the like. */
export function on(verbs: string, what: string, { namespace = "", name = "", field }: AskedPlace = {}): readonly Ask[] {
  const parts = what.split("/");
  const group = isGroup(parts[0] ?? "") ? (parts.shift() ?? "") : "";
  const [resource = "", subresource = ""] = parts;
  const selector =
    field === undefined ? {} : { fieldSelector: [{ key: field[0], operator: "In" as const, values: [field[1]] }] };
  const asked = { group, version: "v1", resource, subresource, namespace, name, path: undefined, ...selector };
  return verbs.split(" ").map((verb) => ({ verb, ...asked }));
}

/** The same verbs for several kinds, which are separated by spaces. */
export function under(verbs: string, kinds: string, place?: AskedPlace): readonly Ask[] {
  return kinds.split(" ").flatMap((what) => on(verbs, what, place));
}

/** Requests for paths, one for each. */
export function path(verb: string, ...paths: readonly string[]): readonly Ask[] {
  return paths.map((one) => ({ ...nothing, verb, path: one }));
}

/** Events, in a namespace. */
export function events(namespace: string): readonly Ask[] {
  return under("create patch", "events events.k8s.io/events", { namespace });
}

/** Asking the API who somebody is, and whether they may. */
export function reviews(): readonly Ask[] {
  return [
    ...on("create", "authentication.k8s.io/tokenreviews"),
    ...on("create", "authorization.k8s.io/subjectaccessreviews"),
  ];
}

function isGroup(word: string): boolean {
  return word.includes(".") || ["apps", "autoscaling", "batch", "policy"].includes(word);
}
