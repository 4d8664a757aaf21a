/** Roles and bindings that give a service account what docs/serving-certificates.md lists, but for CredentialRevocations. */
export function servingApproverRights(account: {
  readonly name: string;
  readonly namespace: string;
}): readonly object[] {
  const rbac = { apiVersion: "rbac.authorization.k8s.io/v1" };
  const csrs = { apiGroups: ["certificates.k8s.io"] };
  const core = { apiGroups: [""] };
  const read = ["get", "list", "watch"];
  const subjects = [{ kind: "ServiceAccount", ...account }];
  const granted = (namespace: string | undefined, rules: readonly object[]): readonly object[] => {
    const kind = namespace === undefined ? "ClusterRole" : "Role";
    const metadata = { name: "serving-approver", ...(namespace === undefined ? {} : { namespace }) };
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind, name: "serving-approver" };
    return [
      { ...rbac, kind, metadata, rules },
      { ...rbac, kind: `${kind}Binding`, metadata, roleRef, subjects },
    ];
  };
  return [
    ...granted(undefined, [
      { ...csrs, resources: ["certificatesigningrequests"], verbs: read },
      { ...csrs, resources: ["certificatesigningrequests/approval"], verbs: ["update"] },
      { ...csrs, resources: ["signers"], resourceNames: ["kubernetes.io/kubelet-serving"], verbs: ["approve"] },
      { ...core, resources: ["nodes"], verbs: read },
    ]),
    ...granted("kube-system", [
      { ...core, resources: ["configmaps"], resourceNames: ["pratique-node-inventory"], verbs: read },
    ]),
    ...granted("default", [
      { ...core, resources: ["services", "endpoints"], resourceNames: ["kubernetes"], verbs: ["get"] },
      { ...core, resources: ["events"], verbs: ["create", "patch"] },
    ]),
  ];
}
