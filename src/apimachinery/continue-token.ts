import { jsonFault } from "./json-fault.ts";
import { badRequest } from "./status.ts";

/** Where the next page of a list begins: after the key `after`, in the state as of `revision`, or in the newest state when that is -1. */
export interface ContinueToken {
  readonly revision: number;
  readonly after: string;
}

const version = "meta.k8s.io/v1";
/** Keys are far shorter; a longer token is not from this server. */
const maxLength = 4096;
const maxShownCharacters = 64;

/** The token as clients carry it: base64url without padding of `{"v":"meta.k8s.io/v1","rv":N,"start":"<key>\u0000"}`. Source: apiserver storage.EncodeContinue. */
export function encodeContinueToken(token: ContinueToken): string {
  const json = JSON.stringify({ v: version, rv: token.revision, start: `${token.after}\u0000` });
  const bytes = new TextEncoder().encode(json);
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

/**
 * The token that a client sent back. Clients can forge it: the key has no `.`, `..` or empty segments, but whether it lies where
 * the list does is for the caller to check. @throws StatusError BadRequest. Source: apiserver storage.DecodeContinue.
 */
export function decodeContinueToken(text: string): ContinueToken {
  const token = parse(text);
  if (typeof token !== "object" || token === null) throw invalid(": the token is not a JSON object");
  const { v, rv, start } = token as { readonly v?: unknown; readonly rv?: unknown; readonly start?: unknown };
  if (v !== version) {
    const shown = typeof v === "string" ? v.slice(0, maxShownCharacters) : "";
    throw invalid(`: server does not recognize this encoded version ${shown}`);
  }
  if (!isRevision(rv)) throw invalid(": incorrect encoded start resourceVersion (version meta.k8s.io/v1)");
  if (typeof start !== "string" || start === "") throw invalid(": encoded start key empty (version meta.k8s.io/v1)");
  const after = start.endsWith("\u0000") ? start.slice(0, -1) : start;
  if (!isKey(after)) throw invalid(`: ${after.slice(0, maxShownCharacters)}`);
  return { revision: rv, after };
}

function isRevision(rv: unknown): rv is number {
  return typeof rv === "number" && Number.isSafeInteger(rv) && rv !== 0 && rv >= -1;
}

function isKey(text: string): boolean {
  const segments = (text.startsWith("/") ? text.slice(1) : text).split("/");
  return !text.includes("\u0000") && !segments.some((one) => one === "" || one === "." || one === "..");
}

function parse(text: string): unknown {
  if (text.length > maxLength) throw invalid(": the token is too long");
  const foreign = text.search(/[^A-Za-z0-9_-]/);
  const wrong = foreign < 0 && text.length % 4 === 1 ? text.length - 1 : foreign;
  if (wrong >= 0) throw invalid(`: illegal base64 data at input byte ${wrong}`);
  let json = "";
  try {
    const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    json = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return JSON.parse(json);
  } catch {
    throw invalid(`: ${jsonFault(json) ?? "the token is not JSON"}`);
  }
}

function invalid(why: string): Error {
  return badRequest(`invalid continue token: continue key is not valid${why}`);
}
