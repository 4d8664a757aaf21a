import { apiVersionOf, type ApiObject } from "../../apimachinery/object.ts";
import type { Resource } from "../../apis/resource.ts";

/** Whether an APIService is written at each start of the hub, for a built-in kind, or kept as definitions come and go. */
type Automanaged = "onstart" | "true";

/** Source: kube-aggregator pkg/controllers/autoregister. */
const managedLabel = "kube-aggregator.kubernetes.io/automanaged";

/** Group priority and version priority of the group versions of Kubernetes. Source: kubernetes pkg/controlplane/apiserver/aggregator.go. */
const priorities: ReadonlyMap<string, readonly [group: number, version: number]> = new Map([
  ["v1", [18_000, 1]],
  ["apps/v1", [17_800, 15]],
  ["events.k8s.io/v1", [17_750, 15]],
  ["authentication.k8s.io/v1", [17_700, 15]],
  ["authorization.k8s.io/v1", [17_600, 15]],
  ["certificates.k8s.io/v1", [17_300, 15]],
  ["policy/v1", [17_100, 15]],
  ["rbac.authorization.k8s.io/v1", [17_000, 15]],
  ["storage.k8s.io/v1", [16_800, 15]],
  ["admissionregistration.k8s.io/v1", [16_700, 15]],
  ["apiextensions.k8s.io/v1", [16_700, 15]],
  ["coordination.k8s.io/v1", [16_500, 15]],
  ["flowcontrol.apiserver.k8s.io/v1", [16_100, 21]],
]);

/** Of definitions, and of the hub's own groups. Source: kubernetes pkg/controlplane/controller/crdregistration. */
const otherPriority = [1_000, 100] as const;

/** The name of the APIService of a group version: `v1.` for the core group. */
export function apiServiceName({ group, version }: Pick<Resource, "group" | "version">): string {
  return `${version}.${group}`;
}

/**
 * The APIServices of the group versions of these resources, by name; the group of APIServices itself has none, as in Kubernetes. `now` is
 * an RFC 3339 time.
 */
export function apiServicesOf(resources: readonly Resource[], now: string): ReadonlyMap<string, ApiObject> {
  const found = new Map<string, ApiObject>();
  for (const resource of resources) {
    const name = apiServiceName(resource);
    if (resource.group === "apiregistration.k8s.io" || found.has(name)) continue;
    found.set(name, apiServiceOf(resource, resource.custom === undefined ? "onstart" : "true", now));
  }
  return found;
}

function apiServiceOf({ group, version }: Resource, managed: Automanaged, now: string): ApiObject {
  const [groupPriorityMinimum, versionPriority] = priorities.get(apiVersionOf(group, version)) ?? otherPriority;
  return {
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: { name: apiServiceName({ group, version }), labels: { [managedLabel]: managed } },
    spec: { ...(group === "" ? {} : { group }), version, groupPriorityMinimum, versionPriority },
    status: {
      conditions: [
        {
          type: "Available",
          status: "True",
          lastTransitionTime: now,
          reason: "Local",
          message: "Local APIServices are always available",
        },
      ],
    },
  };
}

/** How the APIService was made; undefined for one that nothing here made. */
export function automanagedOf(object: ApiObject): string | undefined {
  return object.metadata.labels?.[managedLabel];
}
