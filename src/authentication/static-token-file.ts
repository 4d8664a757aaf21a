import { createHash } from "node:crypto";
import type { UserInfo } from "../apimachinery/user.ts";
import { parseCsv } from "./csv.ts";
import type { TokenAuthenticator } from "./bearer.ts";

/** The users of a token file, by the SHA-256 of their tokens in base64; the tokens themselves are not kept. */
export interface TokenFile {
  readonly users: ReadonlyMap<string, UserInfo>;
  /** What the operator should know, one sentence each, without any token. */
  readonly warnings: readonly string[];
}

/** A token file that cannot be used. The message names the line and holds no token. */
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
 * @throws TokenFileError for CSV that is broken, fewer than 3 columns, or an empty user
 * @see apiserver/pkg/authentication/token/tokenfile
 */
export function parseTokenFile(text: string): TokenFile {
  const csv = parseCsv(text);
  if (csv.kind === "malformed") {
    throw new TokenFileError("malformed", csv.line, csv.message);
  }
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
    if (username === "") {
      throw new TokenFileError("user", line, "the user must not be empty");
    }
    const key = digestOf(token);
    if (users.has(key)) {
      warnings.push(`token file, line ${line}: its token stands in an earlier line too, which no longer counts`);
    }
    users.set(key, {
      username,
      ...(uid === "" ? {} : { uid }),
      groups: (groups ?? "").split(",").filter((group) => group !== ""),
    });
  }
  return { users, warnings };
}

/** Authenticates the tokens of a file. The look-up is by digest, so its time tells nothing of a token. */
export function staticTokens(file: TokenFile): TokenAuthenticator {
  return async function staticToken(token) {
    const user = file.users.get(digestOf(token));
    return user === undefined ? { kind: "absent" } : { kind: "authenticated", user };
  };
}

function digestOf(token: string): string {
  return createHash("sha256").update(token, "utf8").digest("base64");
}
