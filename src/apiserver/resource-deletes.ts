import type { Status } from "../apimachinery/status.ts";
import { objectOf, type Entry } from "../registry/entry.ts";
import type { Resource } from "../apis/resource.ts";
import { deletionOf } from "./body/delete-options.ts";
import { entryReply, structured } from "./encode.ts";
import { header, type Reply } from "./http-types.ts";
import { listReply } from "./list-reply.ts";
import { defaultManager } from "./query-options.ts";
import { contextOf, namespaceOf, selectionIn, viewOf, type Call } from "./resource-call.ts";

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
