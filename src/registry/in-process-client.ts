import type { Client, ListOptions, ResourceRef, WatchEvent, WatchOptions } from "../client/client.ts";
import { parseFieldSelector, selectedName } from "../apimachinery/field-selector.ts";
import { apiVersionOf, type ApiList, type ApiObject, type ObjectKey } from "../apimachinery/object.ts";
import { StatusError } from "../apimachinery/status.ts";
import { objectOf, type Entry } from "../storage/stored-object.ts";
import { partsOf, type PartSize, type Turn } from "./turns.ts";
import { authorized, type InProcessClientOptions } from "./in-process-call.ts";
import { writes } from "./in-process-writes.ts";
import { selectionOf } from "./selection.ts";
import type { WatchHandle } from "./watch.ts";

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
