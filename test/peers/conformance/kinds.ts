import { createCsr } from "../../../src/pki/csr.ts";
import { csrKey } from "../../kits/csr-object.ts";
import { over } from "./row.ts";

/** A kind, and what one of it looks like. */
export interface Kind {
  readonly kind: string;
  readonly apiVersion: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Where its objects lie; in `namespace`, which is `conformance` when nothing is said. */
  readonly at: (namespace?: string) => string;
  /** A valid one. */
  readonly make: (name: string, change?: object) => object;
  /** A change that an update may make, as a merge patch. */
  readonly change: object;
  /** Changes that make one invalid, by what is wrong with it. */
  readonly wrong: Readonly<Record<string, object>>;
}

interface KindFacts extends Omit<Kind, "at" | "make"> {
  readonly fields: object;
}

function kindOf({ fields, ...facts }: KindFacts): Kind {
  const root = facts.apiVersion.includes("/") ? `/apis/${facts.apiVersion}` : `/api/${facts.apiVersion}`;
  return {
    ...facts,
    at: (namespace = "conformance") => `${root}/${facts.namespaced ? `namespaces/${namespace}/` : ""}${facts.plural}`,
    make: (name, change = {}) =>
      over({ apiVersion: facts.apiVersion, kind: facts.kind, metadata: { name }, ...fields }, change),
  };
}

const rbac = "rbac.authorization.k8s.io/v1";
const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }];
const wrongRules = {
  "a rule without verbs": { rules: [{ apiGroups: [""], resources: ["configmaps"] }] },
  "a rule without resources": { rules: [{ apiGroups: [""], verbs: ["get"] }] },
  "a rule without groups": { rules: [{ resources: ["configmaps"], verbs: ["get"] }] },
};
const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" };
const wrongBindings = {
  "no roleRef": { roleRef: undefined },
  "a roleRef of another kind": { roleRef: { ...roleRef, kind: "Pod" } },
  "a roleRef of another group": { roleRef: { ...roleRef, apiGroup: "apps" } },
  "a roleRef without name": { roleRef: { ...roleRef, name: "" } },
  "a subject of another kind": { subjects: [{ kind: "Robot", name: "a" }] },
  "a user with a group of the core": { subjects: [{ kind: "User", name: "a", apiGroup: "apps" }] },
  "a ServiceAccount without namespace": { subjects: [{ kind: "ServiceAccount", name: "a" }] },
  "a subject without name": { subjects: [{ kind: "Group" }] },
};
const pem = createCsr({ key: csrKey, commonName: "system:node:m1", organizations: ["system:nodes"] });
const request = Buffer.from(pem).toString("base64");
const csr = { request, signerName: "example.com/any", usages: ["digital signature", "client auth"] };
const webhook = {
  name: "a.example.com",
  clientConfig: { url: "https://127.0.0.1:1/" },
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
  rules: [{ apiGroups: ["none.example.com"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["nothings"] }],
};
const wrongWebhooks = {
  "a webhook without sideEffects": { webhooks: [{ ...webhook, sideEffects: undefined }] },
  "a webhook with unknown sideEffects": { webhooks: [{ ...webhook, sideEffects: "Some" }] },
  "a webhook without review versions": { webhooks: [{ ...webhook, admissionReviewVersions: [] }] },
  "a webhook that knows no review version of ours": { webhooks: [{ ...webhook, admissionReviewVersions: ["v9"] }] },
  "a webhook with a short name": { webhooks: [{ ...webhook, name: "a" }] },
  "a webhook without client": { webhooks: [{ ...webhook, clientConfig: {} }] },
  "a webhook over http": { webhooks: [{ ...webhook, clientConfig: { url: "http://127.0.0.1/" } }] },
  "a webhook with a long timeout": { webhooks: [{ ...webhook, timeoutSeconds: 31 }] },
  "a webhook with an unknown policy": { webhooks: [{ ...webhook, failurePolicy: "Perhaps" }] },
  "a webhook with an unknown operation": {
    webhooks: [{ ...webhook, rules: [{ ...webhook.rules[0], operations: ["LOOK"] }] }],
  },
  "a webhook with an empty rule": { webhooks: [{ ...webhook, rules: [{}] }] },
  "two webhooks of one name": { webhooks: [webhook, webhook] },
};

/** The kinds for which every row is sent; for the others what would only say the same again is left out. */
export const thorough: ReadonlySet<string> = new Set([
  "configmaps",
  "namespaces",
  "pods",
  "leases",
  "clusterroles",
  "things",
]);

/** The kinds of the table. */
export const kinds: readonly Kind[] = [
  kindOf({
    kind: "ConfigMap",
    apiVersion: "v1",
    plural: "configmaps",
    namespaced: true,
    fields: { data: { a: "1" } },
    change: { data: { b: "2" } },
    wrong: {
      "a bad key": { data: { "a b": "1" } },
      "a long key": { data: { ["k".repeat(254)]: "1" } },
      "a key of dots": { data: { "..": "1" } },
      "a key in both maps": { data: { a: "1" }, binaryData: { a: "AA==" } },
      "a number as a value": { data: { a: 1 } },
      "an array as a value": { data: { a: [] } },
      "a list as data": { data: [] },
      "binary data that is no base64": { binaryData: { a: "%%" } },
      "immutable as text": { immutable: "yes" },
    },
  }),
  kindOf({
    kind: "Secret",
    apiVersion: "v1",
    plural: "secrets",
    namespaced: true,
    fields: { data: { a: "MQ==" } },
    change: { stringData: { b: "2" } },
    wrong: {
      "a bad key": { data: { "a b": "MQ==" } },
      "data that is no base64": { data: { a: "%%" } },
      "a TLS type without certificate": { type: "kubernetes.io/tls" },
      "a docker type without data": { type: "kubernetes.io/dockerconfigjson" },
      "a docker type with text": { type: "kubernetes.io/dockerconfigjson", data: { ".dockerconfigjson": "eHg=" } },
      "basic auth without a name": { type: "kubernetes.io/basic-auth" },
      "ssh auth without a key": { type: "kubernetes.io/ssh-auth" },
      "a token type without account": { type: "kubernetes.io/service-account-token" },
      "a number as a type": { type: 7 },
    },
  }),
  kindOf({
    kind: "ServiceAccount",
    apiVersion: "v1",
    plural: "serviceaccounts",
    namespaced: true,
    fields: {},
    change: { automountServiceAccountToken: false },
    wrong: { "text as automount": { automountServiceAccountToken: "no" }, "a map as secrets": { secrets: {} } },
  }),
  kindOf({
    kind: "Namespace",
    apiVersion: "v1",
    plural: "namespaces",
    namespaced: false,
    fields: {},
    change: { metadata: { annotations: { changed: "1" } } },
    wrong: {
      "a finalizer of its own without a domain": { spec: { finalizers: ["mine"] } },
      "text as finalizers": { spec: { finalizers: "mine" } },
    },
  }),
  kindOf({
    kind: "Node",
    apiVersion: "v1",
    plural: "nodes",
    namespaced: false,
    fields: {},
    change: { spec: { unschedulable: true } },
    wrong: {
      "a taint without effect": { spec: { taints: [{ key: "a" }] } },
      "a taint with an unknown effect": { spec: { taints: [{ key: "a", effect: "Perhaps" }] } },
      "two taints alike": {
        spec: {
          taints: [
            { key: "a", effect: "NoSchedule" },
            { key: "a", effect: "NoSchedule" },
          ],
        },
      },
      "a taint with a bad key": { spec: { taints: [{ key: "a b", effect: "NoSchedule" }] } },
      "a bad network": { spec: { podCIDRs: ["10.0.0.0"] } },
      "text as unschedulable": { spec: { unschedulable: "yes" } },
    },
  }),
  kindOf({
    kind: "Pod",
    apiVersion: "v1",
    plural: "pods",
    namespaced: true,
    fields: { spec: { automountServiceAccountToken: false, containers: [{ name: "c", image: "i" }] } },
    change: { metadata: { labels: { changed: "1" } } },
    wrong: {
      "no containers": { spec: { containers: [] } },
      "a container without name": { spec: { containers: [{ image: "i" }] } },
      "a container without image": { spec: { containers: [{ name: "c" }] } },
      "two containers of one name": {
        spec: {
          containers: [
            { name: "c", image: "i" },
            { name: "c", image: "j" },
          ],
        },
      },
      "an unknown restart policy": { spec: { restartPolicy: "Sometimes" } },
      "an unknown DNS policy": { spec: { dnsPolicy: "Sometimes" } },
      "a bad container name": { spec: { containers: [{ name: "C_C", image: "i" }] } },
      "a bad port": { spec: { containers: [{ name: "c", image: "i", ports: [{ containerPort: 70000 }] }] } },
      "an account that is missing": { spec: { serviceAccountName: "nobody" } },
      "a negative grace": { spec: { terminationGracePeriodSeconds: -1 } },
      "a mount of a volume that is missing": {
        spec: { containers: [{ name: "c", image: "i", volumeMounts: [{ name: "v", mountPath: "/v" }] }] },
      },
    },
  }),
  kindOf({
    kind: "Event",
    apiVersion: "v1",
    plural: "events",
    namespaced: true,
    fields: { involvedObject: { kind: "Pod", name: "a", namespace: "conformance" }, reason: "Tested", type: "Normal" },
    change: { count: 2 },
    wrong: {
      "another namespace than its object": { involvedObject: { namespace: "default" } },
      "text as a count": { count: "two" },
    },
  }),
  kindOf({
    kind: "Lease",
    apiVersion: "coordination.k8s.io/v1",
    plural: "leases",
    namespaced: true,
    fields: { spec: { holderIdentity: "a", leaseDurationSeconds: 40 } },
    change: { spec: { holderIdentity: "b" } },
    wrong: {
      "no duration": { spec: { leaseDurationSeconds: 0 } },
      "negative transitions": { spec: { leaseTransitions: -1 } },
      "an invalid renewal time": { spec: { renewTime: "yesterday" } },
      "text as duration": { spec: { leaseDurationSeconds: "40" } },
    },
  }),
  kindOf({
    kind: "Role",
    apiVersion: rbac,
    plural: "roles",
    namespaced: true,
    fields: { rules },
    change: { rules: [] },
    wrong: { ...wrongRules, "rules for paths": { rules: [{ nonResourceURLs: ["/x"], verbs: ["get"] }] } },
  }),
  kindOf({
    kind: "RoleBinding",
    apiVersion: rbac,
    plural: "rolebindings",
    namespaced: true,
    fields: { roleRef, subjects: [{ kind: "User", name: "a", apiGroup: "rbac.authorization.k8s.io" }] },
    change: { subjects: [] },
    wrong: wrongBindings,
  }),
  kindOf({
    kind: "ClusterRole",
    apiVersion: rbac,
    plural: "clusterroles",
    namespaced: false,
    fields: { rules },
    change: { rules: [] },
    wrong: {
      ...wrongRules,
      "paths and resources in one rule": {
        rules: [{ apiGroups: [""], resources: ["pods"], nonResourceURLs: ["/x"], verbs: ["get"] }],
      },
      "an aggregation of nothing": { aggregationRule: { clusterRoleSelectors: [] } },
    },
  }),
  kindOf({
    kind: "ClusterRoleBinding",
    apiVersion: rbac,
    plural: "clusterrolebindings",
    namespaced: false,
    fields: { roleRef, subjects: [{ kind: "User", name: "a", apiGroup: "rbac.authorization.k8s.io" }] },
    change: { subjects: [] },
    wrong: wrongBindings,
  }),
  kindOf({
    kind: "CertificateSigningRequest",
    apiVersion: "certificates.k8s.io/v1",
    plural: "certificatesigningrequests",
    namespaced: false,
    fields: { spec: csr },
    change: { metadata: { labels: { changed: "1" } } },
    wrong: {
      "no request": { spec: { request: undefined } },
      "a request that is not PEM": { spec: { request: "eHg=" } },
      "no signer": { spec: { signerName: undefined } },
      "a signer without a domain": { spec: { signerName: "any" } },
      "the signer of old": { spec: { signerName: "kubernetes.io/legacy-unknown" } },
      "no usages": { spec: { usages: undefined } },
      "an unknown usage": { spec: { usages: ["looking"] } },
      "a usage twice": { spec: { usages: ["client auth", "client auth"] } },
    },
  }),
  kindOf({
    kind: "ValidatingWebhookConfiguration",
    apiVersion: "admissionregistration.k8s.io/v1",
    plural: "validatingwebhookconfigurations",
    namespaced: false,
    fields: { webhooks: [webhook] },
    change: { webhooks: [] },
    wrong: wrongWebhooks,
  }),
  kindOf({
    kind: "MutatingWebhookConfiguration",
    apiVersion: "admissionregistration.k8s.io/v1",
    plural: "mutatingwebhookconfigurations",
    namespaced: false,
    fields: { webhooks: [webhook] },
    change: { webhooks: [] },
    wrong: {
      ...wrongWebhooks,
      "a webhook with an unknown reinvocation": { webhooks: [{ ...webhook, reinvocationPolicy: "Always" }] },
    },
  }),
  kindOf({
    kind: "Thing",
    apiVersion: "example.com/v1",
    plural: "things",
    namespaced: true,
    fields: { spec: { size: 1 } },
    change: { spec: { size: 2 } },
    wrong: {
      "no size": { spec: { size: undefined } },
      "no spec": { spec: undefined },
      "a size of null": { spec: { size: null } },
      "a size as text": { spec: { size: "1" } },
      "a size with a fraction": { spec: { size: 1.5 } },
      "a size that is too small": { spec: { size: 0 } },
      "a size that is too large": { spec: { size: 10 } },
      "an unknown mood": { spec: { mood: "odd" } },
      "a mood of null": { spec: { mood: null } },
      "a word of other letters": { spec: { word: "A1" } },
      "a long word": { spec: { word: "abcdefghi" } },
      "a number as a word": { spec: { word: 7 } },
      "an invalid time": { spec: { when: "yesterday" } },
      "either as an object": { spec: { either: {} } },
      "either as a number": { spec: { either: 7 } },
      "too many parts": { spec: { parts: [{ name: "a" }, { name: "b" }, { name: "c" }] } },
      "two parts of one name": { spec: { parts: [{ name: "a" }, { name: "a" }] } },
      "a part without name": { spec: { parts: [{}] } },
      "two tags alike": { spec: { tags: ["a", "a"] } },
      "tags as text": { spec: { tags: "a" } },
      "an unknown field in spec": { spec: { none: 1 } },
      "anything where anything may be": { spec: { free: { any: [1, { thing: true }] } } },
      "a status": { status: { ready: true } },
    },
  }),
];
