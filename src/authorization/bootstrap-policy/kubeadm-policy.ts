import { anonymousUser, defaultNodeTokenGroup, nodesGroup } from "../../apimachinery/user.ts";
import {
  rbacGroup,
  type Subject,
  type ClusterRoleBinding,
  type ClusterRole,
  type PolicyRule,
  type RoleBinding,
  type Role,
} from "../../apis/rbac.ts";
import type { RbacObject } from "../rbac-types.ts";
import { group, rbacApiVersion, rule, systemServiceAccount, user } from "./policy-object.ts";

const csr = "system:certificates.k8s.io:certificatesigningrequests";

/** The binding by which new nodes are approved automatically. */
export const autoapproveBinding = "kubeadm:node-autoapprove-bootstrap";

/**
 * What `kubeadm init` creates so that machines can join: cluster-info readable by the anonymous user, node requests and
 * their approval, what joining reads. Unlike the bootstrap policy these belong to the operator: create what is missing at
 * the first start, and never restore what was deleted. Without `nodeAutoapprove` a person approves each new node.
 * Source: kubeadm phases bootstraptoken, uploadconfig, addons/proxy.
 */
export function kubeadmPolicy(options: { readonly nodeAutoapprove: boolean }): readonly RbacObject[] {
  const joining = group(defaultNodeTokenGroup);
  const nodes = group(nodesGroup);
  return [
    ...readableConfigMap({ name: "kubeadm:bootstrap-signer-clusterinfo", namespace: "kube-public" }, "cluster-info", [
      user(anonymousUser),
    ]),
    binding("kubeadm:kubelet-bootstrap", "system:node-bootstrapper", joining),
    ...(options.nodeAutoapprove ? [binding(autoapproveBinding, `${csr}:nodeclient`, joining)] : []),
    binding("kubeadm:node-autoapprove-certificate-rotation", `${csr}:selfnodeclient`, nodes),
    // With mode RBAC alone no other rule lets a node request its next certificate; the Node authorizer grants the same.
    binding("pratique:node-renewal", "system:node-bootstrapper", nodes),
    // A machine without a credential may request one and get its own request by name; it cannot list requests.
    clusterRole("pratique:access-requester", [rule("create get", "access.pratique.dev", "accessrequests")]),
    binding("pratique:access-requester", "pratique:access-requester", user(anonymousUser)),
    clusterRole("kubeadm:get-nodes", [rule("get", "core", "nodes")]),
    binding("kubeadm:get-nodes", "kubeadm:get-nodes", joining),
    ...readableConfigMap({ name: "kubeadm:nodes-kubeadm-config", namespace: "kube-system" }, "kubeadm-config", [
      joining,
      nodes,
    ]),
    ...readableConfigMap({ name: "kubeadm:kubelet-config", namespace: "kube-system" }, "kubelet-config", [
      joining,
      nodes,
    ]),
    ...readableConfigMap({ name: "kube-proxy", namespace: "kube-system" }, "kube-proxy", [joining]),
    binding("kubeadm:node-proxier", "system:node-proxier", systemServiceAccount("kube-proxy")),
    binding("kubeadm:cluster-admins", "cluster-admin", group("kubeadm:cluster-admins")),
  ];
}

function readableConfigMap(
  metadata: { readonly namespace: string; readonly name: string },
  configMap: string,
  subjects: readonly Subject[],
): readonly [Role, RoleBinding] {
  const roleRef = { apiGroup: rbacGroup, kind: "Role", name: metadata.name };
  const rules = [rule("get", "core", "configmaps", [configMap])];
  return [
    { apiVersion: rbacApiVersion, kind: "Role", metadata, rules },
    { apiVersion: rbacApiVersion, kind: "RoleBinding", metadata, roleRef, subjects },
  ];
}

function clusterRole(name: string, rules: readonly PolicyRule[]): ClusterRole {
  return { apiVersion: rbacApiVersion, kind: "ClusterRole", metadata: { name }, rules };
}

function binding(name: string, role: string, subject: Subject): ClusterRoleBinding {
  const roleRef = { apiGroup: rbacGroup, kind: "ClusterRole", name: role };
  return { apiVersion: rbacApiVersion, kind: "ClusterRoleBinding", metadata: { name }, roleRef, subjects: [subject] };
}
