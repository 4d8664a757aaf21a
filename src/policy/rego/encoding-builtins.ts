import { builtin, failed, type Builtin, type CallPlace } from "./builtin.ts";
import { readJson, toEscapedJsonText } from "./json.ts";
import { occupy } from "./limits.ts";
import { sizeOf, type RegoValue } from "./values.ts";

function parsed(text: string, place: CallPlace): RegoValue {
  occupy(place.state.meter, text.length);
  try {
    return readJson(text);
  } catch (error) {
    if (!(error instanceof SyntaxError) && !(error instanceof RangeError)) throw error;
    throw failed("json.unmarshal: invalid JSON", place);
  }
}

function isJson(text: string, place: CallPlace): boolean {
  occupy(place.state.meter, text.length);
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function binaryText(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}

function encoded(text: string): string {
  return btoa(binaryText(bytesOf(text)));
}

function decoded(text: string, place: CallPlace): string {
  const clean = text.replaceAll(/[\r\n]/g, "");
  if (!base64.test(clean)) throw failed("illegal base64 data", place);
  return new TextDecoder().decode(Uint8Array.from(atob(clean), (character) => character.charCodeAt(0)));
}

function urlDecoded(text: string, place: CallPlace): string {
  const standard = text.replaceAll("-", "+").replaceAll("_", "/").replace(/=+$/, "");
  return decoded(standard + "=".repeat((4 - (standard.length % 4)) % 4), place);
}

const urlSafe = (text: string): string => encoded(text).replaceAll("+", "-").replaceAll("/", "_");

/** JSON, base64 and hexadecimal text. */
export const encodingBuiltins: readonly Builtin[] = [
  builtin("json.marshal", ["any"], ([value], { state }) => {
    occupy(state.meter, sizeOf(value));
    return toEscapedJsonText(value);
  }),
  builtin("json.unmarshal", ["string"], ([text], place) => parsed(text, place)),
  builtin("json.is_valid", ["any"], ([text], place) => typeof text === "string" && isJson(text, place)),
  builtin("base64.encode", ["string"], ([text]) => encoded(text)),
  builtin("base64.decode", ["string"], ([text], place) => decoded(text, place)),
  builtin(
    "base64.is_valid",
    ["any"],
    ([text]) => typeof text === "string" && base64.test(text.replaceAll(/[\r\n]/g, "")),
  ),
  builtin("base64url.encode", ["string"], ([text]) => urlSafe(text)),
  builtin("base64url.encode_no_pad", ["string"], ([text]) => urlSafe(text).replaceAll("=", "")),
  builtin("base64url.decode", ["string"], ([text], place) => urlDecoded(text, place)),
  builtin("hex.encode", ["string"], ([text]) =>
    Array.from(bytesOf(text), (byte) => byte.toString(16).padStart(2, "0")).join(""),
  ),
  builtin("hex.decode", ["string"], ([text], place) => {
    const wrong = /[^0-9a-fA-F]/u.exec(text)?.[0];
    if (wrong !== undefined) {
      const code = (wrong.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
      throw failed(`encoding/hex: invalid byte: U+${code} '${wrong}'`, place);
    }
    if (text.length % 2 === 1) throw failed("encoding/hex: odd length hex string", place);
    return new TextDecoder().decode(Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16)));
  }),
];
