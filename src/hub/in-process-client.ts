import { forbiddenRequest } from "../authz/forbidden-text.ts";
import type { Authorizer } from "../authz/authorizer.ts";
import type { Client, DeleteOptions, ListOptions, ResourceRef, WatchEvent, WatchOptions } from "../client/client.ts";
import type { Clock } from "../core/clock.ts";
import { applyJsonPatch } from "../core/json-patch.ts";
import { applyMergePatch } from "../core/merge-patch.ts";
import { parseFieldSelector, selectedName } from "../core/field-selector.ts";
import { apiVersionOf, type ApiList, type ApiObject, type ObjectKey } from "../core/object.ts";
import { StatusError } from "../core/status.ts";
import type { UserInfo } from "../core/user.ts";
import type { RequestContext } from "../registry/context.ts";
import { objectOf, type Entry } from "../registry/entry.ts";
import { partsOf, type PartSize } from "../registry/entry-parts.ts";
import type { Turn } from "../registry/large-work.ts";
import type { Registry } from "../registry/registry.ts";
import { selectionOf, type Selection } from "../registry/selection.ts";
import type { WatchHandle } from "../registry/watch.ts";
import type { Resource } from "../resources/resource.ts";

export interface InProcessClientOptions {
  readonly registry: Registry;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  /** Every call is authorized as this user, exactly as if it came over the network. */
  readonly user: UserInfo;
  /** Waits between the parts of a large list, which are parsed one at a time. */
  readonly turn: Turn;
}

interface Target {
  readonly verb: string;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
}

const itemsPerTake = 512;
/** Parsing takes about 10 ms for each part. */
const partSize: PartSize = { maxCharacters: 1024 * 1024, maxEntries: 1024 };

/** The API without sockets: the same authorization, admission and verbs, and objects shared instead of copied. */
export function inProcessClient(options: InProcessClientOptions): Client {
  return { ...reads(options), ...writes(options), ...removals(options) };
}

type Reads = "get" | "list" | "watch";

function reads(options: InProcessClientOptions): Pick<Client, Reads> {
  const { registry } = options;
  return {
    get: async <T extends ApiObject>(ref: ResourceRef, key: ObjectKey) => {
      const resource = await authorized(options, ref, { verb: "get", ...key });
      return objectOf(await registry.get(resource, key)) as T;
    },
    list: async <T extends ApiObject>(ref: ResourceRef, list: ListOptions = {}) => {
      const resource = await authorized(options, ref, {
        verb: "list",
        namespace: list.namespace,
        name: nameIn(list.fieldSelector),
      });
      const listed = await registry.list(resource, {
        namespace: list.namespace ?? "",
        selection: selectionFor(resource, list),
        from: { kind: "newest" },
        limit: undefined,
        turn: options.turn,
      });
      return {
        kind: `${resource.kind}List`,
        apiVersion: apiVersionOf(resource.group, resource.version),
        metadata: { resourceVersion: String(listed.revision) },
        items: await objectsOf(listed.entries, options.turn),
      } as unknown as ApiList<T>;
    },
    watch: <T extends ApiObject>(ref: ResourceRef, watch: WatchOptions) =>
      watchEvents(options, ref, watch) as AsyncIterable<WatchEvent<T>>,
  };
}

async function objectsOf(entries: readonly Entry[], turn: Turn): Promise<readonly ApiObject[]> {
  const objects: ApiObject[] = [];
  for (const [index, part] of partsOf(entries, partSize).entries()) {
    if (index > 0) await turn();
    for (const entry of part) objects.push(objectOf(entry));
  }
  return objects;
}

function writes(options: InProcessClientOptions): Omit<Client, Reads | Removals> {
  const { registry } = options;
  const allowed = (ref: ResourceRef, target: Target): Promise<Resource> => authorized(options, ref, target);
  return {
    create: async <T extends ApiObject>(
      ref: ResourceRef,
      object: ApiObject,
      { dryRun = false, subresource = "" } = {},
    ) => {
      const { namespace = "", name = "" } = object.metadata;
      const request = { namespace, object, context: contextOf(options, dryRun) };
      // A create has no name to be authorized by, while what is created under an object goes by that object's name.
      const target = subresource === "" ? { namespace } : { namespace, name, subresource };
      const resource = await allowed(ref, { verb: "create", ...target });
      const entry =
        subresource === ""
          ? await registry.create(resource, request)
          : await registry.createUnder(resource, { ...request, name, subresource });
      return objectOf(entry) as T;
    },
    update: async <T extends ApiObject>(
      ref: ResourceRef,
      object: ApiObject,
      { dryRun = false, subresource = "" } = {},
    ) => {
      const { namespace = "", name = "" } = object.metadata;
      const resource = await allowed(ref, { verb: "update", namespace, name, subresource });
      const { entry } = await registry.update(resource, {
        namespace,
        name,
        subresource,
        desired: () => object,
        whenMissing: {
          object,
          mayCreate: async () => void (await allowed(ref, { verb: "create", namespace, name })),
        },
        context: contextOf(options, dryRun),
      });
      return objectOf(entry) as T;
    },
    patch: async <T extends ApiObject>(
      ref: ResourceRef,
      key: ObjectKey,
      patch: unknown,
      { dryRun = false, subresource = "" } = {},
    ) => {
      const resource = await allowed(ref, { verb: "patch", ...key, subresource });
      const apply = Array.isArray(patch) ? applyJsonPatch : applyMergePatch;
      const { entry } = await registry.update(resource, {
        namespace: key.namespace ?? "",
        name: key.name,
        subresource,
        desired: (stored) => apply(stored, patch) as ApiObject,
        context: contextOf(options, dryRun),
      });
      return objectOf(entry) as T;
    },
  };
}

type Removals = "delete" | "deleteCollection";

function removals(options: InProcessClientOptions): Pick<Client, Removals> {
  const { registry } = options;
  return {
    delete: async (ref: ResourceRef, key: ObjectKey, deletion: DeleteOptions = {}) => {
      const resource = await authorized(options, ref, { verb: "delete", ...key });
      await registry.remove(resource, {
        namespace: key.namespace ?? "",
        name: key.name,
        options: deletion,
        context: contextOf(options),
      });
    },
    deleteCollection: async (ref: ResourceRef, list: ListOptions) => {
      const resource = await authorized(options, ref, { verb: "deletecollection", namespace: list.namespace });
      const selection = selectionFor(resource, list);
      await registry.removeCollection(resource, {
        namespace: list.namespace ?? "",
        selection,
        options: {},
        context: contextOf(options),
      });
    },
  };
}

function contextOf({ user, clock }: InProcessClientOptions, dryRun = false): RequestContext {
  return {
    user,
    now: clock.now(),
    dryRun,
    warn: () => undefined,
    annotate: () => undefined,
    fieldManager: user.username,
  };
}

/** The resource, once the user may do this to it. @throws StatusError NotFound, Forbidden. */
async function authorized(options: InProcessClientOptions, ref: ResourceRef, target: Target): Promise<Resource> {
  const resource = options.registry.find(ref.group, ref.version, ref.plural);
  if (resource === undefined)
    throw new StatusError("NotFound", "the server could not find the requested resource", { details: {} });
  const attributes = {
    user: options.user,
    verb: target.verb,
    group: resource.group,
    version: resource.version,
    resource: resource.plural,
    subresource: target.subresource ?? "",
    namespace: target.namespace ?? "",
    name: target.name ?? "",
    path: undefined,
  };
  const decision = await options.authorizer(attributes);
  if (decision.verdict !== "allow") throw forbiddenRequest(attributes, decision.reason);
  return resource;
}

function nameIn(fieldSelector: string | undefined): string {
  return fieldSelector === undefined ? "" : (selectedName(parseFieldSelector(fieldSelector)) ?? "");
}

function selectionFor(resource: Resource, { labelSelector = "", fieldSelector = "" }: ListOptions): Selection {
  return selectionOf(resource, { labelSelector, fieldSelector });
}

async function* watchEvents(
  options: InProcessClientOptions,
  ref: ResourceRef,
  watch: WatchOptions,
): AsyncGenerator<WatchEvent> {
  const { namespace = "", labelSelector = "", fieldSelector = "", resourceVersion, signal } = watch;
  const resource = await authorized(options, ref, { verb: "watch", namespace, name: nameIn(fieldSelector) });
  let wake = (): void => undefined;
  const handle = await options.registry.watch(resource, {
    namespace,
    selection: selectionOf(resource, { labelSelector, fieldSelector }),
    start:
      resourceVersion === undefined
        ? { revision: undefined, state: "send" }
        : { revision: Number(resourceVersion), state: "skip" },
    wake: () => wake(),
  });
  try {
    while (!signal.aborted) {
      const events = takeEvents(handle);
      if (events === undefined) return;
      // To delegate to an iterable that is not asynchronous takes three promises for each event.
      for (const event of events) yield event;
      if (events.length > 0) continue;
      await new Promise<void>((resolve) => {
        wake = resolve;
        signal.addEventListener("abort", wake, { once: true });
      });
      signal.removeEventListener("abort", wake);
    }
  } finally {
    handle.close();
  }
}

/** Undefined once the kind is served no more. @throws StatusError */
function takeEvents(handle: WatchHandle): readonly WatchEvent[] | undefined {
  const items = handle.take(itemsPerTake);
  if (items === "ended") return undefined;
  if (items instanceof StatusError) throw items;
  if (items === "expired")
    throw new StatusError("Expired", "too old resource version: the watch was read too slowly; list again");
  return items.map((item) =>
    item.type === "BOOKMARK"
      ? { type: "BOOKMARK", resourceVersion: String(item.revision) }
      : { type: item.type, object: objectOf(item.entry) },
  );
}
