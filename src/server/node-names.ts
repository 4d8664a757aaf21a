import { createHash } from "node:crypto";
import { hasCondition, csrView, type CsrView } from "../controllers/certificates/csr-view.ts";
import {
  canonicalNodeUser,
  isClientSigner,
  isNodeUser,
  type NodeNameClaims,
  type NodeNameHolder,
  type WantedNodeName,
} from "../controllers/certificates/node-name-claims.ts";
import { issueOfCsr } from "../controllers/credentials/credential-record.ts";
import { cloneRevocationPrefix } from "../controllers/credentials/clone-lock.ts";
import type { Clock } from "../apimachinery/clock.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { CsrError, parseCsr } from "../pki/csr.ts";
import { keyFingerprint } from "../pki/keys.ts";
import { certificateSigningRequests } from "../apis/certificate-signing-request.ts";
import { issuedCredentials, type CredentialIssue, type IssuedCredential } from "../apis/issued-credential.ts";
import { storagePrefix } from "../apis/resource.ts";
import type { FoundRevocation } from "../apis/revocation-index.ts";
import type { WatchCache } from "../storage/watch-cache.ts";
import { objectOf } from "../registry/entry.ts";
import { cachedObject } from "../storage/observed-objects.ts";
import type { Authorities } from "../ca/ca-folder.ts";
import type { Revocations } from "../revocation/revocations.ts";

export interface NodeNamesOptions {
  readonly cache: WatchCache;
  readonly clock: Pick<Clock, "now">;
  readonly revocations: Pick<Revocations, "find">;
  /** The CAs that are trusted now. */
  readonly authorities: () => Pick<Authorities, "trusted">;
}

/** An approved request for a client certificate of a node; `issue` is set once it is issued. */
interface ApprovedRequest {
  readonly username: string;
  readonly key: string;
  readonly issue: CredentialIssue | undefined;
}

/**
 * Which key holds which node name on this hub: unexpired and unrevoked certificates that it issued, and approved requests without a
 * certificate. Both are followed in the watch cache, whose observers see a write before it is acknowledged, so that a check after any
 * acknowledged approval sees it; approvals in progress of this process are in `reserved`.
 */
export function nodeNames(options: NodeNamesOptions): NodeNameClaims {
  const { cache } = options;
  const reserved = new Map<string, WantedNodeName>();
  const approved = approvedRequests(cache, (request) => reserved.delete(request));
  const recordsOf = clientRecords(cache);

  /** Requests that are about to be approved, or are approved without a certificate. */
  function unanswered({ username, request }: WantedNodeName): readonly NodeNameHolder[] {
    const name = canonicalNodeUser(username);
    const about = [...reserved.values()].filter((one) => canonicalNodeUser(one.username) === name);
    const waiting = [...approved.of(name)].flatMap(([one, { key, issue }]) =>
      issue === undefined ? [{ request: one, key }] : [],
    );
    return [...about, ...waiting]
      .filter((one) => one.request !== request)
      .map((one) => ({ key: one.key, notAfter: undefined, request: `csr/${one.request}` }));
  }

  /** Valid certificates. A record has them all; the newest may be only in their request yet. */
  function answered({ username }: WantedNodeName): readonly NodeNameHolder[] {
    const name = canonicalNodeUser(username);
    const recorded = recordsOf(name).map((record) => record.status?.issued ?? []);
    const known = new Set(recorded.flat().map(({ credentialID }) => credentialID));
    const fresh = [...approved.of(name).values()].flatMap(({ issue }) =>
      issue === undefined || known.has(issue.credentialID) ? [] : [issue],
    );
    return [...recorded, fresh]
      .flatMap((issues) => livingOf(issues, options))
      .map(({ key, notAfter, request }) => ({ key, notAfter, request }));
  }

  const othersThan = (wanted: WantedNodeName, holders: readonly NodeNameHolder[]): readonly NodeNameHolder[] =>
    holders.some(({ key }) => key === wanted.key)
      ? []
      : holders.toSorted((one, other) => ((one.notAfter ?? "") < (other.notAfter ?? "") ? 1 : -1));
  const holdersOf = (wanted: WantedNodeName): readonly NodeNameHolder[] =>
    othersThan(wanted, [...answered(wanted), ...unanswered(wanted)]);
  const holderOf = (wanted: WantedNodeName): NodeNameHolder | undefined => holdersOf(wanted)[0];
  const unlessHeld = (wanted: WantedNodeName, held: NodeNameHolder | undefined): NodeNameHolder | undefined => {
    if (held === undefined) reserved.set(wanted.request, wanted);
    return held;
  };

  return {
    holderOf,
    holdersOf,
    reserve: (wanted) => unlessHeld(wanted, holderOf(wanted)),
    reserveReturning: (wanted) => unlessHeld(wanted, othersThan(wanted, unanswered(wanted))[0]),
    release: (request) => void reserved.delete(request),
  };
}

/** Certificates that authenticate their holder now. Two machines that were locked out as clones of each other hold nothing any more, not even by earlier certificates. */
function livingOf(
  issues: readonly CredentialIssue[],
  { clock, revocations, authorities }: NodeNamesOptions,
): readonly CredentialIssue[] {
  const now = clock.now();
  const trusted = new Set(authorities().trusted.map(({ rawSubject }) => sha256(rawSubject)));
  const revocationOf = ({ credentialID, serialNumber, issuer }: CredentialIssue): FoundRevocation | undefined =>
    revocations.find({
      username: "",
      ids: credentialID === undefined ? [] : [credentialID],
      ...(serialNumber === undefined ? {} : { serialNumber }),
      ...(issuer === undefined ? {} : { issuer }),
    });
  const cloned = issues.findLastIndex((issue) => revocationOf(issue)?.name.startsWith(cloneRevocationPrefix) === true);
  return issues.slice(cloned + 1).filter((issue) => {
    const end = Date.parse(issue.notAfter ?? "");
    const isTrusted = issue.issuer === undefined || trusted.has(issue.issuer);
    // An unparsable end counts as none.
    return !(end <= now) && isTrusted && revocationOf(issue) === undefined;
  });
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** The approved requests by node name; `decided` is called for each request that is approved, denied or deleted. */
function approvedRequests(
  cache: WatchCache,
  decided: (request: string) => void,
): { readonly of: (name: string) => ReadonlyMap<string, ApprovedRequest> } {
  const prefix = storagePrefix(certificateSigningRequests);
  const byName = new Map<string, Map<string, ApprovedRequest>>();
  const nameOf = new Map<string, string>();

  function forget(request: string): void {
    const name = nameOf.get(request);
    if (name === undefined) return;
    nameOf.delete(request);
    const requests = byName.get(name);
    requests?.delete(request);
    if (requests?.size === 0) byName.delete(name);
  }

  cache.observe(prefix, ({ type, entry }) => {
    const request = entry.key.slice(prefix.length);
    forget(request);
    if (type === "DELETED") return decided(request);
    const found = approvedIn(objectOf(entry));
    if (found === "open") return;
    if (found !== "other") {
      const name = canonicalNodeUser(found.username);
      nameOf.set(request, name);
      byName.set(name, (byName.get(name) ?? new Map<string, ApprovedRequest>()).set(request, found));
    }
    // Only now: the name must not be free in between.
    decided(request);
  });
  return { of: (name) => byName.get(name) ?? new Map<string, ApprovedRequest>() };
}

/** The claim of an approved request; `open` before any decision, `other` where it holds no node name. */
function approvedIn(object: ApiObject): ApprovedRequest | "open" | "other" {
  const csr = csrView(object);
  if (hasCondition(csr, "Denied") || hasCondition(csr, "Failed")) return "other";
  if (!hasCondition(csr, "Approved")) return "open";
  const found = csr.certificate === "" ? requestedName(csr) : issuedName(object);
  return found !== undefined && isNodeUser(found.username) ? found : "other";
}

function issuedName(object: ApiObject): ApprovedRequest | undefined {
  const { identity, issue } = issueOfCsr(object) ?? {};
  if (identity?.purpose !== "Client") return undefined;
  return { username: identity.username, key: issue?.key ?? "", issue };
}

function requestedName({ signerName, request }: CsrView): ApprovedRequest | undefined {
  if (!isClientSigner(signerName)) return undefined;
  try {
    const { subject, spki } = parseCsr(request);
    return { username: subject.commonName, key: keyFingerprint(spki), issue: undefined };
  } catch (error) {
    if (error instanceof CsrError) return undefined;
    throw error;
  }
}

/** The records of client certificates of nodes, by node name. */
function clientRecords(cache: WatchCache): (name: string) => readonly IssuedCredential[] {
  const byName = new Map<string, Set<string>>();
  cache.observe(storagePrefix(issuedCredentials), ({ type, entry }) => {
    const { username, purpose } = (objectOf(entry) as IssuedCredential).spec.identity;
    if (purpose !== "Client" || !isNodeUser(username)) return;
    const name = canonicalNodeUser(username);
    const keys = byName.get(name) ?? new Set<string>();
    if (type === "DELETED") keys.delete(entry.key);
    else keys.add(entry.key);
    if (keys.size === 0) byName.delete(name);
    else byName.set(name, keys);
  });
  return (name) =>
    [...(byName.get(name) ?? [])].flatMap((key) => (cachedObject(cache, key) as IssuedCredential | undefined) ?? []);
}
