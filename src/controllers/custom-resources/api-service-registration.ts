import type { ControllerOptions } from "../shared-informers.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import { type ApiObject, type ObjectKey, apiVersionOf } from "../../apimachinery/object.ts";
import { isSameJson, fieldListAt, stringAt } from "../../apis/json-fields.ts";
import type { Resource } from "../../apis/resource.ts";
import { hasReason } from "../../client/api-errors.ts";
import { done, type Controller, type Outcome } from "../controller.ts";
import { apiserverAccount, apiServices, customResourceDefinitions } from "../kinds.ts";

export interface ApiServiceRegistrationOptions extends ControllerOptions {
  /** The served kinds. */
  readonly resources: () => readonly Resource[];
}

/**
 * Maintains an APIService for each group version of definitions, and removes it with the last of them. Source: kube-aggregator
 * pkg/controllers/autoregister, kubernetes pkg/controlplane/controller/crdregistration.
 */
export function apiServiceRegistration({ informers, clock, resources }: ApiServiceRegistrationOptions): Controller {
  const { client, reader } = informers.as(apiserverAccount);
  const stored = reader({ resource: apiServices });

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const current = stored.get(key);
    const served = resources().filter((one) => apiServiceName(one) === key.name);
    const wanted = apiServicesOf(served, rfc3339(clock.now())).get(key.name);
    try {
      if (wanted === undefined) {
        if (current !== undefined && automanagedOf(current) === "true") await client.delete(apiServices, key);
      } else if (current === undefined) {
        await client.create(apiServices, wanted);
      } else if (!isSameJson(current["spec"], wanted["spec"])) {
        await client.update(apiServices, { ...current, spec: wanted["spec"] });
      }
    } catch (error) {
      if (!hasReason(error, "AlreadyExists", "NotFound")) throw error;
    }
    return done;
  }

  return {
    name: "autoregister",
    serviceAccount: apiserverAccount,
    watches: [
      { resource: apiServices },
      {
        resource: customResourceDefinitions,
        // Only its APIService still names a version that a definition no longer has.
        keys: (definition) => [...groupVersionsOf(definition), ...ofGroup(stored.list(), definition)],
      },
    ],
    concurrency: 1,
    reconcile,
  };
}

function ofGroup(apiServices: readonly ApiObject[], definition: ApiObject): readonly ObjectKey[] {
  const group = stringAt(definition, "spec", "group");
  return apiServices
    .filter((one) => stringAt(one, "spec", "group") === group)
    .map(({ metadata: { name = "" } }) => ({ name }));
}

function groupVersionsOf(definition: ApiObject): readonly ObjectKey[] {
  const group = stringAt(definition, "spec", "group");
  return fieldListAt(definition, "spec", "versions").map((version) => ({
    name: apiServiceName({ group, version: stringAt(version, "name") }),
  }));
}

/** Whether an APIService is written at each start of the hub, for a built-in kind, or follows definitions. */
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

/** How the APIService was created; undefined where the hub did not create it. */
export function automanagedOf(object: ApiObject): string | undefined {
  return object.metadata.labels?.[managedLabel];
}
