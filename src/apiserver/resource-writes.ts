import type { ApiObject } from "../apimachinery/object.ts";
import { speaksProtobuf } from "../serializer/protobuf/protobuf.ts";
import { applierOf, applyType } from "./body/apply-body.ts";
import { mediaType, objectOfBody, parseBody, refuseProtobuf, typeText, type RawBody } from "./body/decode-body.ts";
import { entryReply, structured } from "./encode.ts";
import { header, type Reply, type Query } from "./http-types.ts";
import { patcherOf } from "./body/patch-body.ts";
import { writeOptions, type WriteOptions, defaultManager, countOf } from "./query-options.ts";
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
  selectionIn,
} from "./resource-call.ts";
import type { ShownAs, Resource } from "../apis/resource.ts";
import type { UpdateRequest } from "../registry/update.ts";
import { unrecognized, notRegistered } from "./body/undecodable.ts";
import { type Status, badRequest } from "../apimachinery/status.ts";
import { objectOf, type Entry } from "../registry/entry.ts";
import { listReply } from "./list-reply.ts";
import { decodeObject } from "../apimachinery/decode.ts";
import { DecodeError } from "../apimachinery/decode-error.ts";
import { invalidObject, notSupported } from "../apimachinery/field-error.ts";
import { publishedMeta } from "../apis/schemas/published.ts";
import type { Deletion } from "../registry/delete.ts";

/** The object in the body, of the requested kind, and whether it is large. */
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
    whenMissing: { object: named, mayCreate: () => call.authorizeVerb("create") },
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
      mayCreate: () => call.authorizeVerb("create"),
    },
    context: contextOf(call, write, turn !== undefined),
  });
  return entryReply(view, shapedEntry(shownAsOf(call), entry), created ? 201 : 200);
}

/** A change of a subresource's shape as a change of the object behind it. */
function shapedChange(shownAs: ShownAs | undefined, change: UpdateRequest["desired"]): UpdateRequest["desired"] {
  if (shownAs === undefined) return change;
  return async (stored, turn) => shownAs.write(await change(shownAs.show(stored), turn), stored);
}

export async function remove(call: Call): Promise<Reply> {
  const view = viewOf(call);
  const { info, resource } = call;
  const { options, dryRun } = await deletionIn(call);
  const deleted = await call.options.registry.remove(resource, {
    namespace: namespaceOf(call),
    name: info.name,
    options,
    context: contextOf(call, { dryRun, fieldManager: defaultManager(call.request) }),
  });
  if (!deleted.removed || resource.deleteReturnsObject) {
    return entryReply(view, deleted.entry, !deleted.removed && options.orphanDependents === false ? 202 : 200);
  }
  return structured(view, removedStatus(resource, deleted.entry), 200);
}

export async function removeCollection(call: Call): Promise<Reply> {
  const view = viewOf(call);
  const { options, dryRun } = await deletionIn(call);
  const found = await call.options.registry.removeCollection(call.resource, {
    namespace: namespaceOf(call),
    selection: selectionIn(call),
    options,
    context: contextOf(call, { dryRun, fieldManager: defaultManager(call.request) }),
  });
  return listReply(view, found);
}

async function deletionIn(call: Call): ReturnType<typeof deletionOf> {
  const { limits } = call;
  const raw = {
    bytes: await call.body(),
    contentType: header(call.request, "content-type"),
    maxValues: limits.maxValues,
    yaml: call.yaml,
  };
  call.receivedBody(raw);
  return deletionOf(raw, call.query);
}

function removedStatus(resource: Resource, entry: Entry): Status {
  const { name, uid } = objectOf(entry).metadata;
  const group = resource.group === "" ? {} : { group: resource.group };
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: { name: name ?? "", ...group, kind: resource.plural, uid: uid ?? "" },
  };
}

/** The DeleteOptions: from the body if there is one, else from the query. @throws StatusError BadRequest, Invalid. */
async function deletionOf(
  raw: RawBody,
  query: Query,
): Promise<{ readonly options: Deletion; readonly dryRun: boolean }> {
  const { dryRun, ...options } = raw.bytes.length === 0 ? fromQuery(query) : await fromBody(raw);
  const asked = [...(dryRun ?? []), ...query.getAll("dryRun")].filter((value) => value !== "");
  if (asked.some((value) => value !== "All")) {
    throw invalidObject({ group: "meta.k8s.io", kind: "DeleteOptions" }, "", [notSupported("dryRun", asked, ["All"])]);
  }
  return { options, dryRun: asked.length > 0 };
}

type Options = Deletion & { readonly dryRun?: readonly string[] };

async function fromBody(raw: RawBody): Promise<Options> {
  const { value } = await parseBody(raw, () => publishedMeta("DeleteOptions"));
  const { apiVersion: _version, kind: _kind, ...fields } = value;
  const kind = typeText(value, "kind");
  if (kind !== "" && kind !== "DeleteOptions") {
    throw badRequest(notRegistered(kind, typeText(value, "apiVersion") || "v1"));
  }
  try {
    return decodeObject(publishedMeta("DeleteOptions"), fields).object;
  } catch (error) {
    if (error instanceof DecodeError) throw badRequest(error.message);
    throw error;
  }
}

function fromQuery(query: Query): Options {
  const grace = countOf(query, "gracePeriodSeconds");
  const policy = query.get("propagationPolicy");
  const orphan = query.get("orphanDependents");
  return {
    ...(grace === undefined ? {} : { gracePeriodSeconds: grace }),
    ...(policy === null || policy === "" ? {} : { propagationPolicy: policy }),
    ...(orphan === null || orphan === "" ? {} : { orphanDependents: orphan !== "false" && orphan !== "0" }),
  };
}
