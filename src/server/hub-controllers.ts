import { legacyClaims } from "../authentication/service-account-claims.ts";
import { accessProfile } from "../controllers/access/access-profile.ts";
import { accessRequest, type AccessRequestOptions } from "../controllers/access/access-request.ts";
import { bootstrapSigner, clusterInfoPublisher, tokenCleaner } from "../controllers/joining/bootstrap.ts";
import { clusterRoleAggregation } from "../controllers/objects/cluster-role-aggregation.ts";
import type { Controller } from "../controllers/controller.ts";
import { apiServiceRegistration } from "../controllers/custom-resources/api-service-registration.ts";
import { crdApproval, crdNaming } from "../controllers/custom-resources/crd-conditions.ts";
import { crdFinalizer } from "../controllers/custom-resources/crd-finalizer.ts";
import { csrApproving } from "../controllers/certificates/csr-approving.ts";
import { csrRecovering, type CsrRecoveringOptions } from "../controllers/certificates/csr-recovering.ts";
import type { NodeNameClaims } from "../controllers/certificates/node-name-claims.ts";
import { csrDecisions } from "../controllers/certificates/csr-decisions.ts";
import { csrCleaner } from "../controllers/certificates/csr-cleaner.ts";
import { csrSigning, type SigningOrder } from "../controllers/certificates/csr-signing.ts";
import { eventExpiry } from "../controllers/objects/event-expiry.ts";
import { garbageCollector } from "../controllers/objects/garbage-collector.ts";
import {
  issuedCredentialController,
  credentialRecorders,
  type CredentialUse,
} from "../controllers/credentials/issued-credentials.ts";
import { namespaceController } from "../controllers/objects/namespace.ts";
import { cloneLock } from "../controllers/credentials/clone-lock.ts";
import { revocationCleaner } from "../controllers/credentials/revocation-cleaner.ts";
import { rootCaPublisher, serviceAccountDefault } from "../controllers/objects/namespace-objects.ts";
import { serviceAccountToken } from "../controllers/objects/service-account-token.ts";
import {
  servingApproving,
  type ServingApproval,
  systemResolver,
} from "../controllers/certificates/serving-approving.ts";
import type { SharedInformers } from "../controllers/shared-informers.ts";
import { validatingAdmissionPolicyStatus } from "../controllers/objects/validating-admission-policy-status.ts";
import type { Clock, RandomBytes } from "../apimachinery/clock.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import { issueCertificate } from "../pki/certificate.ts";
import { readVerifiedCsr } from "../pki/csr.ts";
import { keyFingerprint } from "../pki/keys.ts";
import { certificateValidity } from "../pki/validity.ts";
import { builtinResources } from "../apis/builtin.ts";
import type { Resource } from "../apis/resource.ts";
import { pinsOf, type Authorities } from "../ca/ca-folder.ts";
import type { ManagedClusters } from "./admission/managed-clusters.ts";
import type { Revocations } from "../revocation/revocations.ts";
import type { ServiceAccountIssuer } from "../ca/service-account-issuer.ts";

export interface HubControllersOptions {
  readonly informers: SharedInformers;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly authorities: Authorities;
  /** Signs the tokens that Secrets ask for. */
  readonly issuer: Pick<ServiceAccountIssuer, "sign">;
  /** Where joining machines reach this hub. */
  readonly server: string;
  /** `--cluster-signing-duration`, in seconds. */
  readonly signingSeconds: number;
  readonly resources: () => readonly Resource[];
  /** Waits between the parts of work that takes long. */
  readonly turn: () => Promise<void>;
  readonly revocations: Pick<Revocations, "findUser" | "removals">;
  readonly credentialUse: CredentialUse;
  /** How whoever asks for a client certificate of a node stands among those that hold one. */
  readonly statusOf: CsrRecoveringOptions["statusOf"];
  /** Who holds which node name. */
  readonly nodeNames: NodeNameClaims;
  /** Approve requests for node names that are in use as well. */
  readonly approveNamesInUse: boolean;
  /** How the access stands that an earlier request of a machine gave. */
  readonly lifeOf: NonNullable<AccessRequestOptions["lifeOf"]>;
  /** Absent where serving certificates are left to people. */
  readonly servingApproval?: ServingApproval | undefined;
  /** Absent where no clusters join. */
  readonly clusters?: Pick<ManagedClusters, "controllers"> | undefined;
}

/** The controllers that run inside the hub. Each has the rights of its own ServiceAccount and no others. */
export function hubControllers(options: HubControllersOptions): readonly Controller[] {
  const { informers, clock, authorities, issuer, server, resources, servingApproval } = options;
  const caPem = authorities.bundlePem;
  const isRevoked = (requester: UserInfo): boolean => options.revocations.findUser(requester) !== undefined;
  return [
    accessRequest({
      informers,
      clock,
      random: options.random,
      ca: { pem: caPem, pins: pinsOf(authorities) },
      lifeOf: options.lifeOf,
    }),
    accessProfile({ informers, clock }),
    csrApproving({
      informers,
      clock,
      parse: readVerifiedCsr,
      isRevoked,
      names: { claims: options.nodeNames, approveInUse: options.approveNamesInUse },
      isCloned: (requester, { spki }, askedAt) =>
        options.statusOf(requester, keyFingerprint(spki), askedAt)?.credentialStatus === "cloned",
    }),
    csrRecovering({
      informers,
      clock,
      parse: readVerifiedCsr,
      isRevoked,
      statusOf: options.statusOf,
      names: options.nodeNames,
    }),
    ...(servingApproval === undefined
      ? []
      : [
          servingApproving({
            ...servingApproval,
            informers,
            clock,
            marks: true,
            parse: readVerifiedCsr,
            isRevoked,
            resolver: systemResolver(),
          }),
        ]),
    csrSigning({ informers, clock, parse: readVerifiedCsr, isRevoked, sign: async (order) => sign(order, options) }),
    csrCleaner({ informers, clock }),
    csrDecisions({ informers, clock, parse: readVerifiedCsr }),
    eventExpiry({ informers, clock }),
    cloneLock({ informers }),
    revocationCleaner({
      informers,
      clock,
      certificatesEnd: lastEnd(authorities),
      removedBy: options.revocations.removals.userOf,
    }),
    ...credentialRecorders({ informers, clock, use: options.credentialUse }),
    issuedCredentialController({ informers, clock, use: options.credentialUse }),
    clusterInfoPublisher({ informers, info: { server, caPem } }),
    bootstrapSigner({ informers, clock }),
    tokenCleaner({ informers, clock }),
    rootCaPublisher({ informers, caPem }),
    serviceAccountDefault({ informers }),
    serviceAccountToken({ informers, caPem, mint: (order) => issuer.sign(legacyClaims(order)) }),
    namespaceController({ informers, resources, clock }),
    garbageCollector({ informers, resources }),
    clusterRoleAggregation({ informers }),
    validatingAdmissionPolicyStatus({ informers, resources, turn: options.turn }),
    crdNaming({ informers, clock, builtin: builtinResources }),
    crdApproval({ informers, clock }),
    apiServiceRegistration({ informers, clock, resources }),
    crdFinalizer({ informers, clock, customKinds: () => resources().filter(({ custom }) => custom !== undefined) }),
    ...(options.clusters?.controllers({ informers, clock, isRevoked }) ?? []),
  ];
}

function lastEnd({ trusted }: Authorities): number {
  return Math.max(...trusted.map(({ notAfter }) => notAfter));
}

/** A certificate by the rules of certificates.md section 5: subject, key and names are the request's, everything else is ours. */
function sign(order: SigningOrder, { authorities, clock, random, signingSeconds }: HubControllersOptions): string {
  const { request, usages, expirationSeconds } = order;
  const validity = certificateValidity({
    now: clock.now(),
    expirationSeconds,
    maxSeconds: signingSeconds,
    caNotAfter: authorities.signer.notAfter,
  });
  return issueCertificate({
    issuer: authorities.signer,
    rawSubject: request.rawSubject,
    spki: request.spki,
    rawSans: request.rawSans,
    usages,
    ...validity,
    serial: random(16),
  }).pem;
}
