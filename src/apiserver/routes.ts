import { StatusError } from "../apimachinery/status.ts";
import { type OpenApiDocuments, document, documentReply, hashedReply, type Document } from "./open-api.ts";
import type { YamlWork } from "../serializer/yaml/yaml-thread.ts";
import type { Admitted } from "./admitted-request.ts";
import { aggregatedList, discoveryOf, type Discovery } from "./discovery.ts";
import { header, type Reply } from "./http-types.ts";
import { health, type HealthChecks } from "./health.ts";
import { contentTypes, negotiate } from "./encode.ts";
import type { Resource } from "../apis/resource.ts";
import { yamlOfJson } from "./yaml.ts";
import { jsonWebKeySet, type TokenKey } from "../authentication/service-account-keys.ts";

export interface RouteOptions {
  /** The resources served now; another array whenever they change. */
  readonly resources: () => readonly Resource[];
  readonly openApi: (resources: readonly Resource[]) => OpenApiDocuments;
  readonly health: HealthChecks;
  readonly metrics: () => Promise<{ readonly contentType: string; readonly body: string }>;
  readonly version: object;
  readonly issuer: PublishedIssuer;
  /** The hub's own documents below `/.well-known/`, besides the issuer; undefined where there is none. */
  readonly wellKnown: (path: string, admitted: Admitted) => Reply | undefined;
  /** The signed revocation lists, by the path below `/revocations`. */
  readonly revocations: (rest: string) => Promise<Reply | undefined>;
  /** `host:port` as clients reach this hub. */
  readonly serverAddress: () => string;
}

type Route = (admitted: Admitted, rest: string) => Promise<Reply | undefined>;

/** Serves all paths but resources: discovery, OpenAPI, health, version, metrics. Unknown paths are 404. */
export function routes(options: RouteOptions): (admitted: Admitted) => Promise<Reply> {
  const derived = derivedDocuments(options);
  const healthRoute =
    (endpoint: keyof HealthChecks): Route =>
    async ({ query, info: { path } }) => {
      // Not `rest`: a path with a slash at the end is another one, as in kube-apiserver.
      const slash = path.indexOf(`/${endpoint}/`);
      const only = slash < 0 ? undefined : path.slice(slash + endpoint.length + 2);
      return health(endpoint, { checks: options.health, query, only });
    };
  const issuerRoute =
    (first: string): Route =>
    async (_admitted, rest) =>
      issuerDocument(`/${first}/${rest}`, options.issuer, options.serverAddress());
  const issuer = issuerRoute(".well-known");
  const exact: Readonly<Record<string, Route>> = {
    ".well-known": async (admitted, rest) =>
      options.wellKnown(`/.well-known/${rest}`, admitted) ?? issuer(admitted, rest),
    api: async (admitted, rest) => derived().api(admitted, rest),
    apis: async (admitted, rest) => derived().apis(admitted, rest),
    openapi: async (admitted, rest) => derived().openApi(admitted, rest),
    openid: issuerRoute("openid"),
    revocations: async (_admitted, rest) => options.revocations(rest),
    healthz: healthRoute("healthz"),
    livez: healthRoute("livez"),
    readyz: healthRoute("readyz"),
    version: async (_admitted, rest) => (rest === "" ? json(options.version) : undefined),
    metrics: async (_admitted, rest) => (rest === "" ? { status: 200, ...(await options.metrics()) } : undefined),
    "": async (_admitted, rest) => (rest === "" ? json({ paths: derived().paths }) : undefined),
  };
  return async (admitted) => {
    const { path } = admitted.info;
    const trimmed = withoutOuterSlashes(path);
    const slash = trimmed.indexOf("/");
    const first = slash < 0 ? trimmed : trimmed.slice(0, slash);
    const route = Object.hasOwn(exact, first) ? exact[first] : undefined;
    const reply = await route?.(admitted, slash < 0 ? "" : trimmed.slice(slash + 1));
    if (reply === undefined) throw unknownPath();
    if (admitted.request.method !== "GET" && admitted.request.method !== "HEAD") {
      throw new StatusError("MethodNotAllowed", "the server does not allow this method on the requested resource", {
        details: {},
      });
    }
    return reply;
  };
}

const slashCode = 0x2f;

/** A loop, since a regular expression anchored at the end retries at each slash. */
function withoutOuterSlashes(path: string): string {
  let start = 0;
  let end = path.length;
  while (start < end && path.charCodeAt(start) === slashCode) start += 1;
  while (end > start && path.charCodeAt(end - 1) === slashCode) end -= 1;
  return path.slice(start, end);
}

/** The 404 for an unknown path. */
export function unknownPath(): StatusError {
  return new StatusError("NotFound", "the server could not find the requested resource", { details: {} });
}

interface Derived {
  readonly paths: readonly string[];
  readonly api: (admitted: Admitted, rest: string) => Reply | undefined | Promise<Reply | undefined>;
  readonly apis: (admitted: Admitted, rest: string) => Reply | undefined | Promise<Reply | undefined>;
  readonly openApi: (admitted: Admitted, rest: string) => Promise<Reply | undefined>;
}

/** Documents of the resources, cached until those change. */
function derivedDocuments(options: RouteOptions): () => Derived {
  let made: { readonly from: readonly Resource[]; readonly derived: Derived } | undefined;
  return () => {
    const resources = options.resources();
    if (made?.from !== resources) made = { from: resources, derived: derive(resources, options) };
    return made.derived;
  };
}

function derive(resources: readonly Resource[], options: RouteOptions): Derived {
  const discovery = discoveryOf(resources, options.serverAddress());
  const fixed = new Map<string, Document>();
  const kept = (key: string, make: () => object, contentType = "application/json"): Document => {
    const doc = fixed.get(key) ?? document(JSON.stringify(make()), contentType);
    fixed.set(key, doc);
    return doc;
  };
  const root =
    (name: string, legacy: object, items: readonly object[]) =>
    (admitted: Admitted): Reply => {
      const { discovery: version } = negotiate(header(admitted.request, "accept"), {
        meta: false,
        protobuf: false,
        discovery: true,
      });
      const type = `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
      const doc =
        version === undefined
          ? kept(name, () => legacy)
          : kept(`${name} ${version}`, () => aggregatedList(items, version), type);
      return documentReply(doc, header(admitted.request, "if-none-match"));
    };
  const plain = async (key: string, value: object | undefined, admitted: Admitted): Promise<Reply | undefined> => {
    if (value === undefined) return undefined;
    const { format } = negotiate(header(admitted.request, "accept"), { meta: false, protobuf: true });
    const doc = format === "yaml" ? await inYaml(admitted.yaml, value) : kept(key, () => value);
    return documentReply(doc, header(admitted.request, "if-none-match"));
  };
  const api = root("/api", discovery.versions, discovery.aggregated.core);
  const apis = root("/apis", discovery.groups, discovery.aggregated.named);
  const openApi = lazily(() => options.openApi(resources));
  return {
    paths: pathsOf(discovery, options.issuer),
    api: (admitted, rest) =>
      rest === ""
        ? api(admitted)
        : plain(`/api/${rest}`, rest === "v1" ? discovery.resources.get("v1") : undefined, admitted),
    apis: (admitted, rest) => {
      if (rest === "") return apis(admitted);
      return plain(
        `/apis/${rest}`,
        rest.includes("/") ? discovery.resources.get(rest) : discovery.group.get(rest),
        admitted,
      );
    },
    openApi: (admitted, rest) => openApiReply(openApi(), admitted, rest),
  };
}

function pathsOf(discovery: Discovery, issuer: PublishedIssuer): readonly string[] {
  return [
    ...issuerPaths.filter((path) => issuerDocument(path, issuer, "") !== undefined),
    "/api",
    "/api/v1",
    "/apis",
    ...[...discovery.resources.keys()].filter((key) => key.includes("/")).map((key) => `/apis/${key}`),
    "/healthz",
    "/livez",
    "/metrics",
    "/openapi/v2",
    "/openapi/v3",
    "/readyz",
    "/version",
  ];
}

/** Not cached, since few clients request it. */
async function inYaml(yaml: YamlWork, value: object): Promise<Document> {
  return document(await yamlOfJson(yaml, JSON.stringify(value)), contentTypes.yaml);
}

async function openApiReply(documents: OpenApiDocuments, admitted: Admitted, rest: string): Promise<Reply | undefined> {
  const user = admitted.user.username;
  const ifNoneMatch = header(admitted.request, "if-none-match");
  if (rest === "v2") {
    const doc = await documents.v2(header(admitted.request, "accept"), user);
    if (doc === undefined) throw new StatusError("NotAcceptable", "OpenAPI v2 is served as application/json");
    return documentReply(doc, ifNoneMatch);
  }
  if (rest === "v3") return documentReply((await documents.v3(user)).index, ifNoneMatch);
  const doc = rest.startsWith("v3/") ? (await documents.v3(user)).byKey.get(rest.slice("v3/".length)) : undefined;
  if (doc === undefined) return undefined;
  if (!takesJson(header(admitted.request, "accept"))) {
    throw new StatusError("NotAcceptable", "OpenAPI v3 is served as application/json");
  }
  return hashedReply(doc, admitted);
}

const jsonClauses: ReadonlySet<string> = new Set(["", "*/*", "application/*", "application/json"]);

function takesJson(accept = ""): boolean {
  return accept.split(",").some((clause) => jsonClauses.has(clause.split(";", 1)[0]?.trim().toLowerCase() ?? ""));
}

function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

function json(value: object): Reply {
  return { status: 200, contentType: "application/json", body: JSON.stringify(value, null, 2) };
}

/** The issuer of tokens, and the public keys that verify them. */
export interface PublishedIssuer {
  readonly issuer: string;
  readonly keys: readonly TokenKey[];
}

/** Where these documents are served. */
const issuerPaths: readonly string[] = ["/.well-known/openid-configuration", "/openid/v1/jwks"];

/**
 * The documents by which other services verify tokens of ServiceAccounts, by path; none where the issuer is not the https URL that
 * OpenID requires. `serverAddress` is this hub's `host:port`.
 * @see OpenID Connect Discovery 1.0 section 4; KEP-1393
 */
function issuerDocument(path: string, { issuer, keys }: PublishedIssuer, serverAddress: string): Reply | undefined {
  if (!issuer.startsWith("https://")) return undefined;
  switch (path) {
    case "/openid/v1/jwks":
      return published("application/jwk-set+json", jsonWebKeySet(keys));
    case "/.well-known/openid-configuration":
      return published("application/json", {
        issuer,
        jwks_uri: `https://${serverAddress}/openid/v1/jwks`,
        response_types_supported: ["id_token"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: [...new Set(keys.map(({ alg }) => alg))].sort(),
      });
    default:
      return undefined;
  }
}

/** They change only with the keys, and the keys only with a restart. */
function published(contentType: string, body: object): Reply {
  return { status: 200, contentType, body: JSON.stringify(body), headers: { "cache-control": "public, max-age=3600" } };
}
