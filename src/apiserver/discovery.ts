import { createHash } from "node:crypto";
import { apiVersionOf } from "../apimachinery/object.ts";
import { grouped } from "../serializer/openapi/operations.ts";
import { kindOf, type Resource, type Subresource, type Verb } from "../apis/resource.ts";

/** All discovery documents for one set of resources, as objects to encode. Pure; created again when the set changes. */
export interface Discovery {
  readonly versions: object;
  readonly groups: object;
  /** By group name. */
  readonly group: ReadonlyMap<string, object>;
  /** By apiVersion. */
  readonly resources: ReadonlyMap<string, object>;
  /** Aggregated, for `/api` and `/apis`. */
  readonly aggregated: { readonly core: readonly object[]; readonly named: readonly object[] };
}

/** Derives discovery from the resources served. Source: apiserver pkg/endpoints/discovery. */
export function discoveryOf(resources: readonly Resource[], serverAddress: string): Discovery {
  const sorted = resources.toSorted((a, b) => (a.plural < b.plural ? -1 : 1));
  const byGroup = grouped(sorted, ({ group }) => group);
  const named = [...byGroup.keys()].filter((group) => group !== "").sort();
  const group = new Map(named.map((name) => [name, apiGroup(name, versionsOf(byGroup.get(name) ?? []))]));
  const byVersion = grouped(sorted, (resource) => apiVersionOf(resource.group, resource.version));
  return {
    versions: {
      kind: "APIVersions",
      versions: ["v1"],
      serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress }],
    },
    groups: { kind: "APIGroupList", apiVersion: "v1", groups: [...group.values()] },
    group: new Map([...group].map(([name, value]) => [name, { kind: "APIGroup", apiVersion: "v1", ...value }])),
    resources: new Map([...byVersion].map(([version, list]) => [version, resourceList(version, list)])),
    aggregated: {
      core: byGroup.has("") ? [aggregatedGroup("", byGroup.get("") ?? [])] : [],
      named: named.map((name) => aggregatedGroup(name, byGroup.get(name) ?? [])),
    },
  };
}

/** The aggregated list around its items. */
export function aggregatedList(items: readonly object[], version: "v2" | "v2beta1"): object {
  return { kind: "APIGroupDiscoveryList", apiVersion: `apidiscovery.k8s.io/${version}`, metadata: {}, items };
}

/** GA before beta before alpha, higher numbers first, anything else after, by name. Source: apimachinery pkg/version. */
function compareVersions(a: string, b: string): number {
  const [left, right] = [versionRank(a), versionRank(b)];
  for (let i = 0; i < 3; i += 1) {
    const difference = (right[i] ?? 0) - (left[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return a < b ? -1 : a > b ? 1 : 0;
}

function versionRank(version: string): readonly number[] {
  const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version);
  if (match === null) return [0, 0, 0];
  const stage = match[2] === undefined ? 3 : match[2] === "beta" ? 2 : 1;
  return [stage, Number(match[1]), Number(match[3] ?? 0)];
}

function versionsOf(resources: readonly Resource[]): readonly string[] {
  return [...new Set(resources.map((resource) => resource.version))].sort(compareVersions);
}

function apiGroup(name: string, versions: readonly string[]): object {
  const entries = versions.map((version) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions: entries, preferredVersion: entries[0] };
}

function resourceList(groupVersion: string, resources: readonly Resource[]): object {
  return {
    kind: "APIResourceList",
    apiVersion: "v1",
    groupVersion,
    resources: resources.flatMap((resource) => [
      {
        name: resource.plural,
        singularName: resource.singular,
        namespaced: resource.scope === "Namespaced",
        kind: resource.kind,
        verbs: verbsOf(resource),
        ...otherNames(resource),
        storageVersionHash: storageVersionHash(resource),
      },
      ...Object.entries(resource.subresources).map(([name, subresource]) => ({
        name: `${resource.plural}/${name}`,
        singularName: "",
        namespaced: resource.scope === "Namespaced",
        ...subresourceKind(resource, subresource),
        verbs: subresource.verbs,
      })),
    ]),
  };
}

function otherNames({ shortNames, categories }: Resource): object {
  return {
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
  };
}

function storageVersionHash({ group, version, kind, custom }: Resource): string {
  const apiVersion = custom?.storage.apiVersion ?? `${group}/${version}`;
  return createHash("sha256").update(`${apiVersion}/${kind}`).digest().subarray(0, 8).toString("base64");
}

function aggregatedGroup(name: string, resources: readonly Resource[]): object {
  return {
    metadata: name === "" ? {} : { name },
    versions: versionsOf(resources).map((version) => ({
      version,
      freshness: "Current",
      resources: resources.filter((resource) => resource.version === version).map(aggregatedResource),
    })),
  };
}

function subresourceKind(resource: Resource, subresource: Subresource): object {
  const kind = kindOf(resource, subresource);
  // As kube-apiserver, which names the group version only where it differs.
  const isOfSame = kind.group === resource.group && kind.version === resource.version;
  return isOfSame ? { kind: kind.kind } : responseKindOf(kind);
}

/** A kind whose definition is being deleted can still be read and deleted. */
function verbsOf({ custom, verbs }: Resource): readonly Verb[] {
  return custom?.terminating === true ? verbs.filter((verb) => !writing.has(verb)) : verbs;
}

const writing: ReadonlySet<Verb> = new Set(["create", "patch", "update"]);

function responseKindOf({ group, version, kind }: Resource): object {
  return { group, version, kind };
}

function aggregatedResource(resource: Resource): object {
  const subresources = Object.entries(resource.subresources).map(([name, subresource]) => ({
    subresource: name,
    responseKind: responseKindOf(kindOf(resource, subresource)),
    verbs: subresource.verbs,
  }));
  return {
    resource: resource.plural,
    responseKind: responseKindOf(resource),
    scope: resource.scope,
    singularResource: resource.singular,
    verbs: verbsOf(resource),
    ...otherNames(resource),
    ...(subresources.length === 0 ? {} : { subresources }),
  };
}
