import type { ObjectKey } from "../apimachinery/object.ts";
import { notFound } from "../apimachinery/status.ts";
import type { Resource } from "../apis/resource.ts";
import type { Entry } from "../storage/stored-object.ts";
import { caughtUp, storageKey, type Backend } from "./backend.ts";
import { waitForVersion } from "./resource-version-match.ts";

/** One object, not older than `atLeast`; undefined means the newest. @throws StatusError NotFound, Timeout when `atLeast` is ahead of the hub. */
export async function get(
  backend: Backend,
  resource: Resource,
  request: ObjectKey & { readonly atLeast?: number | undefined },
): Promise<Entry> {
  if (request.atLeast === undefined) await caughtUp(backend);
  else await waitForVersion(backend, request.atLeast);
  const entry = backend.cache.get(storageKey(resource, request));
  if (entry === undefined) throw notFound(resource, request.name);
  return backend.versions.shown(resource, entry);
}
