// The kinds that the hub serves or mentions; the definitions that they refer to are generated with them.

/** Definition names, by group and version. */
const kinds: Readonly<Record<string, readonly string[]>> = {
  "io.k8s.api.admissionregistration.v1": [
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "MutatingAdmissionPolicyBindingList",
    "MutatingAdmissionPolicyList",
    "MutatingWebhookConfiguration",
    "MutatingWebhookConfigurationList",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingAdmissionPolicyBindingList",
    "ValidatingAdmissionPolicyList",
    "ValidatingWebhookConfiguration",
    "ValidatingWebhookConfigurationList",
  ],
  "io.k8s.api.authentication.v1": ["SelfSubjectReview", "TokenRequest", "TokenReview"],
  "io.k8s.api.authorization.v1": [
    "LocalSubjectAccessReview",
    "SelfSubjectAccessReview",
    "SelfSubjectRulesReview",
    "SubjectAccessReview",
  ],
  "io.k8s.api.autoscaling.v1": ["Scale"],
  "io.k8s.api.certificates.v1": ["CertificateSigningRequest", "CertificateSigningRequestList"],
  "io.k8s.api.coordination.v1": ["Lease", "LeaseList"],
  "io.k8s.api.core.v1": [
    "Binding",
    "ConfigMap",
    "ConfigMapList",
    "Event",
    "EventList",
    "Namespace",
    "NamespaceList",
    "Node",
    "NodeList",
    "Pod",
    "PodList",
    "Secret",
    "SecretList",
    "Service",
    "ServiceAccount",
    "ServiceAccountList",
    "ServiceList",
  ],
  "io.k8s.api.events.v1": ["Event", "EventList"],
  "io.k8s.api.flowcontrol.v1": [
    "FlowSchema",
    "FlowSchemaList",
    "PriorityLevelConfiguration",
    "PriorityLevelConfigurationList",
  ],
  "io.k8s.api.rbac.v1": [
    "ClusterRole",
    "ClusterRoleBinding",
    "ClusterRoleBindingList",
    "ClusterRoleList",
    "Role",
    "RoleBinding",
    "RoleBindingList",
    "RoleList",
  ],
  "io.k8s.api.storage.v1": ["CSINode", "CSINodeList"],
  "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1": [
    "CustomResourceDefinition",
    "CustomResourceDefinitionList",
  ],
  "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1": ["APIService", "APIServiceList"],
  "io.k8s.apimachinery.pkg.apis.meta.v1": ["Condition", "DeleteOptions", "Patch", "Status"],
};

/** The names of the definitions to generate; those that they refer to come with them. */
export const rootDefinitions: readonly string[] = Object.entries(kinds).flatMap(([version, names]) =>
  names.map((name) => `${version}.${name}`),
);
