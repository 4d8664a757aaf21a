import type { ApiObject } from "../apimachinery/object.ts";
import { speaksProtobuf } from "../serializer/protobuf/protobuf.ts";
import { applierOf, applyType } from "./body/apply-body.ts";
import { mediaType, objectOfBody, parseBody, refuseProtobuf } from "./body/decode-body.ts";
import { entryReply } from "./encode.ts";
import { header, type Reply } from "./http-types.ts";
import { patcherOf } from "./body/patch-body.ts";
import { writeOptions, type WriteOptions } from "./query-options.ts";
import {
  checkNamespace,
  checkPlace,
  contextOf,
  namespaceOf,
  placedLater,
  shapedEntry,
  shownAsOf,
  turnOf,
  viewOf,
  type Call,
} from "./resource-call.ts";
import type { ShownAs } from "../apis/resource.ts";
import type { UpdateRequest } from "../registry/update.ts";
import { unrecognized } from "./body/undecodable.ts";

/** The object in the body, of the kind that is asked for, and whether it is large. */
async function objectIn(
  call: Call,
  { fieldValidation }: WriteOptions,
): Promise<{ readonly object: ApiObject; readonly isLarge: boolean }> {
  const contentType = header(call.request, "content-type");
  if (!speaksProtobuf(call.kind)) refuseProtobuf(contentType);
  const bytes = await call.body();
  const refuse = unrecognized(call.kind, bytes);
  const turn = turnOf(call, bytes);
  const raw = { bytes, contentType, maxValues: call.limits.maxValues, turn, yaml: call.yaml };
  const parsed = await parseBody(raw, () => call.kind.schema, refuse);
  call.receivedBody(parsed);
  const { warn, kind: resource, options } = call;
  if (turn !== undefined) await turn();
  const object = objectOfBody(parsed, { resource, fieldValidation, warn, refuse, kinds: options.registry.resources });
  return { object, isLarge: turn !== undefined };
}

export async function create(call: Call): Promise<Reply> {
  const view = viewOf(call);
  const { resource, info, query } = call;
  const write = writeOptions(call.request, query, "CreateOptions");
  const { object, isLarge } = await objectIn(call, write);
  checkNamespace(call, object);
  const request = { namespace: namespaceOf(call), object, context: contextOf(call, write, isLarge) };
  const { registry } = call.options;
  const entry =
    info.subresource === ""
      ? await registry.create(resource, request)
      : await registry.createUnder(resource, { ...request, name: info.name, subresource: info.subresource });
  return entryReply(view, entry, 201);
}

export async function update(call: Call): Promise<Reply> {
  const view = viewOf(call);
  const { info, resource, query } = call;
  const write = writeOptions(call.request, query, "UpdateOptions");
  const shownAs = shownAsOf(call);
  const { object, isLarge } = await objectIn(call, write);
  checkPlace(call, object);
  const named = { ...object, metadata: { ...object.metadata, name: info.name } };
  const { entry, created } = await call.options.registry.update(resource, {
    namespace: namespaceOf(call),
    name: info.name,
    subresource: info.subresource,
    desired: shapedChange(shownAs, () => named),
    whenMissing: { object: named, mayCreate: () => call.alsoMay("create") },
    context: contextOf(call, write, isLarge),
  });
  return entryReply(view, shapedEntry(shownAs, entry), created ? 201 : 200);
}

export async function patch(call: Call): Promise<Reply> {
  const contentType = header(call.request, "content-type");
  if (mediaType(contentType) === applyType) return apply(call);
  const view = viewOf(call);
  const { info, resource } = call;
  const write = writeOptions(call.request, call.query, "PatchOptions");
  const shownAs = shownAsOf(call);
  const desired = patcherOf(call, write);
  const bytes = await call.body();
  call.receivedBody({ bytes, contentType });
  const turn = turnOf(call, bytes);
  const patched = await desired(bytes, turn);
  const { entry } = await call.options.registry.update(resource, {
    namespace: namespaceOf(call),
    name: info.name,
    subresource: info.subresource,
    desired: shapedChange(shownAs, (stored, larger) => placedLater(call, patched(stored, larger))),
    context: contextOf(call, write, turn !== undefined),
  });
  return entryReply(view, shapedEntry(shownAs, entry), 200);
}

async function apply(call: Call): Promise<Reply> {
  const view = viewOf(call);
  const { info, resource, request } = call;
  const write = writeOptions(request, call.query, "PatchOptions");
  const applier = applierOf(call, write);
  const bytes = await call.body();
  call.receivedBody({ bytes, contentType: header(request, "content-type") });
  const turn = turnOf(call, bytes);
  const applied = await applier(bytes, turn);
  const { entry, created } = await call.options.registry.update(resource, {
    namespace: namespaceOf(call),
    name: info.name,
    subresource: info.subresource,
    applied: true,
    desired: (stored, larger) => placedLater(call, applied(stored, larger)),
    whenMissing: {
      object: (larger) => placedLater(call, applied(undefined, larger)),
      mayCreate: () => call.alsoMay("create"),
    },
    context: contextOf(call, write, turn !== undefined),
  });
  return entryReply(view, shapedEntry(shownAsOf(call), entry), created ? 201 : 200);
}

/** A change of what is shown as a change of the object behind it. */
function shapedChange(shownAs: ShownAs | undefined, change: UpdateRequest["desired"]): UpdateRequest["desired"] {
  if (shownAs === undefined) return change;
  return async (stored, turn) => shownAs.write(await change(shownAs.show(stored), turn), stored);
}
