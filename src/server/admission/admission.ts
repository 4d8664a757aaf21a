import { isUndecided, csrView } from "../../controllers/certificates/csr-view.ts";
import { admissionChain, type Admission, type AdmissionPlugin, type AccessCheck } from "../../admission/admission.ts";
import type { Authorize } from "../../admission/expression-inputs.ts";
import {
  certificateApproval,
  certificateSigning,
  certificateSubjectRestriction,
  certificateRequestLimit,
  type SignerCheck,
  returningMachines,
} from "../../admission/certificate-signers.ts";
import { credentialRevocationAdmission } from "../../admission/credential-revocations.ts";
import { namespaceLifecycle } from "../../admission/namespace-lifecycle.ts";
import { nodeRestriction } from "../../admission/node-restriction.ts";
import { ownerReferences } from "../../admission/owner-references.ts";
import { rbacEscalation } from "../../admission/rbac-escalation.ts";
import { serviceAccount } from "../../admission/service-account.ts";
import { bindingWriteRefusal, roleWriteRefusal, type BindingWrite } from "../../authorization/escalation.ts";
import type { Clock } from "../../apimachinery/clock.ts";
import { apiVersionOf, type ApiObject } from "../../apimachinery/object.ts";
import { parseCsr } from "../../pki/csr.ts";
import { objectOf } from "../../registry/entry.ts";
import { storagePrefix, type Resource } from "../../apis/resource.ts";
import type { WatchCache } from "../../storage/watch-cache.ts";
import { accessAdmission, type AccessRequestLimits } from "./access-requests.ts";
import { admissionPluginFilter, type AdmissionPluginFlags } from "./plugins.ts";
import type { AdmissionMetrics } from "../../admission/metrics.ts";
import type { Authorization } from "../authorization.ts";
import { countedObjects } from "../../storage/counted-objects.ts";
import type { ManagedClusters } from "./managed-clusters.ts";
import type { Revocations } from "../../revocation/revocations.ts";
import { operatorName } from "../../bootstrap/admin-kubeconfig.ts";
import { systemRandom } from "../../host/system-random.ts";
import { dynamicAdmission, type DynamicAdmissionOptions } from "./dynamic.ts";

export interface HubAdmissionOptions extends Omit<
  DynamicAdmissionOptions,
  "may" | "authorize" | "namespaceOf" | "resourceOf" | "metrics"
> {
  readonly metrics: Pick<AdmissionMetrics, "timed" | "timedSteps" | "webhookAsked">;
  readonly access: Authorization;
  readonly clock: Clock;
  readonly plugins: AdmissionPluginFlags;
  /** Pin of the CA that machines are told. */
  readonly caPins: () => readonly string[];
  readonly accessRequests: AccessRequestLimits;
  /** Default 5000. */
  readonly maxUndecidedCertificateRequests: number | undefined;
  readonly revocations: Pick<Revocations, "size" | "removals">;
  /** Absent where no clusters join. */
  readonly clusters: Pick<ManagedClusters, "admission"> | undefined;
}

/** The admission plugins of a hub that are on, in the order of Kubernetes. @throws HubError for a plugin that nobody knows. */
export function hubAdmission(options: HubAdmissionOptions): Admission {
  const { access, cache, clock } = options;
  const isOn = admissionPluginFilter(options.plugins);
  const may: AccessCheck = async (asked) => {
    const { verdict, reason } = await access.chain.decide({ ...asked, path: undefined });
    return { allowed: verdict === "allow", reason };
  };
  const authorize: Authorize = async (user, { path, verb, group, resource, subresource, namespace, name }) => {
    const asked = { user, verb, group, version: "*", resource, subresource, namespace, name, path };
    const { verdict, reason, error } = await access.chain.decide(asked);
    return { allowed: verdict === "allow", reason, ...(error === undefined ? {} : { error }) };
  };
  const signerCheck: SignerCheck = async (user, verb, name) => {
    const signers = { group: "certificates.k8s.io", version: "*", resource: "signers", subresource: "", namespace: "" };
    return (await may({ user, verb, name, ...signers })).allowed;
  };
  const checks = { authorize: access.either, rules: access.index };
  const namespaceOf = (name: string): ApiObject | undefined => stored(cache, "namespaces", name);
  const resourceOf = (apiVersion: string, kind: string): Resource | undefined =>
    options.resources().find((one) => one.kind === kind && apiVersionOf(one.group, one.version) === apiVersion);
  const undecided = undecidedIn(cache);
  const plugins = [
    namespaceLifecycle(namespaceOf),
    serviceAccount({
      accountOf: (namespace, name) => stored(cache, "serviceaccounts", `${namespace}/${name}`),
      pause: () => clock.sleep(100),
      random: systemRandom,
    }),
    restrictedNodes(options, may),
    ownerReferences({ may, resourceOf }),
    returningMachines({ factsOf: parseCsr, undecided }),
    certificateRequestLimit({
      undecided,
      maxUndecided: options.maxUndecidedCertificateRequests ?? maxUndecidedCertificateRequests,
    }),
    certificateApproval(signerCheck),
    certificateSigning(signerCheck),
    certificateSubjectRestriction((pem) => parseCsr(pem).subject.organizations),
    rbacEscalation({
      role: (write) => roleWriteRefusal(write, checks),
      binding: (write) => bindingWriteRefusal(write as BindingWrite, checks),
    }),
    ...accessAdmission({ cache, clock, may, caPins: options.caPins, limits: options.accessRequests }),
    ...(options.clusters?.admission({ may, namespaceOf, clock }) ?? []),
    credentialRevocationAdmission({
      size: options.revocations.size,
      removing: options.revocations.removals.note,
      operator: operatorName,
      now: () => clock.now(),
    }),
    ...dynamicAdmission({ ...options, may, authorize, namespaceOf, resourceOf }),
  ];
  return options.metrics.timedSteps(
    admissionChain(plugins.filter(({ name }) => isOn(name)).map(options.metrics.timed)),
  );
}

/** Nodes are limited wherever the Node authorizer lets them write; elsewhere where the plugin is enabled by name. */
function restrictedNodes(
  { access, cache, plugins }: HubAdmissionOptions,
  may: Parameters<typeof nodeRestriction>[0]["may"],
): AdmissionPlugin {
  const { name, mutate } = nodeRestriction({
    podOf: (namespace, pod) => stored(cache, "pods", `${namespace}/${pod}`),
    nodeOf: (node) => stored(cache, "nodes", node),
    may,
    commonNameOf: (pem) => parseCsr(pem).subject.commonName,
  });
  const isEnabled = plugins.enable.includes(name);
  return {
    name,
    mutate: async (request, round) => (isEnabled || access.uses("Node") ? mutate?.(request, round) : undefined),
  };
}

/** Enough for a fleet whose machines join with one token and wait for an approver. */
const maxUndecidedCertificateRequests = 5000;

/** How many requests of a user are undecided. */
function undecidedIn(cache: WatchCache): (username: string) => number {
  return countedObjects(cache, {
    prefix: storagePrefix({ group: "certificates.k8s.io", plural: "certificatesigningrequests" }),
    under: (entry) => {
      const csr = csrView(objectOf(entry));
      return isUndecided(csr) ? csr.requester.username : undefined;
    },
  }).of;
}

/** A built-in object of the core group, as it is in the watch cache at this moment. */
function stored(cache: WatchCache, plural: string, place: string): ApiObject | undefined {
  const entry = cache.get(storagePrefix({ group: "", plural }) + place);
  return entry === undefined ? undefined : objectOf(entry);
}
