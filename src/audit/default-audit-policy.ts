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
 * Without a policy file: who did what with which result, when it is done, and no bodies. What only says that somebody is still there is
 * left out, as it would fill the disk and hide the rest: health, discovery and metrics, Events, renewals of leases, what nodes read and
 * write of their own all the time, machines that look whether they were answered, and when the hub saw each credential. Source: the audit policy that Kubernetes uses on GCE
 * (cluster/gce/gci/configure-helper.sh).
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
  // The hub notes when each credential was last seen.
  {
    ...unrecorded,
    users: [serviceAccountUser("kube-system", "credential-controller").username],
    verbs: ["update"],
    resources: [of(accessGroup, "issuedcredentials/status")],
  },
  // A session in a container is known from its start on: its end may be hours away.
  {
    ...anything,
    resources: [of("", "pods/attach", "pods/exec", "pods/portforward", "nodes/proxy")],
    omitStages: ["RequestReceived"],
  },
  anything,
];

/** The policy of a hub that is given none. */
export function defaultAuditPolicy(): AuditPolicy {
  return compileAuditPolicy(rules);
}
