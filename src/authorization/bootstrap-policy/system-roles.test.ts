import { describe, expect, it } from "vitest";
import { isAggregated, neededRules } from "../../controllers/objects/cluster-role-aggregation.ts";
import { invalidObject } from "../../apimachinery/field-error.ts";
import { serviceAccountUser, type UserInfo } from "../../apimachinery/user.ts";
import { clusterRoleBindings, clusterRoles, type ClusterRole, roleBindings, roles } from "../../apis/rbac.ts";
import { rbacIndex } from "../rbac-index.ts";
import { type RbacKind, type RbacObject, isBinding } from "../rbac-types.ts";
import { bootstrapPolicy } from "./system-roles.ts";
import { kubeadmPolicy } from "./kubeadm-policy.ts";

const bootstrap = bootstrapPolicy();
const joining = kubeadmPolicy({ nodeAutoapprove: true });
const all = aggregated([...bootstrap, ...joining]);

/** The objects as they are once the aggregation has settled: view, then edit, then admin. */
function aggregated(objects: readonly RbacObject[]): readonly RbacObject[] {
  const isClusterRole = (object: RbacObject): object is ClusterRole => object.kind === "ClusterRole";
  const step = (now: readonly RbacObject[]): readonly RbacObject[] => {
    const known = now.filter(isClusterRole);
    return now.map((object) => {
      if (!isClusterRole(object) || !isAggregated(object)) return object;
      const rules = neededRules(object, known) as ClusterRole["rules"] | undefined;
      return rules === undefined ? object : { ...object, rules };
    });
  };
  return step(step(step(objects)));
}

const index = rbacIndex();
for (const object of all) index.apply({ type: "put", kind: object.kind as RbacKind, object });

/** `verb resource[.group][/sub] [name]`, or `verb /path`. */
function may(user: UserInfo, question: string, namespace = ""): boolean {
  const [verb = "", what = "", name = ""] = question.split(" ");
  const path = what.startsWith("/") ? what : undefined;
  const [qualified = "", subresource = ""] = path === undefined ? what.split("/") : [];
  const [resource = "", ...group] = qualified.split(".");
  const resourceRequest = { group: group.join("."), version: "v1", resource, subresource, namespace, name };
  return index.firstAllowing({ user, verb, ...resourceRequest, path }) !== undefined;
}

const anonymous = { username: "system:anonymous", groups: ["system:unauthenticated"] };
const somebody = { username: "ann", groups: ["system:authenticated"] };
const token = {
  username: "system:bootstrap:abcdef",
  groups: ["system:bootstrappers", "system:bootstrappers:kubeadm:default-node-token", "system:authenticated"],
};
const node = { username: "system:node:n1", groups: ["system:nodes", "system:authenticated"] };
const controller = (name: string): UserInfo => serviceAccountUser("kube-system", name);
const csrs = "certificatesigningrequests.certificates.k8s.io";

describe("default objects", () => {
  it("are valid, named once per kind and namespace, and refer to roles that exist", () => {
    const resources = {
      Role: roles,
      ClusterRole: clusterRoles,
      RoleBinding: roleBindings,
      ClusterRoleBinding: clusterRoleBindings,
    };
    const seen = new Set<string>();
    for (const object of all) {
      const resource = resources[object.kind as RbacKind];
      const errors = resource.validate?.(object) ?? [];
      expect(errors.map((error) => invalidObject(resource, object.metadata.name ?? "", [error]).message)).toEqual([]);
      expect(object.metadata.namespace === undefined).toBe(resource.scope === "Cluster");
      seen.add(`${object.kind} ${object.metadata.namespace}/${object.metadata.name}`);
      if (!isBinding(object)) continue;
      expect(index.rulesOf(object.roleRef, object.metadata.namespace ?? "")).toBeDefined();
    }
    expect(seen.size).toBe(all.length);
    expect(all.length).toBeGreaterThan(60);
  });

  it("carry the label and the annotation of bootstrap objects, those of kubeadm do not", () => {
    for (const { metadata } of bootstrap) {
      expect(metadata.labels?.["kubernetes.io/bootstrapping"]).toBe("rbac-defaults");
      expect(metadata.annotations).toEqual({ "rbac.authorization.kubernetes.io/autoupdate": "true" });
    }
    for (const { metadata } of joining) expect(metadata.labels).toBeUndefined();
    expect(joining.length).toBeGreaterThan(2);
  });

  it("give full authority to system:masters and kubeadm:cluster-admins alone", () => {
    const full = all.filter((object) => isBinding(object) && object.roleRef.name === "cluster-admin");
    expect(
      full.flatMap((object) => (isBinding(object) ? (object.subjects ?? []) : [])).map(({ name }) => name),
    ).toEqual(["system:masters", "kubeadm:cluster-admins"]);
  });

  it("grant system:node to no subject", () => {
    const binding = bootstrap.find(
      ({ kind, metadata }) => kind === "ClusterRoleBinding" && metadata.name === "system:node",
    );
    expect(binding?.["subjects"]).toEqual([]);
  });
});

describe("anonymous users", () => {
  it("read health, version and cluster-info", () => {
    for (const path of ["/healthz", "/livez", "/readyz", "/version", "/version/"])
      expect(may(anonymous, `get ${path}`)).toBe(true);
    expect(may(anonymous, "get configmaps cluster-info", "kube-public")).toBe(true);
  });

  it("get nothing else: no discovery, no metrics, no other object, no list", () => {
    for (const path of ["/api", "/apis", "/openapi/v3", "/metrics", "/healthz/ping", "/"])
      expect(may(anonymous, `get ${path}`)).toBe(false);
    for (const question of [
      "list configmaps",
      "get configmaps other",
      "update configmaps cluster-info",
      "watch configmaps",
    ]) {
      expect(may(anonymous, question, "kube-public")).toBe(false);
    }
    expect(may(anonymous, "get configmaps cluster-info", "kube-system")).toBe(false);
    expect(may(anonymous, "create selfsubjectaccessreviews.authorization.k8s.io")).toBe(false);
  });

  it("may read cluster-info only as the user system:anonymous, not through its group", () => {
    expect(may({ username: "x", groups: anonymous.groups }, "get configmaps cluster-info", "kube-public")).toBe(false);
  });
});

describe("authenticated users", () => {
  it("see discovery and ask about themselves, and nothing more", () => {
    for (const path of ["/api", "/api/v1", "/apis/apps/v1", "/openapi/v3"])
      expect(may(somebody, `get ${path}`)).toBe(true);
    expect(may(somebody, "create selfsubjectrulesreviews.authorization.k8s.io")).toBe(true);
    expect(may(somebody, "create selfsubjectreviews.authentication.k8s.io")).toBe(true);
    for (const question of [
      "get pods x",
      "list secrets",
      "create subjectaccessreviews.authorization.k8s.io",
      "post /api",
    ]) {
      expect(may(somebody, question, "default")).toBe(false);
    }
  });
});

describe("joining machines", () => {
  it("request a node certificate, have it approved, and read what joining reads", () => {
    for (const verb of ["create", "get", "list", "watch"]) expect(may(token, `${verb} ${csrs}`)).toBe(true);
    expect(may(token, `create ${csrs}/nodeclient`)).toBe(true);
    expect(may(token, "get nodes n1")).toBe(true);
    for (const name of ["kubeadm-config", "kubelet-config", "kube-proxy"]) {
      expect(may(token, `get configmaps ${name}`, "kube-system")).toBe(true);
    }
  });

  it("may neither approve, sign, renew, list nodes, nor read secrets", () => {
    for (const question of [
      `update ${csrs}/approval`,
      `create ${csrs}/selfnodeclient`,
      "approve signers.certificates.k8s.io kubernetes.io/kube-apiserver-client-kubelet",
      "list nodes",
      "get secrets bootstrap-token-abcdef",
      "list configmaps",
    ]) {
      expect(may(token, question, "kube-system")).toBe(false);
    }
  });

  it("wait for a person when automatic approval is left out", () => {
    const names = kubeadmPolicy({ nodeAutoapprove: false }).map(({ metadata }) => metadata.name);
    expect(names).not.toContain("kubeadm:node-autoapprove-bootstrap");
    expect(names).toHaveLength(joining.length - 1);
  });

  it("renew their own certificate once they are nodes, and cannot have a new node approved", () => {
    expect(may(node, `create ${csrs}/selfnodeclient`)).toBe(true);
    expect(may(node, `create ${csrs}/nodeclient`)).toBe(false);
  });
});

describe("controllers", () => {
  it("certificate-controller approves kubelet clients only, and signs for the four signers", () => {
    const user = controller("certificate-controller");
    const signer = (verb: string, name: string): boolean =>
      may(user, `${verb} signers.certificates.k8s.io kubernetes.io/${name}`);
    expect(signer("approve", "kube-apiserver-client-kubelet")).toBe(true);
    for (const name of ["kube-apiserver-client", "kubelet-serving", "legacy-unknown"]) {
      expect(signer("approve", name)).toBe(false);
      expect(signer("sign", name)).toBe(true);
    }
    for (const sub of ["approval", "status"]) expect(may(user, `update ${csrs}/${sub} x`)).toBe(true);
    expect(may(user, "get secrets x", "kube-system")).toBe(false);
  });

  it("bootstrap controllers stay in their namespaces", () => {
    expect(may(controller("bootstrap-signer"), "list secrets", "kube-system")).toBe(true);
    expect(may(controller("bootstrap-signer"), "list secrets", "default")).toBe(false);
    expect(may(controller("bootstrap-signer"), "update configmaps cluster-info", "kube-public")).toBe(true);
    expect(may(controller("bootstrap-signer"), "update configmaps other", "kube-public")).toBe(false);
    expect(may(controller("token-cleaner"), "delete secrets x", "kube-system")).toBe(true);
    expect(may(controller("token-cleaner"), "update secrets x", "kube-system")).toBe(false);
  });

  it("publishers write their own ConfigMaps and no other", () => {
    const publisher = controller("root-ca-cert-publisher");
    expect(may(publisher, "update configmaps cluster-info", "kube-public")).toBe(true);
    expect(may(publisher, "update configmaps cluster-info", "kube-system")).toBe(false);
    for (const verb of ["list", "watch"]) {
      expect(may(publisher, `${verb} configmaps kube-root-ca.crt`)).toBe(true);
      expect(may(publisher, `${verb} configmaps`)).toBe(false);
    }
    expect(may(publisher, "update configmaps other", "default")).toBe(false);
    expect(may(controller("service-account-controller"), "list serviceaccounts default")).toBe(true);
    expect(may(controller("service-account-controller"), "list serviceaccounts")).toBe(false);
  });

  it("are the ServiceAccounts of kube-system, not of another namespace", () => {
    expect(may(serviceAccountUser("default", "generic-garbage-collector"), "delete pods x", "default")).toBe(false);
    expect(may(controller("generic-garbage-collector"), "delete pods x", "default")).toBe(true);
  });

  it("only the aggregation controller may escalate, and only the controller of access requests may bind", () => {
    const verbs = all.flatMap((object) => ("rules" in object ? ((object as ClusterRole).rules ?? []) : []));
    expect(verbs.filter((rule) => rule.verbs.includes("escalate"))).toHaveLength(1);
    expect(verbs.filter((rule) => rule.verbs.includes("bind"))).toHaveLength(1);
    const bind = "bind clusterroles.rbac.authorization.k8s.io cluster-admin";
    expect(may(controller("access-request-controller"), bind)).toBe(true);
    expect(may(controller("generic-garbage-collector"), bind)).toBe(false);
  });
});

describe("roles for people", () => {
  const rulesOf = (name: string, verb: string): readonly string[] => {
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name };
    const rules = index.rulesOf(roleRef, "") ?? [];
    return rules.filter((rule) => rule.verbs.includes(verb)).flatMap((rule) => rule.resources ?? []);
  };

  it("view reads no secrets, edit touches no roles, admin does both", () => {
    expect(rulesOf("view", "get")).toContain("configmaps");
    expect(rulesOf("view", "get")).not.toContain("secrets");
    expect(rulesOf("view", "create")).toEqual([]);
    expect(rulesOf("edit", "get")).toEqual(expect.arrayContaining(["configmaps", "secrets"]));
    expect(rulesOf("edit", "create")).not.toContain("roles");
    expect(rulesOf("admin", "create")).toEqual(expect.arrayContaining(["roles", "rolebindings", "pods"]));
  });
});
