import type { Client, ListOptions, ResourceRef, WatchEvent, WatchOptions } from "../client/client.ts";
import { parseFieldSelector, selectedName } from "../apimachinery/field-selector.ts";
import { apiVersionOf, type ApiList, type ApiObject, type ObjectKey } from "../apimachinery/object.ts";
import { StatusError } from "../apimachinery/status.ts";
import { objectOf, type Entry } from "../storage/stored-object.ts";
import { partsOf, type PartSize, type Turn, isLargeValue, preparedKind } from "./turns.ts";
import {
  authorized,
  type InProcessClientOptions,
  recorded,
  type ClientWrite,
  type Recorded,
} from "./in-process-call.ts";
import { selectionOf } from "./selection.ts";
import type { WatchHandle } from "./watch.ts";
import { applyJsonPatch } from "../apimachinery/json-patch.ts";
import { applyMergePatch } from "../apimachinery/merge-patch.ts";
import { kindOf, type Resource } from "../apis/resource.ts";
import type { RequestContext } from "./backend.ts";
import { decodedWrite } from "./decode.ts";
import type { UpdateRequest } from "./update.ts";

const itemsPerTake = 512;
/** Parsing takes about 10 ms for each part. */
const partSize: PartSize = { maxCharacters: 1024 * 1024, maxEntries: 1024 };

/** The API without sockets: the same authorization, admission and verbs, and objects shared instead of copied. */
export function inProcessClient(options: InProcessClientOptions): Client {
  return { ...reads(options), ...writes(options) };
}

function reads(options: InProcessClientOptions): Pick<Client, "get" | "list" | "watch"> {
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
        selection: selectionOf(resource, list),
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

function nameIn(fieldSelector: string | undefined): string {
  return fieldSelector === undefined ? "" : (selectedName(parseFieldSelector(fieldSelector)) ?? "");
}

async function* watchEvents(
  options: InProcessClientOptions,
  ref: ResourceRef,
  watch: WatchOptions,
): AsyncGenerator<WatchEvent> {
  const { namespace = "", fieldSelector, resourceVersion, signal } = watch;
  const resource = await authorized(options, ref, { verb: "watch", namespace, name: nameIn(fieldSelector) });
  let wake = (): void => undefined;
  const handle = await options.registry.watch(resource, {
    namespace,
    selection: selectionOf(resource, watch),
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
      // Delegating to a synchronous iterable takes three promises for each event.
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

/** Undefined once the kind is removed. @throws StatusError */
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

/** One write under way: the options of the client, with the observers of this write. */
type Call = InProcessClientOptions & Recorded;

/** The target of a write; a create is authorized without a name. */
type Target = Pick<ClientWrite, "verb" | "namespace"> & Partial<Pick<ClientWrite, "name" | "subresource">>;

interface Write {
  readonly ref: ResourceRef;
  readonly target: Target;
  readonly sent: unknown;
}

/** Authorizes and runs one write of the client, and records it in the audit log. */
function written<T>(
  options: InProcessClientOptions,
  { ref, target, sent }: Write,
  act: (call: Call, resource: Resource) => Promise<T>,
): Promise<T> {
  const { user, authorizer, recordWrite } = options;
  const about = { user, resource: ref, name: "", subresource: "", ...target, sent };
  return recorded({ begin: recordWrite?.(), authorizer }, about, async (observed) => {
    const call = { ...options, ...observed };
    return act(call, await authorized(call, ref, target));
  });
}

interface ChangeOptions {
  readonly dryRun?: boolean;
  readonly subresource?: string;
}

/** The writes of a client inside the hub: bodies are decoded, pruned and defaulted like those over HTTP. */
export function writes(
  options: InProcessClientOptions,
): Pick<Client, "create" | "update" | "patch" | "delete" | "deleteCollection"> {
  const { registry } = options;
  return {
    create: <T extends ApiObject>(ref: ResourceRef, sent: ApiObject, how: ChangeOptions = {}) => {
      const { namespace = "", name = "" } = sent.metadata;
      const { subresource = "" } = how;
      // A create under an object is authorized with that object's name.
      const target: Target = { verb: "create", namespace, ...(subresource === "" ? {} : { name, subresource }) };
      return written(options, { ref, target, sent }, async (call, resource) => {
        const request = { namespace, ...(await received(call, { resource, sent, ...how })) };
        const entry =
          subresource === ""
            ? await registry.create(resource, request)
            : await registry.createUnder(resource, { ...request, name, subresource });
        return objectOf(entry) as T;
      });
    },
    update: <T extends ApiObject>(ref: ResourceRef, sent: ApiObject, how: ChangeOptions = {}) => {
      const { namespace = "", name = "" } = sent.metadata;
      const place = { namespace, name, subresource: how.subresource ?? "" };
      return written(options, { ref, target: { verb: "update", ...place }, sent }, async (call, resource) => {
        const { object, context } = await received(call, { resource, sent, ...how });
        const mayCreate = async (): Promise<void> =>
          void (await authorized(call, ref, { verb: "create", namespace, name }));
        const whenMissing = { object, mayCreate };
        const { entry } = await registry.update(resource, { ...place, desired: () => object, whenMissing, context });
        return objectOf(entry) as T;
      });
    },
    patch: <T extends ApiObject>(
      ref: ResourceRef,
      { namespace = "", name }: { readonly namespace?: string; readonly name: string },
      sent: unknown,
      { dryRun = false, subresource = "" }: ChangeOptions = {},
    ) => {
      const place = { namespace, name, subresource };
      return written(options, { ref, target: { verb: "patch", ...place }, sent }, async (call, resource) => {
        await preparedKind(resource, call.turn);
        const context = contextOf(call, { dryRun, isLarge: isLargeValue(sent) });
        const { entry } = await registry.update(resource, { ...place, desired: patcherOf(resource, sent), context });
        return objectOf(entry) as T;
      });
    },
    delete: (ref, { namespace = "", name }, deletion = {}) => {
      const target: Target = { verb: "delete", namespace, name };
      return written(options, { ref, target, sent: deletion }, async (call, resource) => {
        await registry.remove(resource, { namespace, name, options: deletion, context: contextOf(call, small) });
      });
    },
    deleteCollection: (ref, list) => {
      const { namespace = "" } = list;
      const target: Target = { verb: "deletecollection", namespace };
      return written(options, { ref, target, sent: {} }, async (call, resource) => {
        const about = { namespace, selection: selectionOf(resource, list), options: {} };
        await registry.removeCollection(resource, { ...about, context: contextOf(call, small) });
      });
    },
  };
}

interface Received extends ChangeOptions {
  readonly resource: Resource;
  readonly sent: ApiObject;
}

/** The decoded body, in a turn of its own where it is large. @throws StatusError BadRequest */
async function received(
  call: Call,
  { resource, sent, dryRun = false, subresource = "" }: Received,
): Promise<{ readonly object: ApiObject; readonly context: RequestContext }> {
  await preparedKind(resource, call.turn);
  const isLarge = isLargeValue(sent);
  if (isLarge) await call.turn();
  const kind = kindOf(resource, resource.subresources[subresource]);
  return { object: decodedWrite(sent, kind), context: contextOf(call, { dryRun, isLarge }) };
}

/** Patches and decodes, each in a turn of its own where the stored object or the patch is large. */
function patcherOf(resource: Resource, patch: unknown): UpdateRequest["desired"] {
  const apply = Array.isArray(patch) ? applyJsonPatch : applyMergePatch;
  return (stored, turn) => {
    const patched = apply(stored, patch);
    return turn === undefined ? decodedWrite(patched, resource) : turn().then(() => decodedWrite(patched, resource));
  };
}

const small = { dryRun: false, isLarge: false } as const;

function contextOf(
  { user, clock, annotate }: Call,
  size: { readonly dryRun: boolean; readonly isLarge: boolean },
): RequestContext {
  return { user, now: clock.now(), ...size, warn: () => undefined, annotate, fieldManager: user.username };
}
