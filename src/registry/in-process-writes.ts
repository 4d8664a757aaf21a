import type { Client, DeleteOptions, ListOptions, ResourceRef } from "../client/client.ts";
import { applyJsonPatch } from "../apimachinery/json-patch.ts";
import { applyMergePatch } from "../apimachinery/merge-patch.ts";
import type { ApiObject, ObjectKey } from "../apimachinery/object.ts";
import { objectOf } from "../storage/stored-object.ts";
import { kindOf, type Resource } from "../apis/resource.ts";
import type { RequestContext } from "./backend.ts";
import { decodedWrite } from "./decode.ts";
import {
  authorized,
  selectionFor,
  type InProcessClientOptions,
  recorded,
  type ClientWrite,
  type Recorded,
} from "./in-process-call.ts";
import { isLargeValue, type Turn, preparedKind } from "./turns.ts";

/** One write under way: the options of the client, with what observes this write. */
type Call = InProcessClientOptions & Recorded;

interface Target {
  readonly verb: ClientWrite["verb"];
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
}

interface Write extends Target {
  readonly ref: ResourceRef;
  readonly sent: unknown;
}

/** Does one write of the client, and records it in the audit log. */
function written<T>(
  options: InProcessClientOptions,
  { ref: resource, verb, namespace = "", name = "", subresource = "", sent }: Write,
  act: (call: Call) => Promise<T>,
): Promise<T> {
  const { user, authorizer, recordWrite } = options;
  const about = { user, verb, resource, namespace, name, subresource, sent };
  return recorded({ begin: recordWrite?.(), authorizer }, about, (observed) => act({ ...options, ...observed }));
}

interface ChangeOptions {
  readonly dryRun?: boolean;
  readonly subresource?: string;
}

/** The writes of a client inside the hub: what is sent is decoded, pruned and defaulted as what comes over HTTP. */
export function changes(options: InProcessClientOptions): Pick<Client, "create" | "update" | "patch"> {
  const { registry } = options;
  return {
    create: async <T extends ApiObject>(ref: ResourceRef, sent: ApiObject, how: ChangeOptions = {}) => {
      const { namespace = "", name = "" } = sent.metadata;
      const { subresource = "" } = how;
      // A create has no name to be authorized by, while what is created under an object goes by that object's name.
      const target: Target = { verb: "create", namespace, ...(subresource === "" ? {} : { name, subresource }) };
      return written(options, { ...target, ref, sent }, async (call) => {
        const resource = await authorized(call, ref, target);
        const request = { namespace, ...(await received(call, { resource, sent, ...how })) };
        const entry =
          subresource === ""
            ? await registry.create(resource, request)
            : await registry.createUnder(resource, { ...request, name, subresource });
        return objectOf(entry) as T;
      });
    },
    update: async <T extends ApiObject>(ref: ResourceRef, sent: ApiObject, how: ChangeOptions = {}) => {
      const { namespace = "", name = "" } = sent.metadata;
      const place = { namespace, name, subresource: how.subresource ?? "" };
      const target: Target = { verb: "update", ...place };
      return written(options, { ...target, ref, sent }, async (call) => {
        const resource = await authorized(call, ref, target);
        const { object, context } = await received(call, { resource, sent, ...how });
        const mayCreate = async (): Promise<void> =>
          void (await authorized(call, ref, { verb: "create", namespace, name }));
        const whenMissing = { object, mayCreate };
        const { entry } = await registry.update(resource, { ...place, desired: () => object, whenMissing, context });
        return objectOf(entry) as T;
      });
    },
    patch: async <T extends ApiObject>(ref: ResourceRef, key: ObjectKey, sent: unknown, how: ChangeOptions = {}) => {
      const place = { namespace: key.namespace ?? "", name: key.name, subresource: how.subresource ?? "" };
      const target: Target = { verb: "patch", ...place };
      return written(options, { ...target, ref, sent }, async (call) => {
        const resource = await authorized(call, ref, target);
        await preparedKind(resource, call.turn);
        const context = contextOf(call, { dryRun: how.dryRun ?? false, isLarge: isLargeValue(sent) });
        const { entry } = await registry.update(resource, { ...place, desired: patcherOf(resource, sent), context });
        return objectOf(entry) as T;
      });
    },
  };
}

interface Received extends ChangeOptions {
  readonly resource: Resource;
  readonly sent: ApiObject;
}

/** What was sent, decoded, in a turn of its own where it is large. @throws StatusError BadRequest */
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

/** The deletions of a client inside the hub. */
export function removals(options: InProcessClientOptions): Pick<Client, "delete" | "deleteCollection"> {
  const { registry } = options;
  const whole = { dryRun: false, isLarge: false };
  return {
    delete: async (ref: ResourceRef, key: ObjectKey, deletion: DeleteOptions = {}) => {
      const place = { namespace: key.namespace ?? "", name: key.name };
      const target: Target = { verb: "delete", ...place };
      return written(options, { ...target, ref, sent: deletion }, async (call) => {
        const resource = await authorized(call, ref, target);
        await registry.remove(resource, { ...place, options: deletion, context: contextOf(call, whole) });
      });
    },
    deleteCollection: async (ref: ResourceRef, list: ListOptions) => {
      const namespace = list.namespace ?? "";
      const target: Target = { verb: "deletecollection", namespace };
      return written(options, { ...target, ref, sent: {} }, async (call) => {
        const resource = await authorized(call, ref, target);
        const selection = selectionFor(resource, list);
        await registry.removeCollection(resource, {
          namespace,
          selection,
          options: {},
          context: contextOf(call, whole),
        });
      });
    },
  };
}

function contextOf(
  { user, clock, annotate }: Call,
  size: { readonly dryRun: boolean; readonly isLarge: boolean },
): RequestContext {
  return { user, now: clock.now(), ...size, warn: () => undefined, annotate, fieldManager: user.username };
}
