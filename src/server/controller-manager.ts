import { certificateValidity } from "../pki/validity.ts";
import { apiserverAccount } from "../controllers/kinds.ts";
import { credentialRecorders, issuedCredentialController } from "../controllers/credentials/issued-credentials.ts";
import { runControllers, type RunningControllers } from "../controllers/runner.ts";
import { sharedInformers, type SharedInformers } from "../controllers/shared-informers.ts";
import { logEntry } from "../apimachinery/log-entry.ts";
import { StatusError } from "../apimachinery/status.ts";
import { mastersGroup, serviceAccountUser, type UserInfo } from "../apimachinery/user.ts";
import {
  type ServingApproval,
  servingApproving,
  systemResolver,
} from "../controllers/certificates/serving-approving.ts";
import { pinsOf } from "../ca/ca-folder.ts";
import type { HubOptions } from "./hub-options.ts";
import type { Metrics } from "./metrics.ts";
import { systemRandom } from "../host/system-random.ts";
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
import { namespaceController } from "../controllers/objects/namespace.ts";
import { cloneLock } from "../controllers/credentials/clone-lock.ts";
import { revocationCleaner } from "../controllers/credentials/revocation-cleaner.ts";
import { rootCaPublisher, serviceAccountDefault } from "../controllers/objects/namespace-objects.ts";
import { serviceAccountToken } from "../controllers/objects/service-account-token.ts";
import { validatingAdmissionPolicyStatus } from "../controllers/objects/validating-admission-policy-status.ts";
import type { Decisions } from "./api-server.ts";
import type { HubBase } from "./hub-state.ts";
import type { CertificateAuthority } from "../pki/ca.ts";
import { issueCertificate } from "../pki/certificate.ts";
import { readVerifiedCsr } from "../pki/csr.ts";
import { keyFingerprint } from "../pki/keys.ts";
import { builtinResources } from "../apis/builtin.ts";

/** The parts of the hub that the controllers need. */
export interface ControlParts
  extends
    Pick<HubBase, "authorities" | "issuer" | "revoked" | "credentialUse" | "clock" | "clusters">,
    Pick<Decisions, "verbs" | "turns" | "clientOf"> {
  /** The credential status of a requester of a client certificate of a node. */
  readonly statusOf: CsrRecoveringOptions["statusOf"];
  /** The state of the access that an earlier request of a machine granted. */
  readonly lifeOf: NonNullable<AccessRequestOptions["lifeOf"]>;
  /** Which key holds which node name. */
  readonly nodeNames: NodeNameClaims;
  /** The address of this hub for joining machines. */
  readonly url: string;
  readonly metrics: Metrics;
  /** Undefined where serving certificates are left to an approver. */
  readonly servingApproval: ServingApproval | undefined;
  readonly signal: AbortSignal;
}

/** Starts the controllers, each under its own ServiceAccount; a restart passes them the current CAs. */
export function control(options: HubOptions, parts: ControlParts): RestartableControl {
  return restartableControl((signal) => started(options, parts, signal), parts.signal);
}

function started(options: HubOptions, parts: ControlParts, signal: AbortSignal): RunningControllers {
  const { clock, metrics } = parts;
  const clientFor = (account: string): ReturnType<ControlParts["clientOf"]> =>
    parts.clientOf(
      account === apiserverAccount
        ? { username: apiserverAccount, groups: [mastersGroup] }
        : serviceAccountUser("kube-system", account),
    );
  const informers = sharedInformers({
    clientFor,
    clock,
    random: Math.random,
    onError: (account, resource, error) =>
      options.log(
        logEntry("WatchFailed", "the watch of a controller failed; the hub starts it again", {
          account,
          resource: resource.plural,
          error,
        }),
      ),
    signal,
  });
  return runControllers({
    controllers: hubControllers(options, parts, informers),
    informers,
    clock,
    observerOf: metrics.queueObserver,
    signal,
    count: metrics.controllerReported,
    log: (entry, thrown) => {
      if (thrown !== undefined) metrics.controllerFailed(String(entry["controller"]));
      // Rejected writes are logged once, for the store, and not for each waiting object.
      if (thrown instanceof StatusError && thrown.reason === "InsufficientStorage") return;
      options.log(entry);
    },
  });
}

/** The controllers inside the hub. Each has only the rights of its own ServiceAccount. */
function hubControllers(options: HubOptions, parts: ControlParts, informers: SharedInformers): readonly Controller[] {
  const { clock, issuer, statusOf, revoked, nodeNames, servingApproval } = parts;
  const { resources } = parts.verbs;
  const authorities = parts.authorities();
  const { bundlePem: caPem, signer } = authorities;
  const pins = pinsOf(authorities);
  const isRevoked = (requester: UserInfo): boolean => revoked.findUser(requester) !== undefined;
  const shared = { informers, clock };
  const judging = { ...shared, parse: readVerifiedCsr, isRevoked };
  const recording = { ...shared, use: parts.credentialUse };
  const names = { claims: nodeNames, approveInUse: options.nodeAutoapproveNamesInUse ?? false };
  const turn = (): Promise<void> => parts.turns.next("system:kube-controller-manager");
  const maxSeconds = options.clusterSigningDurationSeconds;
  return [
    accessRequest({ ...shared, random: systemRandom, ca: { pem: caPem, pins }, lifeOf: parts.lifeOf }),
    accessProfile(shared),
    csrApproving({
      ...judging,
      names,
      isCloned: (requester, { spki }, askedAt) =>
        statusOf(requester, keyFingerprint(spki), askedAt)?.credentialStatus === "cloned",
    }),
    csrRecovering({ ...judging, statusOf, names: nodeNames }),
    ...(servingApproval === undefined
      ? []
      : [servingApproving({ ...servingApproval, ...judging, marks: true, resolver: systemResolver() })]),
    csrSigning({ ...judging, sign: async (order) => sign(order, { signer, now: clock.now(), maxSeconds }) }),
    csrCleaner(shared),
    csrDecisions({ ...shared, parse: readVerifiedCsr }),
    eventExpiry(shared),
    cloneLock({ informers }),
    revocationCleaner({
      ...shared,
      certificatesEnd: Math.max(...authorities.trusted.map(({ notAfter }) => notAfter)),
      removedBy: revoked.removals.userOf,
    }),
    ...credentialRecorders(recording),
    issuedCredentialController(recording),
    clusterInfoPublisher({ informers, info: { server: parts.url, caPem } }),
    bootstrapSigner(shared),
    tokenCleaner(shared),
    rootCaPublisher({ informers, caPem }),
    serviceAccountDefault({ informers }),
    serviceAccountToken({ informers, caPem, mint: (order) => issuer.sign(legacyClaims(order)) }),
    namespaceController({ ...shared, resources }),
    garbageCollector({ informers, resources }),
    clusterRoleAggregation({ informers }),
    validatingAdmissionPolicyStatus({ informers, resources, turn }),
    crdNaming({ ...shared, builtin: builtinResources }),
    crdApproval(shared),
    apiServiceRegistration({ ...shared, resources }),
    crdFinalizer({ ...shared, customKinds: () => resources().filter(({ custom }) => custom !== undefined) }),
    ...(parts.clusters?.controllers({ ...shared, isRevoked }) ?? []),
  ];
}

/** A certificate by the rules of certificates.md section 5: subject, key and names come from the request, everything else from the hub. */
function sign(
  { request, usages, expirationSeconds }: SigningOrder,
  {
    signer,
    now,
    maxSeconds,
  }: { readonly signer: CertificateAuthority; readonly now: number; readonly maxSeconds: number },
): string {
  return issueCertificate({
    issuer: signer,
    rawSubject: request.rawSubject,
    spki: request.spki,
    rawSans: request.rawSans,
    usages,
    ...certificateValidity({ now, expirationSeconds, maxSeconds, caNotAfter: signer.notAfter }),
    serial: systemRandom(16),
  }).pem;
}

/** Controllers that can be restarted. */
export interface RestartableControl extends RunningControllers {
  /** Stops the running ones, waits for their reconciles, and starts them with current inputs. No effect after `signal`. */
  restart(): Promise<void>;
}

/** Runs the controllers of `start` until `signal` aborts: some get values that rarely change, and are recreated when these change. `ready` is that of the first start. */
export function restartableControl(
  start: (signal: AbortSignal) => RunningControllers,
  signal: AbortSignal,
): RestartableControl {
  let stop = new AbortController();
  let running = start(stop.signal);
  const first = running.ready;
  let restarting: Promise<void> = Promise.resolve();
  const ended = new Promise<void>((resolve) => {
    const end = (): void => {
      stop.abort();
      resolve();
    };
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });

  async function restartAll(): Promise<void> {
    if (signal.aborted) return;
    stop.abort();
    await running.stopped;
    if (signal.aborted) return;
    stop = new AbortController();
    running = start(stop.signal);
    await running.ready;
  }

  return {
    ready: first,
    refresh: () => running.refresh(),
    // A failed restart does not prevent the next; its caller gets the error.
    restart: () => {
      const restarted = restarting.then(restartAll);
      restarting = restarted.catch(() => undefined);
      return restarted;
    },
    stopped: ended.then(() => restarting).then(() => running.stopped),
  };
}
