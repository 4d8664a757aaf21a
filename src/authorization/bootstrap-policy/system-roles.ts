import {
  authenticatedGroup,
  mastersGroup,
  serviceAccountsGroup,
  unauthenticatedGroup,
} from "../../apimachinery/user.ts";
import { accessGroup } from "../../apis/access-request.ts";
import type { ClusterRoleBinding, ClusterRole } from "../../apis/rbac.ts";
import { clusterRole, clusterRoleBinding, group, pathRule, rule } from "./policy-object.ts";
import { caCheckPath, deprecatedCaCheckPath } from "../../trust/ca-check.ts";
import { signedTimePath } from "../../trust/signed-time.ts";
import type { RbacObject } from "../rbac-types.ts";
import { componentRoleBindings, componentRoles } from "./component-roles.ts";
import {
  controllerRoleBindings,
  controllerRoles,
  namespacedRoleBindings,
  namespacedRoles,
} from "./controller-roles.ts";
import { userRoles } from "./user-roles.ts";

const csr = "system:certificates.k8s.io:certificatesigningrequests";
const signers = ["kube-apiserver-client", "kube-apiserver-client-kubelet", "kubelet-serving", "legacy-unknown"];

/** ClusterRoles for people and for all users: administration, discovery, health, monitoring, certificates, delegation. */
export function systemRoles(): readonly ClusterRole[] {
  return [
    clusterRole("cluster-admin", [rule("*", "*", "*"), pathRule("*", "*")]),
    clusterRole("system:discovery", [
      pathRule("get", "/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/"),
    ]),
    clusterRole("system:public-info-viewer", [pathRule("get", "/healthz /livez /readyz /version /version/")]),
    // For machines that trust no CA yet, and whose clock may be wrong.
    clusterRole("pratique:time-reader", [pathRule("get", signedTimePath)]),
    // Each authenticated user may show that it trusts the next CA; the response contains nothing about other users.
    clusterRole("pratique:ca-check", [pathRule("get", `${caCheckPath} ${deprecatedCaCheckPath}`)]),
    clusterRole("system:basic-user", [
      rule("create", "authorization.k8s.io", "selfsubjectaccessreviews selfsubjectrulesreviews"),
      rule("create", "authentication.k8s.io", "selfsubjectreviews"),
    ]),
    // Returns the rights of the caller alone.
    clusterRole("pratique:self-explainer", [rule("create", accessGroup, "selfaccessexplanations")]),
    // Returns the rights of all users, and roles and bindings that the caller may not read: it has no binding.
    clusterRole("pratique:access-explainer", [
      rule("create", accessGroup, "accessexplanations"),
      rule("create", "authorization.k8s.io", "subjectaccessreviews"),
    ]),
    clusterRole("system:monitoring", [
      pathRule("get", "/healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/*"),
    ]),
    clusterRole("system:service-account-issuer-discovery", [
      pathRule(
        "get",
        "/.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks /openid/v1/jwks/",
      ),
    ]),
    clusterRole("system:auth-delegator", [
      rule("create", "authentication.k8s.io", "tokenreviews"),
      rule("create", "authorization.k8s.io", "subjectaccessreviews"),
    ]),
    clusterRole("system:node-bootstrapper", [
      rule("create get list watch", "certificates.k8s.io", "certificatesigningrequests"),
    ]),
    clusterRole(`${csr}:nodeclient`, [rule("create", "certificates.k8s.io", "certificatesigningrequests/nodeclient")]),
    clusterRole(`${csr}:selfnodeclient`, [
      rule("create", "certificates.k8s.io", "certificatesigningrequests/selfnodeclient"),
    ]),
    ...signers.map((signer) =>
      clusterRole(`system:certificates.k8s.io:${signer}-approver`, [
        rule("approve", "certificates.k8s.io", "signers", [`kubernetes.io/${signer}`]),
      ]),
    ),
  ];
}

/** The bindings of `systemRoles` that exist from the start. Anonymous users get public information, no discovery. */
export function systemRoleBindings(): readonly ClusterRoleBinding[] {
  return [
    clusterRoleBinding("cluster-admin", "cluster-admin", [group(mastersGroup)]),
    clusterRoleBinding("system:discovery", "system:discovery", [group(authenticatedGroup)]),
    clusterRoleBinding("system:basic-user", "system:basic-user", [group(authenticatedGroup)]),
    clusterRoleBinding("pratique:self-explainer", "pratique:self-explainer", [group(authenticatedGroup)]),
    clusterRoleBinding("system:public-info-viewer", "system:public-info-viewer", [
      group(authenticatedGroup),
      group(unauthenticatedGroup),
    ]),
    clusterRoleBinding("pratique:ca-check", "pratique:ca-check", [group(authenticatedGroup)]),
    clusterRoleBinding("pratique:time-reader", "pratique:time-reader", [
      group(authenticatedGroup),
      group(unauthenticatedGroup),
    ]),
    clusterRoleBinding("system:monitoring", "system:monitoring", [group("system:monitoring")]),
    clusterRoleBinding("system:service-account-issuer-discovery", "system:service-account-issuer-discovery", [
      group(serviceAccountsGroup),
    ]),
  ];
}

/**
 * The default roles and bindings of a hub, roles before the bindings that refer to them. They are reconciled at each start.
 * Namespaced ones lie in kube-system and kube-public. Source: kubernetes plugin/pkg/auth/authorizer/rbac/bootstrappolicy.
 */
export function bootstrapPolicy(): readonly RbacObject[] {
  return [
    ...systemRoles(),
    ...userRoles(),
    ...componentRoles(),
    ...controllerRoles(),
    ...namespacedRoles(),
    ...systemRoleBindings(),
    ...componentRoleBindings(),
    ...controllerRoleBindings(),
    ...namespacedRoleBindings(),
  ];
}
