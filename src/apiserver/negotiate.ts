import { StatusError } from "../apimachinery/status.ts";

/** The form in which a reply is wanted. `as` asks for another kind than the resource's own. */
export interface MediaType {
  readonly format: "json" | "yaml" | "protobuf";
  readonly as: "Table" | "PartialObjectMetadata" | "PartialObjectMetadataList" | undefined;
  /** meta.k8s.io version of `as`. */
  readonly version: string;
  readonly pretty: boolean;
  /** `g=apidiscovery.k8s.io;v=…;as=APIGroupDiscoveryList`: the version asked for. */
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
const maxClauses = 32;

/** What may be answered besides the three formats of every object. */
export interface Offer {
  readonly meta: boolean;
  /** Whether there are tables among `meta`, in JSON and YAML. Default true. */
  readonly table?: boolean;
  /** `meta`: metadata alone, of kinds that have no protobuf themselves. */
  readonly protobuf: boolean | "meta";
  readonly discovery?: boolean;
}

/**
 * The first clause of an Accept header, in q order, that can be served; clauses that cannot are passed over.
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

/** What the parameters as, g and v ask for; undefined where it is not on offer. */
function transformed(plain: MediaType, params: Clause["params"], offer: Offer): MediaType | undefined {
  const [as = "", group, version = ""] = [params.get("as"), params.get("g"), params.get("v")];
  if (as === "APIGroupDiscoveryList") {
    const known = offer.discovery === true && plain.format === "json" && (version === "v2" || version === "v2beta1");
    return known ? { ...plain, discovery: version } : undefined;
  }
  const known = offer.meta && group === "meta.k8s.io" && isMetaKind(as) && (version === "v1" || version === "v1beta1");
  if (!known || (as === "Table" && (offer.table === false || plain.format === "protobuf"))) return undefined;
  return { ...plain, as, version };
}

function isMetaKind(as: string): as is NonNullable<MediaType["as"]> {
  return metaKinds.has(as);
}
