import { type Status, badRequest } from "../apimachinery/status.ts";
import { objectOf, type Entry } from "../registry/entry.ts";
import type { Resource } from "../apis/resource.ts";
import { entryReply, structured } from "./encode.ts";
import { header, type Reply, type Query } from "./http-types.ts";
import { listReply } from "./list-reply.ts";
import { defaultManager, countOf } from "./query-options.ts";
import { contextOf, namespaceOf, selectionIn, viewOf, type Call } from "./resource-call.ts";
import { decodeObject } from "../apimachinery/decode.ts";
import { DecodeError } from "../apimachinery/decode-error.ts";
import { invalidObject, notSupported } from "../apimachinery/field-error.ts";
import { publishedMeta } from "../apis/schemas/published.ts";
import type { Deletion } from "../registry/delete.ts";
import { parseBody, typeText, type RawBody } from "./body/decode-body.ts";
import { notRegistered } from "./body/undecodable.ts";

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

/** How something is to be deleted: from the body if there is one, else from the query. @throws StatusError BadRequest, Invalid. */
export async function deletionOf(
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
