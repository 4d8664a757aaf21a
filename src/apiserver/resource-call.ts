import type { OnAbort } from "../apimachinery/abort-listeners.ts";
import type { Clock } from "../apimachinery/clock.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { badRequest } from "../apimachinery/status.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import type { RequestContext } from "../registry/backend.ts";
import type { Credential } from "../apis/revocation-index.ts";
import type { Registry } from "../registry/registry.ts";
import { largeBytes, type Turn, type Turns } from "../registry/turns.ts";
import { selectionOf, type Selection } from "../registry/selection.ts";
import { speaksProtobuf } from "../serializer/protobuf/protobuf.ts";
import type { Resource, ShownAs, Subresource } from "../apis/resource.ts";
import type { Admitted } from "./admitted-request.ts";
import { objectOf, type Entry } from "../registry/entry.ts";
import { unstoredEntry } from "../registry/storable.ts";
import type { RequestInfo } from "./request-info.ts";
import type { AskKubelet } from "./kubelet/kubelet.ts";
import { includeObjectOf, type View, negotiate } from "./encode.ts";
import { header, type Incoming, type Query } from "./http-types.ts";
import type { WriteOptions } from "./query-options.ts";
import type { StreamLimiter } from "./connections/connection-limiter.ts";

export interface ResourceVerbsOptions {
  readonly registry: Registry;
  readonly clock: Clock;
  /** For the parts of large work; those of the registry. */
  readonly turns: Turns;
  /** A number from 0 up to 1, for spreading the ends of watches. */
  readonly chance: () => number;
  /** Aborts when the hub shuts down: open watches end in the normal way. */
  readonly shutdown: AbortSignal;
  /** One for all watches. */
  readonly onAbort: OnAbort;
  /** Aborts when the account of a user is deleted: its open watches end; undefined where that cannot happen. */
  readonly lifeOf: (user: UserInfo) => AbortSignal | undefined;
  /** Aborts when the Secret of a token is changed or deleted; undefined for other credentials. */
  readonly secretLifeOf: (credential: Credential) => AbortSignal | undefined;
  /** A signal that aborts when a credential is revoked: its watches and connections end. */
  readonly follow: (credential: Credential) => { readonly signal: AbortSignal; readonly release: () => void };
  /** What counts the events of one watch of a resource. */
  readonly watched: (resource: Resource) => (events: readonly { readonly length: number }[]) => void;
  readonly kubelet: { readonly ask: AskKubelet; readonly limit: StreamLimiter };
  /** Called with the resource of a watch that is ended because it was read too slowly. */
  readonly terminated: (resource: Resource) => void;
}

/** One request for a resource that exists. */
export interface Call extends Admitted {
  readonly resource: Resource;
  /** The resource of request and response bodies: itself, or the one that its subresource creates. */
  readonly kind: Resource;
  readonly options: ResourceVerbsOptions;
}

/** The request itself with three more fields: copying an object with a dozen fields would be the most expensive line of a GET. */
export function callOf(admitted: Admitted, of: Pick<Call, "resource" | "kind" | "options">): Call {
  return Object.assign(admitted, of);
}

/** The part of an object that a request is about; undefined for the object itself. */
export function subresourceOf({ subresources }: Resource, { subresource }: RequestInfo): Subresource | undefined {
  return Object.hasOwn(subresources, subresource) ? subresources[subresource] : undefined;
}

/** The own shape of a subresource, such as Scale. */
export function shownAsOf({ resource, info }: Call): ShownAs | undefined {
  return subresourceOf(resource, info)?.shownAs;
}

/** An entry in the shape of its subresource; itself where that has none of its own. */
export function shapedEntry(shownAs: ShownAs | undefined, entry: Entry): Entry {
  return shownAs === undefined ? entry : unstoredEntry(entry.key, shownAs.show(objectOf(entry)));
}

/** The namespace of the requested objects; a namespace itself is in none. */
export function namespaceOf({ info, resource }: Call): string {
  return resource.scope === "Namespaced" ? info.namespace : "";
}

/** How this call's answer is shown: as itself, as a table or as metadata, in the requested media type. */
export function viewOf(call: Call): View {
  const { kind: resource, now, request, query, yaml, flow } = call;
  const media = negotiate(header(request, "accept"), {
    meta: true,
    table: hasTable(call),
    protobuf: speaksProtobuf(resource) || "meta",
  });
  const { turns } = call.options;
  return {
    resource,
    now,
    yaml,
    turn: () => turns.next(flow),
    buffer: call.buffer,
    includeObject: media.as === "Table" ? includeObjectOf(query) : "Metadata",
    media: !media.pretty && prettyWanted(request, query) ? { ...media, pretty: true } : media,
  };
}

/** Reviews and some subresources have no table. Source: apiserver RequestScope.AllowsMediaTypeTransform. */
function hasTable({ kind, resource, info }: Call): boolean {
  const isAnswer = kind.verbs.length === 1 && kind.verbs[0] === "create";
  return !isAnswer && subresourceOf(resource, info)?.table !== false;
}

/** The selectors of the query. @throws StatusError BadRequest for one that cannot be read or that the resource does not know. */
export function selectionIn(call: Call): Selection {
  const { query, resource } = call;
  return selectionOf(resource, {
    labelSelector: query.get("labelSelector") ?? "",
    fieldSelector: query.get("fieldSelector") ?? "",
  });
}

/** How a call with a body of this many bytes waits for its turns; undefined for few bytes. */
export function turnOf({ options, flow }: Call, bytes: Buffer): Turn | undefined {
  return bytes.length < largeBytes ? undefined : () => options.turns.next(flow);
}

/** The context of this call for the registry: user, address, time, and options of the write. */
export function contextOf(
  call: Call,
  write: Pick<WriteOptions, "dryRun" | "fieldManager"> & Partial<Pick<WriteOptions, "asked">>,
  isLarge = false,
): RequestContext {
  const { user, requester, now, warn, annotate, request } = call;
  const { dryRun, fieldManager, asked = {} } = write;
  const source = { address: request.socket?.remoteAddress ?? "", userAgent: header(request, "user-agent") ?? "" };
  const impersonated = requester.user === user ? {} : { impersonator: requester.user };
  return { user, ...impersonated, source, now, warn, annotate, dryRun, isLarge, fieldManager, options: asked };
}

/** The object, synchronously where it is read already. @throws StatusError BadRequest where it names another place than the path. */
export function placedLater(call: Call, made: ApiObject | Promise<ApiObject>): ApiObject | Promise<ApiObject> {
  if (made instanceof Promise) return made.then((object) => placed(call, object));
  return placed(call, made);
}

function placed(call: Call, object: ApiObject): ApiObject {
  checkPlace(call, object);
  return object;
}

/** @throws StatusError BadRequest where the object names another place than the path. */
export function checkPlace(call: Call, object: ApiObject): void {
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

/** @throws StatusError BadRequest where the object names another namespace than the path. */
export function checkNamespace({ resource, info }: Call, { metadata: { namespace = "" } }: ApiObject): void {
  if (namespace === "" || resource.scope === "Cluster" || namespace === info.namespace) return;
  throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
}

/** The prefixes of interactive user agents. Source: apiserver pkg/endpoints/handlers/negotiation isPrettyPrint. */
const interactiveClients = /^(?:curl|Wget|Mozilla\/5\.0)/;

/** Whether JSON is indented: by the query, else for tools that show it to a person. */
function prettyWanted(request: Incoming, query: Query): boolean {
  const asked = query.get("pretty") ?? "";
  if (asked !== "") return asked === "true" || asked === "1";
  return interactiveClients.test(header(request, "user-agent") ?? "");
}

/** What ends watches and connections of a credential: the end of the hub, of the account, of the token's Secret, of the credential. */
export function endingsOf({ options, requester: { user, credential } }: Call): {
  readonly signals: readonly AbortSignal[];
  /** To be called once at the end. */
  readonly release: () => void;
} {
  const { shutdown, lifeOf, secretLifeOf, follow } = options;
  const followed = credential && follow(credential);
  const others = [lifeOf(user), credential && secretLifeOf(credential), followed?.signal];
  const signals = [shutdown, ...others.filter((signal) => signal !== undefined)];
  return { signals, release: () => followed?.release() };
}
