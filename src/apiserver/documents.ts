import { createHash } from "node:crypto";
import type { Query, Reply } from "./http-types.ts";

/** A document that clients may keep: its bytes, and the name of their content. */
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

/** The document with an ETag, or 304 for a client that has it. It differs by Accept, and caches are told so. */
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
export function hashedReply(
  doc: Document,
  request: {
    readonly path: string;
    readonly query: Query;
    readonly ifNoneMatch: string | undefined;
    readonly now: number;
  },
): Reply {
  const asked = request.query.get("hash");
  if (asked === null || asked === "") return documentReply(doc, request.ifNoneMatch);
  if (asked !== doc.hash) {
    const location = `${request.path}?hash=${doc.hash}`;
    return { status: 301, contentType: "text/plain; charset=utf-8", body: "", headers: { location } };
  }
  const expires = new Date(request.now + 365 * 24 * 3600 * 1000).toUTCString();
  const reply = documentReply(doc, request.ifNoneMatch);
  return { ...reply, headers: { ...reply.headers, "cache-control": "public, immutable", expires } };
}
