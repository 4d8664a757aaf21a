import { createLocalJWKSet } from "jose/jwks/local";
import type { JSONWebKeySet } from "jose";
import { arrayAt, isFields, stringAt } from "../../apis/json-fields.ts";

/** Finds the key for a token's header, as jose expects it; rejects where there is none. */
export type KeyFinder = ReturnType<typeof createLocalJWKSet>;

/** The keys of one issuer. */
export interface IssuerKeys {
  /** The cached keys, fetched first if there are none yet. @throws IssuerKeysError while the issuer cannot be read. */
  current(): Promise<KeyFinder>;
  /** The keys fetched again, for a token that none of the cached ones signed; undefined where they were fetched a moment ago. */
  renewed(): Promise<KeyFinder | undefined>;
}

/** The issuer cannot be reached, or its response cannot be used. The message names the address and contains no secret. */
export class IssuerKeysError extends Error {
  readonly code: "unreachable" | "discovery" | "keys";

  constructor(code: IssuerKeysError["code"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "IssuerKeysError";
    this.code = code;
  }
}

export interface IssuerKeysOptions {
  readonly issuer: string;
  /** The URL of the discovery document; default under the issuer. */
  readonly discoveryUrl: string | undefined;
  /** Reads a JSON document over HTTPS, within a time and a size of its own. Rejects for anything but 200. */
  readonly fetchJson: (url: string) => Promise<unknown>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** An unknown key is fetched at most this often, so that forged tokens cannot cause requests to the issuer. */
const againMs = 10_000;
/** Keys older than this are fetched again, so that a withdrawn key stops working. */
const freshMs = 10 * 60_000;
/** While an issuer is down, its keys stay trusted this long after the last fetch: about the lifetime of the tokens that it issued before. */
const staleMs = 60 * 60_000;
const maxKeys = 100;

/**
 * Reads an issuer's keys by its discovery document. One request is in flight at a time, however many tokens wait for it.
 * @see OpenID Connect Discovery 1.0; RFC 7517
 */
export function issuerKeys(options: IssuerKeysOptions): IssuerKeys {
  const { now } = options;
  let known: { readonly find: KeyFinder; readonly at: number } | undefined;
  let askedAt = Number.NEGATIVE_INFINITY;
  let underWay: Promise<KeyFinder> | undefined;
  const ask = async (): Promise<KeyFinder> => {
    askedAt = now();
    try {
      const find = createLocalJWKSet(await keySet(options));
      known = { find, at: now() };
      return find;
    } finally {
      underWay = undefined;
    }
  };
  const fetched = (): Promise<KeyFinder> => (underWay ??= ask());
  const isRecent = (): boolean => now() >= askedAt && now() < askedAt + againMs;
  return {
    current: async () => {
      if (known !== undefined && isYounger(now() - known.at, freshMs)) return known.find;
      const last = known !== undefined && isYounger(now() - known.at, staleMs) ? known.find : undefined;
      if (underWay === undefined && isRecent()) {
        if (last !== undefined) return last;
        throw new IssuerKeysError("unreachable", `the keys of ${options.issuer} could not be read a moment ago`);
      }
      return last === undefined ? fetched() : fetched().catch(() => last);
    },
    renewed: async () => (underWay !== undefined || !isRecent() ? fetched() : undefined),
  };
}

/** After a clock was set back, the age is unknown. */
function isYounger(age: number, than: number): boolean {
  return age >= 0 && age < than;
}

async function keySet(options: IssuerKeysOptions): Promise<JSONWebKeySet> {
  const { issuer, fetchJson } = options;
  const place = options.discoveryUrl ?? `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const document = await read(fetchJson, place);
  const named = stringAt(document, "issuer");
  if (named !== issuer) {
    throw new IssuerKeysError(
      "discovery",
      `${place} is of the issuer ${JSON.stringify(named)}, expected ${JSON.stringify(issuer)}`,
    );
  }
  const at = stringAt(document, "jwks_uri");
  if (!URL.canParse(at) || new URL(at).protocol !== "https:") {
    throw new IssuerKeysError("discovery", `${place} names no https jwks_uri`);
  }
  const keys = arrayAt(await read(fetchJson, at), "keys").filter(isPublicKey);
  if (keys.length === 0 || keys.length > maxKeys) {
    throw new IssuerKeysError("keys", `${at} holds ${keys.length} usable keys; allowed are 1 to ${maxKeys}`);
  }
  return { keys };
}

/** Only public keys: an issuer does not publish a shared secret. */
function isPublicKey(value: unknown): value is JSONWebKeySet["keys"][number] {
  return isFields(value) && publicKinds.has(stringAt(value, "kty")) && ["", "sig"].includes(stringAt(value, "use"));
}

const publicKinds: ReadonlySet<string> = new Set(["RSA", "EC", "OKP"]);

async function read(fetchJson: IssuerKeysOptions["fetchJson"], url: string): Promise<unknown> {
  try {
    return await fetchJson(url);
  } catch (error) {
    const why = error instanceof Error ? error.message : "unknown error";
    throw new IssuerKeysError("unreachable", `${url} cannot be read: ${why}`, { cause: error });
  }
}
