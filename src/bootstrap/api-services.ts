import { apiServicesOf, automanagedOf } from "../controllers/custom-resources/api-service-registration.ts";
import type { Client } from "../client/client.ts";
import { rfc3339, type Clock } from "../apimachinery/clock.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { apiServices } from "../apis/api-service.ts";
import { isSameJson } from "../apis/json-fields.ts";
import { type Resource, storagePrefix } from "../apis/resource.ts";
import type { WatchCache } from "../storage/watch-cache.ts";
import { HubError } from "../apimachinery/hub-error.ts";

/**
 * Writes the APIServices of the built-in kinds that this start of the hub serves, and removes those of kinds that it no longer serves;
 * the controller maintains those of definitions. @throws StatusError
 */
export async function putApiServices(client: Client, resources: readonly Resource[], clock: Clock): Promise<void> {
  const wanted = apiServicesOf(
    resources.filter(({ custom }) => custom === undefined),
    rfc3339(clock.now()),
  );
  const { items } = await client.list<ApiObject>(apiServices);
  const stored = new Map(items.map((one) => [one.metadata.name ?? "", one]));
  const stale = [...stored].filter(([name, one]) => automanagedOf(one) === "onstart" && !wanted.has(name));
  await Promise.all([
    ...Array.from(wanted, ([name, one]) => put(client, one, stored.get(name))),
    ...stale.map(([name]) => client.delete(apiServices, { name })),
  ]);
}

async function put(client: Client, wanted: ApiObject, stored: ApiObject | undefined): Promise<void> {
  if (stored === undefined) return void (await client.create(apiServices, wanted));
  if (isSameJson(stored["spec"], wanted["spec"]) && automanagedOf(stored) === "onstart") return;
  await client.update(apiServices, {
    ...stored,
    metadata: { ...stored.metadata, labels: wanted.metadata.labels ?? {} },
    spec: wanted["spec"],
    status: wanted["status"],
  });
}

/** The health check `autoregister-completion`: every built-in group version has its APIService. @throws HubError naming those without */
export function apiServicesCheck(cache: Pick<WatchCache, "list">, resources: () => readonly Resource[]): () => void {
  return () => {
    const builtin = resources().filter(({ custom }) => custom === undefined);
    const prefix = storagePrefix(apiServices);
    const stored = new Set(cache.list(prefix).map(({ key }) => key));
    const missing = [...apiServicesOf(builtin, "").keys()].filter((name) => !stored.has(prefix + name)).toSorted();
    if (missing.length > 0) throw new HubError("options", `missing APIService: [${missing.join(" ")}]`);
  };
}
