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
import { apiVersionOf, type ApiObject } from "../../apimachinery/object.ts";
import { parseCsr } from "../../pki/csr.ts";
import { objectOf } from "../../registry/entry.ts";
import { storagePrefix, type Resource } from "../../apis/resource.ts";
import type { WatchCache } from "../../storage/watch-cache.ts";
import { accessAdmission } from "./access-requests.ts";
import type { AdmissionMetrics } from "../../admission/metrics.ts";
import type { Authorization } from "../authorization.ts";
import { cachedObject, countedObjects } from "../../storage/observed-objects.ts";
import { operatorName } from "../../bootstrap/admin-kubeconfig.ts";
import { systemRandom } from "../../host/system-random.ts";
import type { HubOptions } from "../hub-options.ts";
import { dynamicAdmission, type DynamicAdmissionParts } from "./dynamic.ts";
import { HubError } from "../../apimachinery/hub-error.ts";

/** The inputs of admission. */
export interface AdmissionParts extends Omit<
  DynamicAdmissionParts,
  "may" | "authorize" | "namespaceOf" | "resourceOf" | "metrics"
> {
  readonly metrics: Pick<AdmissionMetrics, "timed" | "timedSteps" | "webhookAsked">;
  readonly access: Authorization;
}

/** The enabled admission plugins of a hub, in the order of Kubernetes. @throws HubError for an unknown plugin. */
export function hubAdmission(options: HubOptions, parts: AdmissionParts): Admission {
  const { access, cache, clock, metrics, revoked } = parts;
  const isOn = admissionPluginFilter(options);
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
    parts.resources().find((one) => one.kind === kind && apiVersionOf(one.group, one.version) === apiVersion);
  const undecided = undecidedIn(cache);
  const plugins = [
    namespaceLifecycle(namespaceOf),
    serviceAccount({
      accountOf: (namespace, name) => stored(cache, "serviceaccounts", `${namespace}/${name}`),
      pause: () => clock.sleep(100),
      random: systemRandom,
    }),
    restrictedNodes(
      { access, cache, isEnabled: options.enableAdmissionPlugins?.includes("NodeRestriction") ?? false },
      may,
    ),
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
    ...accessAdmission(options, { ...parts, may }),
    ...(parts.clusters?.admission({ may, namespaceOf, clock }) ?? []),
    credentialRevocationAdmission({
      size: revoked.size,
      removing: revoked.removals.note,
      operator: operatorName,
      now: () => clock.now(),
    }),
    ...dynamicAdmission({ ...parts, may, authorize, namespaceOf, resourceOf }, options.log),
  ];
  return metrics.timedSteps(admissionChain(plugins.filter(({ name }) => isOn(name)).map(metrics.timed)));
}

/** Nodes are limited where the Node authorizer lets them write, or where the plugin is enabled by name. */
function restrictedNodes(
  { access, cache, isEnabled }: Pick<AdmissionParts, "access" | "cache"> & { readonly isEnabled: boolean },
  may: Parameters<typeof nodeRestriction>[0]["may"],
): AdmissionPlugin {
  const { name, mutate } = nodeRestriction({
    podOf: (namespace, pod) => stored(cache, "pods", `${namespace}/${pod}`),
    nodeOf: (node) => stored(cache, "nodes", node),
    may,
    commonNameOf: (pem) => parseCsr(pem).subject.commonName,
  });
  return {
    name,
    mutate: async (request, round) => (isEnabled || access.uses("Node") ? mutate?.(request, round) : undefined),
  };
}

/** Enough for a fleet whose machines join with one token and wait for an approver. */
const maxUndecidedCertificateRequests = 5000;

/** The number of undecided requests of a user. */
function undecidedIn(cache: WatchCache): (username: string) => number {
  return countedObjects(cache, {
    prefix: storagePrefix({ group: "certificates.k8s.io", plural: "certificatesigningrequests" }),
    under: (entry) => {
      const csr = csrView(objectOf(entry));
      return isUndecided(csr) ? csr.requester.username : undefined;
    },
  }).of;
}

/** A built-in object of the core group, in its current state in the watch cache. */
function stored(cache: WatchCache, plural: string, place: string): ApiObject | undefined {
  return cachedObject(cache, storagePrefix({ group: "", plural }) + place);
}

/** The optional plugins, by the names of Kubernetes, and whether they are enabled by default. */
const known: Readonly<Record<string, boolean>> = {
  NamespaceLifecycle: true,
  ServiceAccount: true,
  // Without the Node authorizer it has no effect unless it is enabled by name.
  NodeRestriction: true,
  OwnerReferencesPermissionEnforcement: false,
  CertificateApproval: true,
  CertificateSigning: true,
  CertificateSubjectRestriction: true,
  MutatingAdmissionPolicy: true,
  MutatingAdmissionWebhook: true,
  ValidatingAdmissionPolicy: true,
  ValidatingAdmissionWebhook: true,
};

/**
 * Whether a plugin is enabled; one that is not in the list of names cannot be disabled. @throws HubError for a name that is unknown, or
 * that is both enabled and disabled
 */
export function admissionPluginFilter({
  enableAdmissionPlugins: enable = [],
  disableAdmissionPlugins: disable = [],
}: Pick<HubOptions, "enableAdmissionPlugins" | "disableAdmissionPlugins">): (name: string) => boolean {
  for (const [flag, names] of [
    ["enable-admission-plugins", enable],
    ["disable-admission-plugins", disable],
  ] as const) {
    const unknown = names.find((name) => !Object.hasOwn(known, name));
    if (unknown !== undefined) {
      const allowed = Object.keys(known).join(", ");
      throw new HubError("options", `--${flag}: plugin ${JSON.stringify(unknown)} is unknown; known are ${allowed}`);
    }
  }
  const both = enable.find((name) => disable.includes(name));
  if (both !== undefined) {
    throw new HubError("options", `${both} in enable-admission-plugins and disable-admission-plugins overlapped`);
  }
  return (name) =>
    !disable.includes(name) && (enable.includes(name) || !Object.hasOwn(known, name) || known[name] === true);
}
