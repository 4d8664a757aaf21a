import { readFile } from "node:fs/promises";
import {
  authenticate,
  type Authenticated,
  unlessRevoked,
  withAuthenticatedGroup,
} from "../authentication/authenticated.ts";
import type { Authenticator, RequestFacts } from "../authentication/authenticator.ts";
import { bearer, type TokenAuthenticator } from "../authentication/bearer.ts";
import { bootstrapTokens } from "../authentication/bootstrap-token.ts";
import {
  impersonatedUser,
  impersonationChecks,
  isImpersonationHeader,
  parseImpersonation,
} from "../authentication/impersonation.ts";
import { serviceAccountTokens } from "../authentication/service-account-token.ts";
import { parseTokenFile, staticTokens, TokenFileError, type TokenFile } from "../authentication/static-token-file.ts";
import { firstAuthenticated } from "../authentication/union.ts";
import { x509 } from "../authentication/x509.ts";
import type { AuthorizerChain } from "../authorization/chain.ts";
import { forbiddenRequest } from "../authorization/forbidden-text.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { isReturning, returningMs } from "../apimachinery/expired-credential.ts";
import { systemErrorText } from "../apimachinery/system-error.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import type { Incoming } from "../apiserver/http-types.ts";
import type { TrustRoot } from "../pki/verify-chain.ts";
import { objectOf } from "../registry/entry.ts";
import { storagePrefix } from "../apis/resource.ts";
import type { Credential } from "../apis/revocation-index.ts";
import type { WatchCache } from "../storage/watch-cache.ts";
import { logEntry } from "../apimachinery/log-entry.ts";
import { isKubeletCredential } from "../kubelet/kubelet-client.ts";
import type { HubOptions } from "./hub-options.ts";
import { HubError } from "../apimachinery/hub-error.ts";
import type { OutsideIdentity } from "./outside-identity.ts";
import type { Revocations } from "../revocation/revocations.ts";
import type { ServiceAccountIssuer } from "../ca/service-account-issuer.ts";
import { tokenObjects } from "./token-requests.ts";

export interface AuthenticationOptions {
  /** The CAs that vouch for clients, asked at each request. */
  readonly roots: () => readonly TrustRoot[];
  readonly cache: WatchCache;
  readonly now: () => number;
  readonly tokenAuthFile: string | undefined;
  /** Whose tokens of ServiceAccounts are believed, and for whom tokens must be meant. */
  readonly issuer: ServiceAccountIssuer;
  readonly anonymousAuth: boolean;
  /** What is believed no longer, whoever vouches for it. */
  readonly revocations: Revocations;
  /** Told of everybody who comes in with a credential. */
  readonly recordUse: (credential: Credential) => void;
  readonly outside: Pick<OutsideIdentity, "members" | "anonymous">;
  readonly warn: (message: string) => void;
}

export interface Authentication {
  /** Without anonymous. */
  readonly credentials: Authenticator;
  /** With anonymous where that is allowed. */
  readonly request: (facts: RequestFacts) => Promise<Authenticated>;
}

/** Client certificates, then bearer tokens; a bad credential is never anonymous. @throws HubError for a token file that cannot be read. */
export async function authentication(options: AuthenticationOptions): Promise<Authentication> {
  const { roots, cache, now } = options;
  const secrets = `${storagePrefix({ group: "", plural: "secrets" })}kube-system/bootstrap-token-`;
  const lookup = (id: string): ApiObject | undefined => {
    const entry = cache.get(secrets + id);
    return entry === undefined ? undefined : objectOf(entry);
  };
  const members: TokenAuthenticator[] = [];
  if (options.tokenAuthFile !== undefined) members.push(await tokenFile(options.tokenAuthFile, options.warn));
  const { issuers, keys, audiences } = options.issuer;
  members.push(serviceAccountTokens({ issuers, keys, lookup: tokenObjects(cache), now }));
  members.push(bootstrapTokens(lookup, now), ...options.outside.members);
  const tokens = bearer({ audiences }, ...members);
  const known = firstAuthenticated(
    unaltered(x509({ roots, now, returningMs }), options.revocations.certificateOf),
    unreserved(tokens),
  );
  const credentials = withAuthenticatedGroup(
    unlessRevoked(known, options.revocations.find, {
      recordUse: options.recordUse,
      refused: options.revocations.refused,
    }),
  );
  return { credentials, request: authenticate(credentials, { allowAnonymous: anonymousPaths(options) }) };
}

/** Authenticates all but the hub's own certificate for kubelets. */
export function refusingKubeletCredential(
  authenticate: Authentication["request"],
  { log }: Pick<HubOptions, "log">,
): Authentication["request"] {
  return async (facts) => {
    const found = await authenticate(facts);
    if (found.kind === "rejected" || !isKubeletCredential(found)) return found;
    const message = "the hub's own certificate for kubelets was presented to the hub: a Node has the hub's address";
    log(logEntry("KubeletCredentialPresented", message, { path: facts.path }));
    return { kind: "rejected", reason: message };
  };
}

/**
 * Refuses a certificate that was issued here and whose signature somebody has written in its other form: it proves the same, and would
 * hide from the records which certificate it is.
 */
function unaltered(certificates: Authenticator, issued: Revocations["certificateOf"]): Authenticator {
  return async function unalteredCertificate(request) {
    const result = await certificates(request);
    if (result.kind !== "authenticated") return result;
    const { malleated } = result.credential ?? {};
    return malleated !== undefined && issued({ credentialID: malleated }) !== undefined
      ? { kind: "rejected", reason: "client certificate: it is an altered copy of one that was issued here" }
      : result;
  };
}

/** Nobody is a machine that comes back because some issuer of tokens says so. */
function unreserved(tokens: Authenticator): Authenticator {
  return async function unreservedToken(request) {
    const result = await tokens(request);
    return result.kind === "authenticated" && isReturning(result.user)
      ? { kind: "rejected", reason: "a token names a user that only a machine that comes back can be" }
      : result;
  };
}

/** A configuration file that speaks of anonymous requests counts before the option. */
function anonymousPaths({ anonymousAuth, outside }: AuthenticationOptions): (request: RequestFacts) => boolean {
  const { enabled, paths } = outside.anonymous ?? { enabled: anonymousAuth, paths: undefined };
  return ({ path }) => enabled && (paths === undefined || (path !== undefined && paths.includes(path)));
}

async function tokenFile(path: string, warn: (message: string) => void): Promise<TokenAuthenticator> {
  const file = await readTokenFile(path);
  file.warnings.forEach(warn);
  return staticTokens(file);
}

/** The users of `--token-auth-file`. @throws HubError options */
export async function readTokenFile(path: string): Promise<TokenFile> {
  try {
    return parseTokenFile(await readFile(path, "utf8"));
  } catch (error) {
    if (error instanceof TokenFileError)
      throw new HubError("options", `--token-auth-file ${path}: ${error.message}`, { cause: error });
    throw new HubError("options", `--token-auth-file: ${systemErrorText(error, { operation: "read", at: path })}`, {
      cause: error,
    });
  }
}

/** Node gives header names in lower case. Nearly every request ends here, so nothing is allocated. */
function impersonates(headers: Incoming["headers"]): boolean {
  for (const name in headers) if (isImpersonationHeader(name)) return true;
  return false;
}

/** Whom the impersonation headers name, once the real user was found to be allowed each part of it. @throws StatusError Forbidden, BadRequest. */
export function impersonation(
  chain: AuthorizerChain,
): (request: Pick<Incoming, "headers" | "rawHeaders">, user: UserInfo) => Promise<UserInfo | undefined> {
  return async function impersonate(request, user) {
    if (!impersonates(request.headers)) return undefined;
    const wanted = parseImpersonation(request.rawHeaders);
    if (wanted === undefined) return undefined;
    for (const check of impersonationChecks(user, wanted)) {
      const decision = await chain.decide(check);
      if (decision.verdict !== "allow") throw forbiddenRequest(check, decision.reason);
    }
    return impersonatedUser(wanted);
  };
}
