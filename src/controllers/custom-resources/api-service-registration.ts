import { rfc3339, type Clock } from "../../apimachinery/clock.ts";
import type { ApiObject, ObjectKey } from "../../apimachinery/object.ts";
import { isSameJson, fieldListAt, stringAt } from "../../apis/json-fields.ts";
import type { Resource } from "../../apis/resource.ts";
import { hasReason } from "../../client/api-errors.ts";
import { apiServiceName, apiServicesOf, automanagedOf } from "./api-service-policy.ts";
import { done, type Controller, type Outcome } from "../controller.ts";
import { apiserverAccount, apiServices, customResourceDefinitions } from "../kinds.ts";
import type { SharedInformers } from "../shared-informers.ts";

export interface ApiServiceRegistrationOptions {
  readonly informers: SharedInformers;
  readonly clock: Clock;
  /** The kinds that are served now. */
  readonly resources: () => readonly Resource[];
}

/**
 * Keeps an APIService for each group version that definitions add, and removes it with the last of them.
 * Source: kube-aggregator pkg/controllers/autoregister, kubernetes pkg/controlplane/controller/crdregistration.
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
        // A version that a definition has no more is known by its APIService alone.
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
