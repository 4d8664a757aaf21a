import { nodesGroup, serviceAccountUser } from "../apimachinery/user.ts";
import { accessGroup } from "../apis/access-request.ts";
import { compileAuditPolicy, type AuditPolicy, type AuditRule } from "../apiserver/audit/audit-policy.ts";

const anything: AuditRule = {
  level: "Metadata",
  users: [],
  userGroups: [],
  verbs: [],
  resources: [],
  namespaces: [],
  nonResourceURLs: [],
  omitStages: ["RequestReceived", "ResponseStarted"],
  omitManagedFields: false,
};

const unrecorded: AuditRule = { ...anything, level: "None" };

function of(group: string, ...resources: readonly string[]): AuditRule["resources"][number] {
  return { group, resources, resourceNames: [] };
}

/**
 * The policy without a policy file: user, request and result at completion, without bodies. Routine requests are omitted, as they would
 * fill the disk and hide the rest: health, discovery and metrics, Events, renewals of leases, the constant reads and writes of nodes,
 * machines that poll for their answer, and the times at which the hub saw each credential. Source: the audit policy that Kubernetes uses
 * on GCE (cluster/gce/gci/configure-helper.sh).
 */
const rules: readonly AuditRule[] = [
  {
    ...unrecorded,
    verbs: ["get", "head"],
    nonResourceURLs: [
      "/healthz*",
      "/livez*",
      "/readyz*",
      "/version",
      "/metrics",
      "/api",
      "/api/*",
      "/apis",
      "/apis/*",
      "/openapi/*",
      "/.well-known/*",
    ],
  },
  { ...unrecorded, resources: [of("", "events"), of("events.k8s.io", "events")] },
  { ...unrecorded, verbs: ["get", "update", "patch"], resources: [of("coordination.k8s.io", "leases")] },
  { ...unrecorded, userGroups: [nodesGroup], verbs: ["get", "list", "watch"] },
  {
    ...unrecorded,
    userGroups: [nodesGroup],
    verbs: ["update", "patch"],
    resources: [of("", "nodes/status", "pods/status")],
  },
  { ...unrecorded, verbs: ["get"], resources: [of(accessGroup, "accessrequests")] },
  // The hub records when each credential was last seen.
  {
    ...unrecorded,
    users: [serviceAccountUser("kube-system", "credential-controller").username],
    verbs: ["update"],
    resources: [of(accessGroup, "issuedcredentials/status")],
  },
  // A session in a container is recorded at its start: its end may be hours away.
  {
    ...anything,
    resources: [of("", "pods/attach", "pods/exec", "pods/portforward", "nodes/proxy")],
    omitStages: ["RequestReceived"],
  },
  anything,
];

/** The default policy of a hub. */
export function defaultAuditPolicy(): AuditPolicy {
  return compileAuditPolicy(rules);
}
