import { badRequest } from "./status.ts";

/** Where the next page of a list begins: after the key `after`, in the state as of `revision`, or in the newest state when that is -1. */
export interface ContinueToken {
  readonly revision: number;
  readonly after: string;
}

const version = "meta.k8s.io/v1";
/** Keys are far shorter; a longer token was not made here. */
const maximumLength = 4096;

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
  if (typeof token !== "object" || token === null) throw invalid();
  const { v, rv, start } = token as { readonly v?: unknown; readonly rv?: unknown; readonly start?: unknown };
  if (v !== version) throw invalid(": server does not recognize this encoded version");
  if (typeof rv !== "number" || !Number.isSafeInteger(rv) || rv === 0 || rv < -1) {
    throw invalid(": incorrect encoded start resourceVersion (version meta.k8s.io/v1)");
  }
  if (typeof start !== "string" || start === "") throw invalid(": encoded start key empty (version meta.k8s.io/v1)");
  const after = start.endsWith("\u0000") ? start.slice(0, -1) : start;
  const segments = (after.startsWith("/") ? after.slice(1) : after).split("/");
  if (after.includes("\u0000") || segments.some((one) => one === "" || one === "." || one === "..")) throw invalid();
  return { revision: rv, after };
}

function parse(text: string): unknown {
  if (text.length > maximumLength || !/^[A-Za-z0-9_-]+$/.test(text)) throw invalid();
  try {
    const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw invalid();
  }
}

function invalid(why = ""): Error {
  return badRequest(`continue key is not valid${why}`);
}
