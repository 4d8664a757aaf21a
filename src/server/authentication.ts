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
import { isReturning, returningMs } from "../apimachinery/expired-credential.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import type { Incoming } from "../apiserver/http-types.ts";
import { loadTrustRoots, type TrustRoot } from "../pki/verify-chain.ts";
import type { Authorities } from "../ca/ca-folder.ts";
import type { Authorization } from "./authorization.ts";
import type { HubBase } from "./hub-state.ts";
import { cachedObject } from "../storage/observed-objects.ts";
import { storagePrefix } from "../apis/resource.ts";
import { logEntry } from "../apimachinery/log-entry.ts";
import { isKubeletCredential } from "../kubelet/kubelet-client.ts";
import type { HubOptions } from "./hub-options.ts";
import { optionText } from "../host/read-text.ts";
import { HubError } from "../apimachinery/hub-error.ts";
import type { OutsideIdentity, OutsideIdentityOptions } from "./outside-identity.ts";
import type { Revocations } from "../revocation/revocations.ts";
import { tokenObjects } from "./token-requests.ts";

export interface Authentication {
  /** Without anonymous. */
  readonly credentials: Authenticator;
  /** With anonymous where it is allowed. */
  readonly request: (facts: RequestFacts) => Promise<Authenticated>;
}

/** Client certificates, then bearer tokens; an invalid credential is never anonymous. Close functions are in `closers`. @throws HubError for an unusable file */
export async function openAuthentication(
  options: HubOptions,
  base: HubBase,
  access: Pick<Authorization, "uses">,
): Promise<Authentication> {
  const { cache, clock, closers, revoked, credentialUse } = base;
  const { issuers, keys, audiences } = base.issuer;
  const now = (): number => clock.now();
  const outside = await openOutsideIdentity(options, { clock, audiences, issuers });
  closers.push(async () => outside.close());
  const secrets = `${storagePrefix({ group: "", plural: "secrets" })}kube-system/bootstrap-token-`;
  const tokens = bearer(
    { audiences },
    ...(await tokenFileMembers(options)),
    serviceAccountTokens({ issuers, keys, lookup: tokenObjects(cache), now }),
    bootstrapTokens((id) => cachedObject(cache, secrets + id), now),
    ...outside.members,
  );
  const certificates = x509({ roots: rootsOf(base.authorities), now, returningMs });
  const known = firstAuthenticated(unaltered(certificates, revoked.certificateOf), unreserved(tokens));
  const { recordUse } = credentialUse;
  const credentials = withAuthenticatedGroup(
    unlessRevoked(known, revoked.find, { recordUse, refused: revoked.refused }),
  );
  // A configuration file with settings for anonymous requests overrides the option.
  const { enabled, paths } = outside.anonymous ?? {
    enabled: options.anonymousAuth && !access.uses("AlwaysAllow"),
    paths: undefined,
  };
  const allowAnonymous = ({ path }: RequestFacts): boolean =>
    enabled && (paths === undefined || (path !== undefined && paths.includes(path)));
  return { credentials, request: authenticate(credentials, { allowAnonymous }) };
}

/** The issuers and services of the options, loaded only where one is named: a hub without them starts sooner. @throws HubError */
export async function openOutsideIdentity(
  options: HubOptions,
  api: Omit<OutsideIdentityOptions, "hub">,
): Promise<OutsideIdentity> {
  const { authenticationConfigFile, oidc, tokenWebhook } = options;
  if (authenticationConfigFile === undefined && oidc === undefined && tokenWebhook === undefined) {
    return { members: [], anonymous: undefined, close: () => undefined };
  }
  const { outsideIdentity } = await import("./outside-identity.ts");
  return outsideIdentity({ hub: options, ...api });
}

/** The same array while the CAs are unchanged, as the verifier caches its results by it. */
function rootsOf(authorities: HubBase["authorities"]): () => readonly TrustRoot[] {
  let known: { readonly of: Authorities; readonly roots: readonly TrustRoot[] } | undefined;
  return () => {
    const of = authorities();
    if (known?.of !== of) known = { of, roots: loadTrustRoots(of.bundlePem) };
    return known.roots;
  };
}

/** Authenticates all credentials except the hub's own certificate for kubelets. */
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

/** Rejects a certificate of this hub whose signature was rewritten in its other form: it is equally valid, and would hide from the records which certificate it is. */
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

/** A token issuer must not authenticate a user as a machine with an expired certificate. */
function unreserved(tokens: Authenticator): Authenticator {
  return async function unreservedToken(request) {
    const result = await tokens(request);
    return result.kind === "authenticated" && isReturning(result.user)
      ? { kind: "rejected", reason: "a token names a user that only a machine that comes back can be" }
      : result;
  };
}

async function tokenFileMembers({ tokenAuthFile, log }: HubOptions): Promise<readonly TokenAuthenticator[]> {
  if (tokenAuthFile === undefined) return [];
  const file = await readTokenFile(tokenAuthFile);
  for (const message of file.warnings) log(logEntry("ConfigurationWarning", message));
  return [staticTokens(file)];
}

/** The users of `--token-auth-file`. @throws HubError options */
export async function readTokenFile(path: string): Promise<TokenFile> {
  const text = await optionText("--token-auth-file", path);
  try {
    return parseTokenFile(text);
  } catch (error) {
    if (!(error instanceof TokenFileError)) throw error;
    throw new HubError("options", `--token-auth-file ${path}: ${error.message}`, { cause: error });
  }
}

/** Node returns header names in lower case. Nearly every request ends here, so nothing is allocated. */
function impersonates(headers: Incoming["headers"]): boolean {
  for (const name in headers) if (isImpersonationHeader(name)) return true;
  return false;
}

/** The user of the impersonation headers, once the authenticated user was allowed each part of it. @throws StatusError Forbidden, BadRequest. */
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
