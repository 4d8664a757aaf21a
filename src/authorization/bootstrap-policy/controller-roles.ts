import type { ClusterRoleBinding, ClusterRole, PolicyRule, RoleBinding, Role } from "../../apis/rbac.ts";
import {
  clusterEventsRule,
  clusterRole,
  clusterRoleBinding,
  eventsRule,
  role,
  roleBinding,
  rule,
  systemServiceAccount,
  user,
} from "./policy-object.ts";

const signers = ["kube-apiserver-client", "kube-apiserver-client-kubelet", "kubelet-serving", "legacy-unknown"];

/** What each controller may do, by the name of its ServiceAccount in kube-system. Its watches are included. */
const controllers: Readonly<Record<string, () => readonly PolicyRule[]>> = {
  // It binds the roles that profiles name, which the authors of profiles may bind, and creates tokens for the accounts that it created. It reads namespaces and
  // roles to report the missing ones that a profile names.
  "access-request-controller": () => [
    rule("delete get issue list watch", "access.pratique.dev", "accessrequests"),
    rule("update", "access.pratique.dev", "accessrequests/status"),
    rule("approve get list watch", "access.pratique.dev", "accessprofiles"),
    rule("update", "access.pratique.dev", "accessprofiles/status"),
    rule("list watch", "core", "namespaces"),
    rule("create delete get", "core", "serviceaccounts"),
    rule("create", "core", "serviceaccounts/token"),
    rule("create delete get list watch", "rbac.authorization.k8s.io", "clusterrolebindings rolebindings roles"),
    rule("get list watch", "rbac.authorization.k8s.io", "clusterroles"),
    rule("bind", "rbac.authorization.k8s.io", "clusterroles roles"),
  ],
  "certificate-controller": () => [
    rule("delete get list watch", "certificates.k8s.io", "certificatesigningrequests"),
    rule("update", "certificates.k8s.io", "certificatesigningrequests/approval certificatesigningrequests/status"),
    rule("approve", "certificates.k8s.io", "signers", ["kubernetes.io/kube-apiserver-client-kubelet"]),
    rule(
      "sign",
      "certificates.k8s.io",
      "signers",
      signers.map((signer) => `kubernetes.io/${signer}`),
    ),
    rule("create", "authorization.k8s.io", "subjectaccessreviews"),
    eventsRule(),
  ],
  // It writes rules that it does not have itself, hence escalate.
  "clusterrole-aggregation-controller": () => [
    rule("escalate get list patch update watch", "rbac.authorization.k8s.io", "clusterroles"),
  ],
  "credential-controller": () => [
    rule("create delete get list watch", "access.pratique.dev", "issuedcredentials"),
    rule("update", "access.pratique.dev", "issuedcredentials/status"),
    rule("create delete get list patch watch", "access.pratique.dev", "credentialrevocations"),
    rule("get list watch", "access.pratique.dev", "accessrequests recoverypolicies"),
    rule("get list watch", "certificates.k8s.io", "certificatesigningrequests"),
    // It approves machines that return with an expired certificate, as policies allow.
    rule("update", "certificates.k8s.io", "certificatesigningrequests/approval"),
    rule("approve", "certificates.k8s.io", "signers", ["kubernetes.io/kube-apiserver-client-kubelet"]),
    eventsRule(),
  ],
  // Kubernetes has none: etcd expires its events by lease.
  "event-expiry-controller": () => [rule("delete list watch", "core", "events")],
  "generic-garbage-collector": () => [rule("delete get list patch update watch", "*", "*"), eventsRule()],
  "namespace-controller": () => [
    rule("delete get list watch", "core", "namespaces"),
    rule("update", "core", "namespaces/finalize namespaces/status"),
    rule("delete deletecollection get list", "*", "*"),
  ],
  // A create request has no name that a rule could restrict.
  "root-ca-cert-publisher": () => [
    rule("create", "core", "configmaps"),
    rule("get list update watch", "core", "configmaps", ["kube-root-ca.crt"]),
    rule("get list watch", "core", "namespaces"),
    eventsRule(),
  ],
  // Kubernetes has none: it does not record which owner a name belongs to.
  "serving-approving-controller": () => [
    rule("get list watch", "certificates.k8s.io", "certificatesigningrequests"),
    rule("update", "certificates.k8s.io", "certificatesigningrequests/approval"),
    rule("approve", "certificates.k8s.io", "signers", ["kubernetes.io/kubelet-serving"]),
    rule("get list watch", "core", "nodes"),
  ],
  "service-account-controller": () => [
    rule("create", "core", "serviceaccounts"),
    rule("get list watch", "core", "serviceaccounts", ["default"]),
    rule("get list watch", "core", "namespaces"),
    eventsRule(),
  ],
  // Secrets of one type only, which no RBAC rule can express.
  "service-account-token-controller": () => [
    rule("delete get list update watch", "core", "secrets"),
    rule("get list watch", "core", "serviceaccounts"),
    eventsRule(),
  ],
  "validatingadmissionpolicy-status-controller": () => [
    rule("get list watch", "admissionregistration.k8s.io", "validatingadmissionpolicies"),
    rule("get patch update", "admissionregistration.k8s.io", "validatingadmissionpolicies/status"),
    eventsRule(),
  ],
};

/** Controllers that write events about cluster-scoped objects only. */
const clusterReporters: readonly string[] = [
  "access-request-controller",
  "clusterrole-aggregation-controller",
  "namespace-controller",
  "serving-approving-controller",
];

/** The ClusterRoles `system:controller:<name>` of our controllers. */
export function controllerRoles(): readonly ClusterRole[] {
  return Object.entries(controllers).map(([name, rules]) => clusterRole(`system:controller:${name}`, rules()));
}

/** Each controller role bound to the ServiceAccount of the same name. */
export function controllerRoleBindings(): readonly ClusterRoleBinding[] {
  return Object.keys(controllers).map((name) => {
    const full = `system:controller:${name}`;
    return clusterRoleBinding(full, full, [systemServiceAccount(name)]);
  });
}

/** Roles that are limited to a namespace: controllers of bootstrap tokens, and the reader of request-header settings. */
export function namespacedRoles(): readonly Role[] {
  return [
    role("kube-system", "extension-apiserver-authentication-reader", [
      rule("get list watch", "core", "configmaps", ["extension-apiserver-authentication"]),
    ]),
    role("kube-system", "system:controller:bootstrap-signer", [rule("get list watch", "core", "secrets")]),
    role("kube-public", "system:controller:bootstrap-signer", [
      rule("get list watch", "core", "configmaps"),
      rule("update", "core", "configmaps", ["cluster-info"]),
      eventsRule(),
    ]),
    role("kube-system", "system:controller:access-request-controller", [rule("create delete", "core", "secrets")]),
    role("kube-system", "system:controller:serving-approving-controller", [
      rule("get list watch", "core", "configmaps", ["pratique-node-inventory"]),
    ]),
    ...clusterReporters.map((name) => role("default", `system:controller:${name}`, [clusterEventsRule()])),
    role("kube-system", "system:controller:token-cleaner", [
      rule("delete get list watch", "core", "secrets"),
      eventsRule(),
    ]),
    role("kube-public", "system:controller:cluster-info-publisher", [
      rule("create", "core", "configmaps"),
      rule("get list update watch", "core", "configmaps", ["cluster-info"]),
    ]),
  ];
}

/** The bindings of `namespacedRoles`. */
export function namespacedRoleBindings(): readonly RoleBinding[] {
  const bound = (namespace: string, controller: string, account = controller): RoleBinding => {
    const name = `system:controller:${controller}`;
    return roleBinding({ namespace, name }, name, [systemServiceAccount(account)]);
  };
  return [
    roleBinding(
      { namespace: "kube-system", name: "system::extension-apiserver-authentication-reader" },
      "extension-apiserver-authentication-reader",
      [user("system:kube-controller-manager"), user("system:kube-scheduler")],
    ),
    bound("kube-system", "access-request-controller"),
    bound("kube-system", "bootstrap-signer"),
    bound("kube-public", "bootstrap-signer"),
    bound("kube-system", "serving-approving-controller"),
    ...clusterReporters.map((name) => bound("default", name)),
    bound("kube-system", "token-cleaner"),
    bound("kube-public", "cluster-info-publisher", "root-ca-cert-publisher"),
  ];
}
