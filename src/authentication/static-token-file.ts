import { createHash } from "node:crypto";
import type { UserInfo } from "../apimachinery/user.ts";
import type { TokenAuthenticator } from "./bearer.ts";

/** The users of a token file, by the SHA-256 of their tokens in base64; the tokens themselves are not kept. */
export interface TokenFile {
  readonly users: ReadonlyMap<string, UserInfo>;
  /** Warnings for the operator, one sentence each, without any token. */
  readonly warnings: readonly string[];
}

/** A token file that cannot be used. The message names the line and contains no token. */
export class TokenFileError extends Error {
  readonly code: "malformed" | "columns" | "user";
  /** From 1. */
  readonly line: number;

  constructor(code: TokenFileError["code"], line: number, message: string) {
    super(`token file, line ${line}: ${message}`);
    this.name = "TokenFileError";
    this.code = code;
    this.line = line;
  }
}

/**
 * Reads CSV of `token,user,uid` and optionally `"group1,group2"`. Records with an empty token are skipped with a warning; of two
 * records with one token the last counts, with a warning.
 * @throws TokenFileError for malformed CSV, fewer than 3 columns, or an empty user
 * @see apiserver/pkg/authentication/token/tokenfile
 */
export function parseTokenFile(text: string): TokenFile {
  const csv = parseCsv(text);
  if (csv.kind === "malformed") throw new TokenFileError("malformed", csv.line, csv.message);
  const users = new Map<string, UserInfo>();
  const warnings: string[] = [];
  for (const { line, fields } of csv.records) {
    const [token, username, uid, groups] = fields;
    if (token === undefined || username === undefined || uid === undefined) {
      throw new TokenFileError("columns", line, `needs at least 3 columns (token, user, uid), found ${fields.length}`);
    }
    if (token === "") {
      warnings.push(`token file, line ${line}: skipped, its token is empty`);
      continue;
    }
    if (username === "") throw new TokenFileError("user", line, "the user must not be empty");
    const key = digestOf(token);
    if (users.has(key)) {
      warnings.push(`token file, line ${line}: its token stands in an earlier line too, which no longer counts`);
    }
    users.set(key, userOf(username, uid, groups));
  }
  return { users, warnings };
}

function userOf(username: string, uid: string, groups: string = ""): UserInfo {
  const named = groups.split(",").filter((group) => group !== "");
  return { username, ...(uid === "" ? {} : { uid }), groups: named };
}

/** Authenticates the tokens of a file. The look-up is by digest, so its duration discloses nothing about a token. */
export function staticTokens(file: TokenFile): TokenAuthenticator {
  return async function staticToken(token) {
    const user = file.users.get(digestOf(token));
    return user === undefined ? { kind: "absent" } : { kind: "authenticated", user };
  };
}

function digestOf(token: string): string {
  return createHash("sha256").update(token, "utf8").digest("base64");
}

/** One record, with the line on which it begins, from 1. */
interface CsvRecord {
  readonly line: number;
  readonly fields: readonly string[];
}

/** Every record, or where and how the text is malformed. */
type CsvResult =
  | { readonly kind: "parsed"; readonly records: readonly CsvRecord[] }
  | { readonly kind: "malformed"; readonly line: number; readonly message: string };

interface Field {
  readonly text: string;
  /** The index of the separator or line end after the field. */
  readonly end: number;
}

/**
 * Reads CSV as Go's encoding/csv does: fields may be quoted, a doubled quote inside means one, blanks count, empty lines do
 * not, CRLF is LF, records may differ in length. Never throws; the message quotes nothing. @see RFC 4180
 */
export function parseCsv(source: string): CsvResult {
  const text = source.replaceAll("\r\n", "\n");
  const records: CsvRecord[] = [];
  let line = 1;
  let at = 0;
  while (at < text.length) {
    if (text[at] === "\n") {
      at += 1;
      line += 1;
      continue;
    }
    const fields: string[] = [];
    const begin = at;
    for (let more = true; more;) {
      const field = text[at] === '"' ? quotedField(text, at) : plainField(text, at);
      if (typeof field === "string") {
        return { kind: "malformed", line: line + newlines(text, begin, at), message: field };
      }
      fields.push(field.text);
      more = text[field.end] === ",";
      at = field.end + 1;
    }
    records.push({ line, fields });
    line += newlines(text, begin, at);
  }
  return { kind: "parsed", records };
}

function plainField(text: string, at: number): Field | string {
  let end = at;
  while (end < text.length && text[end] !== "," && text[end] !== "\n") {
    if (text[end] === '"') return "a quote stands inside a field that does not begin with one";
    end += 1;
  }
  return { text: text.slice(at, end), end };
}

function quotedField(text: string, at: number): Field | string {
  let content = "";
  let from = at + 1;
  for (;;) {
    const quote = text.indexOf('"', from);
    if (quote === -1) return "a quoted field has no end";
    content += text.slice(from, quote);
    const next = text[quote + 1];
    if (next === '"') {
      content += '"';
      from = quote + 2;
    } else if (next === undefined || next === "," || next === "\n") {
      return { text: content, end: quote + 1 };
    } else {
      return "there is text between the end of a quoted field and the next comma";
    }
  }
}

function newlines(text: string, from: number, to: number): number {
  let count = 0;
  for (let at = text.indexOf("\n", from); at !== -1 && at < to; at = text.indexOf("\n", at + 1)) {
    count += 1;
  }
  return count;
}
