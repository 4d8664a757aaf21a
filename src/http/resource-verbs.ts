import type { Clock } from "../core/clock.ts";
import { listFrom, readVersion, watchStart } from "../core/resource-version.ts";
import type { ApiObject } from "../core/object.ts";
import { pathSegmentProblems } from "../core/names.ts";
import type { UserInfo } from "../core/user.ts";
import { StatusError, badRequest, methodNotAllowed, notFound, type Status } from "../core/status.ts";
import type { Verb } from "../resources/resource.ts";
import type { RequestContext } from "../registry/context.ts";
import { objectOf, type Entry } from "../registry/entry.ts";
import type { Registry } from "../registry/registry.ts";
import { selectionOf, type Selection } from "../registry/selection.ts";
import { applierOf, applyType } from "./apply-body.ts";
import { mediaType, objectOfBody, parseBody, refuseProtobuf } from "./decode-body.ts";
import { deletionOf } from "./delete-options.ts";
import { entryReply, includeObjectOf, listReply, structured, type View } from "./encode.ts";
import { flag, header, type Reply } from "./exchange.ts";
import { negotiate } from "./negotiate.ts";
import { patcherOf } from "./patch-body.ts";
import { prettyWanted } from "./pretty.ts";
import type { Admitted, Handler } from "./pipeline.ts";
import { countOf, defaultManager, writeOptions, type WriteOptions } from "./query-options.ts";
import { speaksProtobuf } from "../resources/protobuf-kinds.ts";
import { kindOf, type Resource, type ShownAs, type Subresource } from "../resources/resource.ts";
import { unknownPath } from "./routes.ts";
import { readEntry, shapedChange, shapedEntry } from "./shown-as.ts";
import { unrecognized } from "./undecodable.ts";
import { watchFrames } from "./watch-frames.ts";
import { watchStream } from "./watch-stream.ts";
import { writeHead } from "./respond.ts";

export interface ResourceVerbsOptions {
  readonly registry: Registry;
  readonly clock: Clock;
  /** A number from 0 up to 1, for spreading the ends of watches. */
  readonly chance: () => number;
  /** Aborts when the hub shuts down: open watches end in the normal way. */
  readonly shutdown: AbortSignal;
  /** Aborts when a user is nobody any more: its open watches end; undefined where that cannot be. */
  readonly lifeOf: (user: UserInfo) => AbortSignal | undefined;
}

/** One request for a resource that exists. */
interface Call extends Admitted {
  readonly resource: Resource;
  /** What is sent and answered: the resource itself, or what its subresource creates. */
  readonly kind: Resource;
  readonly options: ResourceVerbsOptions;
}

/** A watch without timeoutSeconds lasts once to twice this long. Source: apiserver's MinRequestTimeout. */
const watchSeconds = 1800;

const verbs: Readonly<Record<string, (call: Call) => Promise<Reply | "streamed">>> = {
  get,
  list,
  watch,
  create,
  update,
  patch,
  delete: remove,
  deletecollection: removeCollection,
};

/** Serves everything under /api/<version> and /apis/<group>/<version>. */
export function resourceVerbs(options: ResourceVerbsOptions): Handler {
  return async function serveResource(admitted) {
    const { info } = admitted;
    const resource = options.registry.find(info.group, info.version, info.resource);
    if (resource === undefined || (resource.scope === "Cluster" && isBelowNamespace(info))) throw unknownPath();
    const verb = Object.hasOwn(verbs, info.verb) ? verbs[info.verb] : undefined;
    const offered = offeredVerbs(resource, info);
    checkName(info);
    // As in Kubernetes, objects of built-in kinds know no HEAD.
    const head = admitted.request.method === "HEAD" && resource.custom === undefined;
    if (head || verb === undefined || !offered.includes(info.verb as Verb) || !pathFits(resource, info)) {
      throw resource.custom === undefined ? notAllowed() : notAllowedOfCustom(resource, info);
    }
    if (resource.custom?.warning !== undefined) admitted.warn(resource.custom.warning);
    const kind = info.subresource === "" ? resource : kindOf(resource, subresourceOf(resource, info));
    return verb(callOf(admitted, { resource, kind, options }));
  };
}

/** @throws StatusError NotFound where there is nothing at all. */
function offeredVerbs(resource: Resource, info: Admitted["info"]): readonly Verb[] {
  const offered = info.subresource === "" ? resource.verbs : subresourceOf(resource, info)?.verbs;
  if (offered === undefined && resource.custom !== undefined) throw notFound(resource, info.name);
  if (offered === undefined || isNamedReview(resource, info)) throw unknownPath();
  return offered;
}

/** Field by field: spreading one object with a dozen fields into another was the dearest line of a GET. */
function callOf(admitted: Admitted, of: Pick<Call, "resource" | "kind" | "options">): Call {
  const { request, response, info, query, user, now, warn, annotate, body, heard, alsoMay, common, streaming } =
    admitted;
  const { resource, kind, options } = of;
  return {
    request,
    response,
    info,
    query,
    user,
    now,
    warn,
    annotate,
    body,
    heard,
    alsoMay,
    common,
    streaming,
    resource,
    kind,
    options,
  };
}

function subresourceOf({ subresources }: Resource, { subresource }: Admitted["info"]): Subresource | undefined {
  return Object.hasOwn(subresources, subresource) ? subresources[subresource] : undefined;
}

function shownAsOf({ resource, info }: Call): ShownAs | undefined {
  return subresourceOf(resource, info)?.shownAs;
}

/** @throws StatusError BadRequest for a name that no object can have. */
function checkName({ verb, name }: Admitted["info"]): void {
  const problems = verbsOfOne.has(verb) && name !== "" ? pathSegmentProblems(name) : [];
  if (problems.length > 0) throw badRequest(`Name parameter invalid: ${JSON.stringify(name)}: ${problems.join(";")}`);
}

function isBelowNamespace({ group, resource, namespace }: Admitted["info"]): boolean {
  return namespace !== "" && !(group === "" && resource === "namespaces");
}

const verbsOfOne: ReadonlySet<string> = new Set(["get", "update", "patch", "delete"]);
const verbsOverAll: ReadonlySet<string> = new Set(["list", "watch"]);

/** One object is spoken of by name and many without; a namespaced kind is only read without a namespace. */
function pathFits(resource: Resource, { verb, name, namespace, subresource }: Admitted["info"]): boolean {
  if (verbsOfOne.has(verb) && name === "") return false;
  if (verb === "create" && name !== "" && subresource === "") return false;
  return resource.scope === "Cluster" || namespace !== "" || verbsOverAll.has(verb);
}

/** Reviews are not kept, so that there is nothing under a name. */
function isNamedReview(resource: Resource, { verb, name, subresource }: Admitted["info"]): boolean {
  return (
    subresource === "" &&
    name !== "" &&
    (verb === "create" || verbsOfOne.has(verb)) &&
    !resource.verbs.some((offered) => verbsOfOne.has(offered))
  );
}

/** The 405 for a method that a path does not have. */
function notAllowed(): StatusError {
  return new StatusError("MethodNotAllowed", "the server does not allow this method on the requested resource", {
    details: {},
  });
}

/** Of custom kinds Kubernetes says what it is that is not done. */
function notAllowedOfCustom(resource: Resource, { verb, name, subresource }: Admitted["info"]): StatusError {
  if (subresource !== "" && (verb === "create" || verb === "delete")) return methodNotAllowed(resource, verb);
  return name === "" && (verb === "update" || verb === "patch") ? badRequest("name must be provided") : notAllowed();
}

/** The namespace of the objects spoken of; a namespace itself lies in none. */
function namespaceOf({ info, resource }: Call): string {
  return resource.scope === "Namespaced" ? info.namespace : "";
}

function viewOf(call: Call): View {
  const { kind: resource, now, request, query } = call;
  const media = negotiate(header(request, "accept"), { meta: true, protobuf: speaksProtobuf(resource) || "meta" });
  return {
    resource,
    now,
    includeObject: media.as === "Table" ? includeObjectOf(query) : "Metadata",
    media: !media.pretty && prettyWanted(request, query) ? { ...media, pretty: true } : media,
  };
}

function selectionIn(call: Call): Selection {
  const { query, resource } = call;
  return selectionOf(resource, {
    labelSelector: query.get("labelSelector") ?? "",
    fieldSelector: query.get("fieldSelector") ?? "",
  });
}

function contextOf(
  call: Call,
  write: Pick<WriteOptions, "dryRun" | "fieldManager"> & Partial<Pick<WriteOptions, "asked">>,
): RequestContext {
  const { user, now, warn, annotate, request } = call;
  const { dryRun, fieldManager, asked = {} } = write;
  const source = { address: request.socket?.remoteAddress ?? "", userAgent: header(request, "user-agent") ?? "" };
  return { user, source, now, warn, annotate, dryRun, fieldManager, options: asked };
}

async function get(call: Call): Promise<Reply> {
  const view = viewOf(call);
  const { resource } = call;
  // Kubernetes reads all but events from a cache, whose answer to what is no number has no reason.
  const refuse = (why: string): StatusError =>
    resource.plural === "events" ? badRequest(`invalid resource version: ${why}`) : new StatusError("", why);
  const atLeast = readVersion(call.query.get("resourceVersion"), refuse);
  const entry = await call.options.registry.get(call.resource, {
    namespace: namespaceOf(call),
    name: call.info.name,
    atLeast,
  });
  return entryReply(view, readEntry(shownAsOf(call), entry), 200);
}

async function list(call: Call): Promise<Reply> {
  const view = viewOf(call);
  const { query } = call;
  const limit = Math.max(countOf(query, "limit") ?? 0, 0);
  countOf(query, "timeoutSeconds");
  const listed = await call.options.registry.list(call.resource, {
    namespace: namespaceOf(call),
    selection: selectionIn(call),
    from: listFrom(query, limit),
    limit: limit === 0 ? undefined : limit,
  });
  return listReply(view, listed);
}

async function watch(call: Call): Promise<"streamed"> {
  const { query, response, options } = call;
  const view = viewOf(call);
  const selection = selectionIn(call);
  const start = watchStart(query);
  const seconds = countOf(query, "timeoutSeconds") ?? 0;
  countOf(query, "limit");
  const timeoutMs = 1000 * (seconds > 0 ? seconds : watchSeconds * (1 + options.chance()));
  const encoder = watchFrames(view);
  let wake = (): void => undefined;
  const handle = await startWatch(call, { selection, start, wake: () => wake() });
  const headers = { "cache-control": "no-cache, private", ...call.common(), "content-type": encoder.contentType };
  writeHead(response, 200, headers);
  (response as { flushHeaders?: () => void }).flushHeaders?.();
  call.streaming();
  if (call.request.method === "HEAD") {
    if (!(handle instanceof StatusError)) handle.close();
    response.end();
    return "streamed";
  }
  if (handle instanceof StatusError) {
    response.end(encoder.error(handle));
    return "streamed";
  }
  const stream = watchStream({
    handle,
    response,
    encoder,
    clock: options.clock,
    timeoutMs,
    bookmarks: flag(query, "allowWatchBookmarks"),
    signals: [options.shutdown, options.lifeOf(call.user) ?? []].flat(),
  });
  wake = stream.wake;
  stream.wake();
  await stream.done;
  return "streamed";
}

type WatchRequest = Omit<Parameters<Registry["watch"]>[1], "namespace">;

/** History that is gone is told inside the stream, where reflectors look for it. */
async function startWatch(
  call: Call,
  request: WatchRequest,
): Promise<Awaited<ReturnType<Registry["watch"]>> | StatusError> {
  try {
    return await call.options.registry.watch(call.resource, { namespace: namespaceOf(call), ...request });
  } catch (error) {
    if (error instanceof StatusError && error.reason === "Expired") return error;
    throw error;
  }
}

/** The object in the body, of the kind that is asked for. */
async function objectIn(call: Call, { fieldValidation }: WriteOptions): Promise<ApiObject> {
  const contentType = header(call.request, "content-type");
  if (!speaksProtobuf(call.kind)) refuseProtobuf(contentType);
  const bytes = await call.body();
  const refuse = unrecognized(call.kind, bytes);
  const parsed = await parseBody({ bytes, contentType }, () => call.kind.schema, refuse);
  call.heard(parsed);
  const { warn, kind: resource, options } = call;
  return objectOfBody(parsed, { resource, fieldValidation, warn, refuse, kinds: options.registry.resources });
}

async function create(call: Call): Promise<Reply> {
  const view = viewOf(call);
  const { resource, info, query } = call;
  const write = writeOptions(call.request, query, "CreateOptions");
  const object = await objectIn(call, write);
  checkNamespace(call, object);
  const request = { namespace: namespaceOf(call), object, context: contextOf(call, write) };
  const { registry } = call.options;
  const entry =
    info.subresource === ""
      ? await registry.create(resource, request)
      : await registry.createUnder(resource, { ...request, name: info.name, subresource: info.subresource });
  return entryReply(view, entry, 201);
}

async function update(call: Call): Promise<Reply> {
  const view = viewOf(call);
  const { info, resource, query } = call;
  const write = writeOptions(call.request, query, "UpdateOptions");
  const shownAs = shownAsOf(call);
  const object = await objectIn(call, write);
  checkPlace(call, object);
  const named = { ...object, metadata: { ...object.metadata, name: info.name } };
  const { entry, created } = await call.options.registry.update(resource, {
    namespace: namespaceOf(call),
    name: info.name,
    subresource: info.subresource,
    desired: shapedChange(shownAs, () => named),
    whenMissing: { object: named, mayCreate: () => call.alsoMay("create") },
    context: contextOf(call, write),
  });
  return entryReply(view, shapedEntry(shownAs, entry), created ? 201 : 200);
}

async function patch(call: Call): Promise<Reply> {
  const contentType = header(call.request, "content-type");
  if (mediaType(contentType) === applyType) return apply(call);
  const view = viewOf(call);
  const { info, resource, query } = call;
  const write = writeOptions(call.request, query, "PatchOptions");
  const { fieldValidation } = write;
  const shownAs = shownAsOf(call);
  const strategic = resource.custom === undefined;
  const desired = patcherOf({ contentType, resource: call.kind, strategic, query, fieldValidation, warn: call.warn });
  const bytes = await call.body();
  call.heard({ bytes, contentType });
  const patched = await desired(bytes);
  const { entry } = await call.options.registry.update(resource, {
    namespace: namespaceOf(call),
    name: info.name,
    subresource: info.subresource,
    desired: shapedChange(shownAs, (stored) => placed(call, patched(stored))),
    context: contextOf(call, write),
  });
  return entryReply(view, shapedEntry(shownAs, entry), 200);
}

async function apply(call: Call): Promise<Reply> {
  const view = viewOf(call);
  const { info, resource, query } = call;
  const context = contextOf(call, writeOptions(call.request, query, "PatchOptions"));
  const { name, subresource } = info;
  const shownAs = shownAsOf(call);
  const applier = applierOf({ write: { resource, subresource, context }, name, shownAs, query });
  const bytes = await call.body();
  call.heard({ bytes, contentType: header(call.request, "content-type") });
  const applied = await applier(bytes);
  const { entry, created } = await call.options.registry.update(resource, {
    namespace: namespaceOf(call),
    name,
    subresource,
    applied: true,
    desired: (stored) => placed(call, applied(stored)),
    whenMissing: { object: () => placed(call, applied(undefined)), mayCreate: () => call.alsoMay("create") },
    context,
  });
  return entryReply(view, shapedEntry(shownAs, entry), created ? 201 : 200);
}

async function remove(call: Call): Promise<Reply> {
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

async function removeCollection(call: Call): Promise<Reply> {
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
  const raw = { bytes: await call.body(), contentType: header(call.request, "content-type") };
  call.heard(raw);
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

/** The very object. @throws StatusError BadRequest where it names another place than the path. */
function placed(call: Call, object: ApiObject): ApiObject {
  checkPlace(call, object);
  return object;
}

/** @throws StatusError BadRequest where the object names another place than the path. */
function checkPlace(call: Call, object: ApiObject): void {
  const { name = "" } = object.metadata;
  if (name === "") {
    throw badRequest(
      `the name of the object (${call.info.name} based on URL) was undeterminable: name must be provided`,
    );
  }
  if (name !== call.info.name) {
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${call.info.name})`);
  }
  checkNamespace(call, object);
}

function checkNamespace({ resource, info }: Call, { metadata: { namespace = "" } }: ApiObject): void {
  if (namespace === "" || resource.scope === "Cluster" || namespace === info.namespace) return;
  throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
}
