import type { ApiObject } from "../apimachinery/object.ts";
import type { ObjectSchema } from "../apimachinery/schema.ts";
import { StatusError, badRequest } from "../apimachinery/status.ts";
import { encodeProtobuf } from "../serializer/protobuf/protobuf.ts";
import type { Resource } from "../apis/resource.ts";
import { partialObjectMetadataSchema } from "../apis/schemas/shorthand.ts";
import { publishedMeta } from "../apis/schemas/published.ts";
import {
  parseIncludeObject,
  tableFor,
  type IncludeObject,
  type Table,
  type TableOptions,
} from "../serializer/table.ts";
import { objectOf, type Entry } from "../registry/entry.ts";
import type { YamlWork } from "../serializer/yaml/yaml-thread.ts";
import type { Query, Reply } from "./http-types.ts";
import type { SendBuffer } from "./connections/send-buffers.ts";
import { internalType } from "./body/undecodable.ts";
import { yamlOfJson } from "./yaml.ts";

/** The requested form of a reply. `as` is set for another kind than the resource's own. */
export interface MediaType {
  readonly format: "json" | "yaml" | "protobuf";
  readonly as: "Table" | "PartialObjectMetadata" | "PartialObjectMetadataList" | undefined;
  /** meta.k8s.io version of `as`. */
  readonly version: string;
  readonly pretty: boolean;
  /** `g=apidiscovery.k8s.io;v=…;as=APIGroupDiscoveryList`: the requested version. */
  readonly discovery: "v2" | "v2beta1" | undefined;
}

const formats: ReadonlyMap<string, MediaType["format"]> = new Map([
  ["application/json", "json"],
  ["application/yaml", "yaml"],
  ["application/vnd.kubernetes.protobuf", "protobuf"],
  ["*/*", "json"],
  ["application/*", "json"],
]);

export const contentTypes: Readonly<Record<MediaType["format"], string>> = {
  json: "application/json",
  yaml: "application/yaml",
  protobuf: "application/vnd.kubernetes.protobuf",
};

const plainJson: MediaType = { format: "json", as: undefined, version: "", pretty: false, discovery: undefined };
const metaKinds: ReadonlySet<string> = new Set(["Table", "PartialObjectMetadata", "PartialObjectMetadataList"]);
const metaVersions: ReadonlySet<string> = new Set(["v1", "v1beta1"]);
const maxClauses = 32;

/** The forms that are available besides the three formats of every object. */
export interface Offer {
  readonly meta: boolean;
  /** Whether there are tables among `meta`, in JSON and YAML. Default true. */
  readonly table?: boolean;
  /** `meta`: metadata alone, of kinds that have no protobuf themselves. */
  readonly protobuf: boolean | "meta";
  readonly discovery?: boolean;
}

/**
 * The first clause of an Accept header, in q order, that can be served; others are skipped.
 * @throws StatusError NotAcceptable when none can.
 */
export function negotiate(accept: string | undefined, offer: Offer): MediaType {
  if (accept === undefined || accept === "" || accept === "*/*" || accept === "application/json") return plainJson;
  for (const clause of sortedClauses(accept)) {
    const type = fromClause(clause, offer);
    if (type !== undefined) return type;
  }
  const accepted = Object.values(contentTypes).filter(
    (type) => offer.protobuf !== false || type !== contentTypes.protobuf,
  );
  throw new StatusError("NotAcceptable", `only the following media types are accepted: ${accepted.join(", ")}`);
}

interface Clause {
  readonly base: string;
  readonly params: ReadonlyMap<string, string>;
  readonly q: number;
}

function sortedClauses(accept: string): readonly Clause[] {
  const clauses = accept.split(",", maxClauses).map(parseClause);
  return clauses.every(({ q }) => q === 1) ? clauses : clauses.sort((a, b) => b.q - a.q);
}

function parseClause(text: string): Clause {
  const [base = "", ...rest] = text.split(";").map((part) => part.trim());
  const params = new Map<string, string>();
  for (const param of rest) {
    const [name = "", value = ""] = param.split("=", 2);
    params.set(name.trim(), value.trim());
  }
  const q = Number(params.get("q") ?? 1);
  return { base: base.toLowerCase(), params, q: Number.isFinite(q) ? q : 0 };
}

function fromClause({ base, params, q }: Clause, offer: Offer): MediaType | undefined {
  const format = formats.get(base);
  if (format === undefined || q <= 0 || (format === "protobuf" && offer.protobuf === false)) return undefined;
  if (format === "protobuf" && offer.protobuf === "meta" && !params.has("as")) return undefined;
  const pretty = params.get("pretty") === "1" || params.get("pretty") === "true";
  const plain: MediaType = { format, as: undefined, version: "", pretty, discovery: undefined };
  return params.has("as") ? transformed(plain, params, offer) : plain;
}

/** The form that the parameters as, g and v request; undefined where it is not available. */
function transformed(plain: MediaType, params: Clause["params"], offer: Offer): MediaType | undefined {
  const [as, group, version = ""] = [params.get("as"), params.get("g"), params.get("v")];
  if (as === "APIGroupDiscoveryList") {
    const isOnOffer = offer.discovery === true && plain.format === "json";
    return isOnOffer && isDiscoveryVersion(version) ? { ...plain, discovery: version } : undefined;
  }
  const isKnown = group === "meta.k8s.io" && metaVersions.has(version);
  return isKnown && isMetaKind(as) && isOffered(as, plain, offer) ? { ...plain, as, version } : undefined;
}

function isOffered(as: MediaType["as"], { format }: MediaType, { meta, table: hasTable }: Offer): boolean {
  return meta && (as !== "Table" || (hasTable !== false && format !== "protobuf"));
}

function isDiscoveryVersion(version: string): version is NonNullable<MediaType["discovery"]> {
  return version === "v2" || version === "v2beta1";
}

function isMetaKind(as: string | undefined): as is NonNullable<MediaType["as"]> {
  return as !== undefined && metaKinds.has(as);
}

/** How objects of one resource are to be shown to one client. */
export interface View {
  readonly media: MediaType;
  readonly resource: Resource;
  /** Milliseconds since the epoch, for ages in tables. */
  readonly now: number;
  readonly includeObject: IncludeObject;
  /** Writes YAML. */
  readonly yaml: YamlWork;
  /** Waits until the next part of a large answer may be encoded. */
  readonly turn: () => Promise<void>;
  /** The share of this answer in the send buffers. */
  readonly buffer: () => SendBuffer;
}

/** The `includeObject` of the query, for tables. @throws StatusError BadRequest for an unknown one. */
export function includeObjectOf(query: Query): IncludeObject {
  const value = parseIncludeObject(query.get("includeObject"));
  if (value === undefined) {
    throw badRequest(
      `unrecognized includeObject value: ${JSON.stringify(query.get("includeObject"))}; allowed are None, Metadata and Object`,
    );
  }
  return value;
}

/** Characters up to which an object is encoded without a reservation. */
const maxUnreserved = 16 * 1024;

/** Whether objects are sent as they are in the cache. */
export function isPlainJson({ as, format, pretty }: MediaType): boolean {
  return as === undefined && format === "json" && !pretty;
}

/** One object as a reply. Plain JSON is sent as it is in the cache. */
export async function entryReply(view: View, entry: Entry, status: number): Promise<Reply> {
  const { media, resource } = view;
  if (isPlainJson(media)) {
    return { status, contentType: contentTypes.json, body: entry.json };
  }
  if (media.as === "PartialObjectMetadataList") {
    throw notAcceptable(
      `you requested PartialObjectMetadataList, but the requested object is not a list (*${internalType(resource)})`,
    );
  }
  // Encoding for one client waits until the send buffers have room for it.
  if (entry.json.length > maxUnreserved && (await view.buffer().reserve(entry.json.length)) === "closed") {
    // The client has disconnected; nothing is encoded for it.
    return { status, contentType: contentTypes.json, body: entry.json };
  }
  if (media.as === undefined && media.format === "yaml") {
    const body = await yamlOfJson(view.yaml, entry.json);
    return { status, contentType: contentTypes.yaml, body, plain: () => objectOf(entry) };
  }
  const object = objectOf(entry);
  if (media.as === "Table") return structured(view, table(view, [object], { metadata: versionOf(object) }), status);
  if (media.as !== undefined) return structured(view, partial(object, media.version), status);
  if (media.format === "protobuf") {
    return {
      status,
      contentType: contentTypes.protobuf,
      body: Buffer.from(encodeProtobuf(object, resource.schema)),
      plain: () => object,
    };
  }
  return structured(view, object, status);
}

/** Any JSON value in the requested format; protobuf only where it is an object's metadata or a Status. */
export async function structured(view: Pick<View, "media" | "yaml">, value: object, status: number): Promise<Reply> {
  const { format, pretty } = view.media;
  if (format === "yaml") {
    const body = await yamlOfJson(view.yaml, JSON.stringify(value));
    return { status, contentType: contentTypes.yaml, body, plain: () => value };
  }
  const schema = format === "protobuf" && "kind" in value ? metaSchema(String(value.kind)) : undefined;
  if (schema !== undefined) {
    return {
      status,
      contentType: contentTypes.protobuf,
      body: Buffer.from(encodeProtobuf({ ...value }, schema)),
      plain: () => value,
    };
  }
  const body = pretty ? `${JSON.stringify(value, null, 2)}\n` : JSON.stringify(value);
  return { status, contentType: contentTypes.json, body };
}

/** The metadata of a table or an event that shows one object. */
export function versionOf({ metadata: { resourceVersion = "" } }: ApiObject): { readonly resourceVersion: string } {
  return { resourceVersion };
}

/** An object reduced to its metadata. */
export function partial(object: ApiObject, version: string): ApiObject {
  return { kind: "PartialObjectMetadata", apiVersion: `meta.k8s.io/${version}`, metadata: object.metadata };
}

/** A table of some objects; `columnDefinitions` is left out from the second event of a watch on. */
export function table(
  { resource, now, includeObject, media }: View,
  objects: readonly ApiObject[],
  about: Pick<TableOptions, "metadata" | "columnDefinitions">,
): Table {
  const version = media.version === "v1beta1" ? "v1beta1" : "v1";
  return tableFor(resource, objects, { now, includeObject, version, ...about });
}

/** What can be encoded in protobuf besides objects of the resource itself. */
function metaSchema(kind: string): ObjectSchema | undefined {
  if (kind === "PartialObjectMetadata") return partialObjectMetadataSchema;
  return kind === "Status" ? publishedMeta("Status") : undefined;
}

/** The error for a form that this answer cannot have. */
export function notAcceptable(message: string): StatusError {
  return new StatusError("NotAcceptable", message);
}
