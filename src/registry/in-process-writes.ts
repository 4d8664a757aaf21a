import type { Client, DeleteOptions, ListOptions, ResourceRef } from "../client/client.ts";
import { applyJsonPatch } from "../apimachinery/json-patch.ts";
import { applyMergePatch } from "../apimachinery/merge-patch.ts";
import type { ApiObject, ObjectKey } from "../apimachinery/object.ts";
import { objectOf } from "../storage/stored-object.ts";
import { kindOf, type Resource } from "../apis/resource.ts";
import type { RequestContext } from "./context.ts";
import { decodedWrite } from "./decode.ts";
import { authorized, selectionFor, type InProcessClientOptions } from "./in-process-call.ts";
import { isLargeValue, type Turn } from "./large-work.ts";
import { preparedKind } from "./prepared-kind.ts";

type Changes = "create" | "update" | "patch";

interface ChangeOptions {
  readonly dryRun?: boolean;
  readonly subresource?: string;
}

/** The writes of a client inside the hub: what is sent is decoded, pruned and defaulted as what comes over HTTP. */
export function changes(options: InProcessClientOptions): Pick<Client, Changes> {
  const { registry } = options;
  return {
    create: async <T extends ApiObject>(ref: ResourceRef, sent: ApiObject, how: ChangeOptions = {}) => {
      const { namespace = "", name = "" } = sent.metadata;
      const { subresource = "" } = how;
      // A create has no name to be authorized by, while what is created under an object goes by that object's name.
      const target = subresource === "" ? { namespace } : { namespace, name, subresource };
      const resource = await authorized(options, ref, { verb: "create", ...target });
      const { object, context } = await received(options, { resource, sent, ...how });
      const request = { namespace, object, context };
      const entry =
        subresource === ""
          ? await registry.create(resource, request)
          : await registry.createUnder(resource, { ...request, name, subresource });
      return objectOf(entry) as T;
    },
    update: async <T extends ApiObject>(ref: ResourceRef, sent: ApiObject, how: ChangeOptions = {}) => {
      const { namespace = "", name = "" } = sent.metadata;
      const { subresource = "" } = how;
      const resource = await authorized(options, ref, { verb: "update", namespace, name, subresource });
      const { object, context } = await received(options, { resource, sent, ...how });
      const { entry } = await registry.update(resource, {
        namespace,
        name,
        subresource,
        desired: () => object,
        whenMissing: {
          object,
          mayCreate: async () => void (await authorized(options, ref, { verb: "create", namespace, name })),
        },
        context,
      });
      return objectOf(entry) as T;
    },
    patch: async <T extends ApiObject>(ref: ResourceRef, key: ObjectKey, patch: unknown, how: ChangeOptions = {}) => {
      const { subresource = "", dryRun = false } = how;
      const resource = await authorized(options, ref, { verb: "patch", ...key, subresource });
      await preparedKind(resource, options.turn);
      const { entry } = await registry.update(resource, {
        namespace: key.namespace ?? "",
        name: key.name,
        subresource,
        desired: patcherOf(resource, patch),
        context: contextOf(options, { dryRun, isLarge: isLargeValue(patch) }),
      });
      return objectOf(entry) as T;
    },
  };
}

/** What was sent, decoded, in a turn of its own where it is large. @throws StatusError BadRequest */
async function received(
  options: InProcessClientOptions,
  {
    resource,
    sent,
    dryRun = false,
    subresource = "",
  }: ChangeOptions & { readonly resource: Resource; sent: ApiObject },
): Promise<{ readonly object: ApiObject; readonly context: RequestContext }> {
  await preparedKind(resource, options.turn);
  const isLarge = isLargeValue(sent);
  if (isLarge) await options.turn();
  const kind = kindOf(resource, resource.subresources[subresource]);
  return { object: decodedWrite(sent, kind), context: contextOf(options, { dryRun, isLarge }) };
}

/** Patches and decodes, each in a turn of its own where the stored object or the patch is large. */
function patcherOf(
  resource: Resource,
  patch: unknown,
): (stored: ApiObject, turn: Turn | undefined) => ApiObject | Promise<ApiObject> {
  const apply = Array.isArray(patch) ? applyJsonPatch : applyMergePatch;
  return (stored, turn) => {
    const patched = apply(stored, patch);
    return turn === undefined ? decodedWrite(patched, resource) : turn().then(() => decodedWrite(patched, resource));
  };
}

type Removals = "delete" | "deleteCollection";

/** The deletions of a client inside the hub. */
export function removals(options: InProcessClientOptions): Pick<Client, Removals> {
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

function contextOf(
  { user, clock }: InProcessClientOptions,
  { dryRun = false, isLarge = false }: Partial<Pick<RequestContext, "dryRun" | "isLarge">> = {},
): RequestContext {
  return {
    user,
    now: clock.now(),
    dryRun,
    isLarge,
    warn: () => undefined,
    annotate: () => undefined,
    fieldManager: user.username,
  };
}
