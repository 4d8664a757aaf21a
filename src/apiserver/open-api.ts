import { sharedSteps, type Steps } from "../apimachinery/steps.ts";
import { finishInTurns, type Turns } from "../registry/turns.ts";
import { gnosticDocument, gnosticMediaType, gnosticReplyType } from "../serializer/openapi/gnostic.ts";
import {
  openApiV2,
  swagger,
  openApiV3,
  type KeepDocument,
  type OpenApiDocument,
  type OpenApiInfo,
} from "../serializer/openapi/documents.ts";
import type { Resource } from "../apis/resource.ts";
import { createHash } from "node:crypto";
import type { Admitted } from "./admitted-request.ts";
import { header, type Reply } from "./http-types.ts";

/** A document that clients may cache: its bytes and their hash. */
export interface Document {
  readonly body: Buffer;
  /** Upper-case hex of the SHA-512 of the body. */
  readonly hash: string;
  readonly contentType: string;
}

/** Fixes a document's bytes and hash. */
export function document(body: Buffer | string, contentType: string): Document {
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  return { body: bytes, hash: createHash("sha512").update(bytes).digest("hex").toUpperCase(), contentType };
}

/** The document with an ETag, or 304 for a client that has it. It varies by Accept, and declares so to caches. */
export function documentReply(doc: Document, ifNoneMatch: string | undefined): Reply {
  const etag = `"${doc.hash}"`;
  const headers = { etag, vary: "Accept", "cache-control": "public" };
  if (ifNoneMatch?.split(",").some((one) => one.trim() === etag) === true) {
    return { status: 304, contentType: doc.contentType, body: "", headers };
  }
  return { status: 200, contentType: doc.contentType, body: doc.body, headers };
}

/**
 * A document under an address that names its hash: immutable when the hash is right, else a redirect to the right address.
 * Source: kube-openapi handler3.
 */
export function hashedReply(doc: Document, { info, query, request, now }: Admitted): Reply {
  const asked = query.get("hash") ?? "";
  if (asked !== "" && asked !== doc.hash) {
    const location = `${info.path}?hash=${doc.hash}`;
    return { status: 301, contentType: "text/plain; charset=utf-8", body: "", headers: { location } };
  }
  const reply = documentReply(doc, header(request, "if-none-match"));
  if (asked === "") return reply;
  const expires = new Date(now + 365 * 24 * 3600 * 1000).toUTCString();
  return { ...reply, headers: { ...reply.headers, "cache-control": "public, immutable", expires } };
}

/** OpenAPI in its two versions; created on demand, since only some clients request it, in turns of their users. */
export interface OpenApiDocuments {
  /** The index of `/openapi/v3`, and one document per group version by its key, e.g. `apis/rbac.authorization.k8s.io/v1`. */
  v3(user: string): Promise<{ readonly index: Document; readonly byKey: ReadonlyMap<string, Document> }>;
  /** In the format that `accept` requests; undefined when that is not available. */
  v2(accept: string | undefined, user: string): Promise<Document | undefined>;
}

const json = "application/json";

/** OpenAPI of the resources served now; documents of groups that a change does not touch are not created again. */
export function openApiPublisher(version: string, turns: Turns): (resources: readonly Resource[]) => OpenApiDocuments {
  const kept = new Map<string, { readonly members: readonly Resource[]; readonly document: OpenApiDocument }>();
  const keep: KeepDocument = function* (key, members, make) {
    const known = kept.get(key);
    const same =
      known?.members.length === members.length && members.every((member, index) => member === known.members[index]);
    if (same) return known.document;
    const made = yield* make();
    kept.set(key, { members, document: made });
    return made;
  };
  return (resources) =>
    openApiDocuments(resources, {
      info: { title: "Pratique", version },
      turns,
      keep,
      keepOnly: (keys) => {
        for (const key of kept.keys()) if (!keys.has(key)) kept.delete(key);
      },
    });
}

interface Publishing {
  readonly info: OpenApiInfo;
  readonly turns: Turns;
  readonly keep: KeepDocument;
  /** Forgets the documents of all other groups. */
  readonly keepOnly: (keys: ReadonlyMap<string, unknown>) => void;
}

type Published = Awaited<ReturnType<OpenApiDocuments["v3"]>>;

/**
 * OpenAPI of the resources served. Each document is created when it is first requested, in turns of its requesters, and once for
 * all of them.
 */
function openApiDocuments(resources: readonly Resource[], publishing: Publishing): OpenApiDocuments {
  const { info, turns } = publishing;
  const once = <Made>(make: () => Steps<Made>): ((user: string) => Promise<Made>) => {
    let known: { readonly made: Made } | undefined;
    const steps = sharedSteps(make);
    return async (user) => {
      if (known === undefined) {
        const made = await finishInTurns(() => turns.next(user), steps());
        known ??= { made };
      }
      return known.made;
    };
  };
  const v3 = once(() => publishedV3(resources, publishing));
  const v2 = once(function* () {
    const { bytes, hash } = yield* openApiV2(resources, info);
    return { body: Buffer.from(bytes), hash, contentType: json };
  });
  const gnostic = once(function* (): Steps<Document> {
    const bytes = yield* gnosticDocument(yield* swagger(resources, info));
    yield;
    return document(Buffer.from(bytes), gnosticReplyType);
  });
  return {
    v3,
    v2: async (accept, user) => {
      const wanted = (accept ?? "").split(",").map((one) => one.split(";", 1)[0]?.trim() ?? "");
      if (wanted.includes(gnosticMediaType)) return gnostic(user);
      return wanted.some((one) => one === "" || one === json || one === "*/*") ? v2(user) : undefined;
    },
  };
}

function* publishedV3(resources: readonly Resource[], { info, keep, keepOnly }: Publishing): Steps<Published> {
  const { index, documents } = yield* openApiV3(resources, info, keep);
  keepOnly(documents);
  const shown = ({ bytes, hash }: OpenApiDocument): Document => ({ body: Buffer.from(bytes), hash, contentType: json });
  return { index: shown(index), byKey: new Map([...documents].map(([key, one]) => [key, shown(one)])) };
}
