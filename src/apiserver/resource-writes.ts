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
  shownAsOf,
  turnOf,
  viewOf,
  type Call,
} from "./resource-call.ts";
import { shapedChange, shapedEntry } from "./body/subresource-view.ts";
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
  const { info, resource, query } = call;
  const write = writeOptions(call.request, query, "PatchOptions");
  const { fieldValidation } = write;
  const shownAs = shownAsOf(call);
  const strategic = resource.custom === undefined;
  const { maxValues } = call.limits;
  const desired = patcherOf({
    contentType,
    resource: call.kind,
    strategic,
    query,
    fieldValidation,
    warn: call.warn,
    maxValues,
  });
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
  const { info, resource, query } = call;
  const write = writeOptions(call.request, query, "PatchOptions");
  const { name, subresource } = info;
  const shownAs = shownAsOf(call);
  const owner = { resource, subresource, context: contextOf(call, write) };
  const { maxValues } = call.limits;
  const { fieldValidation } = write;
  const { warn, yaml } = call;
  const applier = applierOf({ write: owner, name, shownAs, query, fieldValidation, warn, maxValues, yaml });
  const bytes = await call.body();
  call.receivedBody({ bytes, contentType: header(call.request, "content-type") });
  const turn = turnOf(call, bytes);
  const applied = await applier(bytes, turn);
  const { entry, created } = await call.options.registry.update(resource, {
    namespace: namespaceOf(call),
    name,
    subresource,
    applied: true,
    desired: (stored, larger) => placedLater(call, applied(stored, larger)),
    whenMissing: {
      object: (larger) => placedLater(call, applied(undefined, larger)),
      mayCreate: () => call.alsoMay("create"),
    },
    context: contextOf(call, write, turn !== undefined),
  });
  return entryReply(view, shapedEntry(shownAs, entry), created ? 201 : 200);
}
