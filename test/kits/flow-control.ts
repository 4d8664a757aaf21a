// Objects that steer requests, for the hub alone and beside kube-apiserver.

export const flowControlGroup = "/apis/flowcontrol.apiserver.k8s.io/v1";

const rule = { verbs: ["get"], apiGroups: [""], resources: ["pods"], namespaces: ["*"] };
const jane = { kind: "User", user: { name: "jane" } };

/** The body of a schema for jane. */
export function schemaOf(name: string, spec: object = {}): object {
  const rules = [{ subjects: [jane], resourceRules: [rule] }];
  return { metadata: { name }, spec: { priorityLevelConfiguration: { name: "system" }, rules, ...spec } };
}

/** The body of a level with queues. */
export function levelOf(name: string, limited: object = {}, spec: object = {}): object {
  const limits = { limitResponse: { type: "Queue", queuing: {} }, ...limited };
  return { metadata: { name }, spec: { type: "Limited", limited: limits, ...spec } };
}

const ruled = (more: object): object => schemaOf("mine", { rules: [{ subjects: [jane], ...more }] });
const subject = (one: object): object => schemaOf("mine", { rules: [{ subjects: [one], resourceRules: [rule] }] });

/** Schemas that are refused. */
export const refusedSchemas: Readonly<Record<string, object>> = {
  "without a level": schemaOf("mine", { priorityLevelConfiguration: {} }),
  "with a level of no name": schemaOf("mine", { priorityLevelConfiguration: { name: "A" } }),
  "with a negative precedence": schemaOf("mine", { matchingPrecedence: -1 }),
  "with a precedence beyond the last": schemaOf("mine", { matchingPrecedence: 10_001 }),
  "with the precedence of exempt": schemaOf("mine", { matchingPrecedence: 1 }),
  "with rules without subjects": schemaOf("mine", { rules: [{ subjects: [], resourceRules: [rule] }] }),
  "with a rule for nothing": ruled({}),
  "with unknown verbs": ruled({ resourceRules: [{ ...rule, verbs: ["get", "see"] }] }),
  "with a star among others": ruled({
    resourceRules: [{ verbs: ["*", "get"], apiGroups: ["*", ""], resources: ["*", "a"], namespaces: ["*", "a"] }],
  }),
  "with rules without fields": ruled({ resourceRules: [{}], nonResourceRules: [{}] }),
  "with names of namespaces that are none": ruled({ resourceRules: [{ ...rule, namespaces: ["A"] }] }),
  "with paths that are none": ruled({
    nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["", "a", "/a b", "/a//b", "/a*", "/*/*"] }],
  }),
  "with a subject of an unknown kind": subject({ kind: "Role" }),
  "with a subject without its field": subject({ kind: "User" }),
  "with a subject of two kinds": subject({ kind: "Group", group: { name: "g" }, user: { name: "u" } }),
  "with an account without a namespace": subject({ kind: "ServiceAccount", serviceAccount: { name: "A" } }),
};

/** Levels that are refused. */
export const refusedLevels: Readonly<Record<string, object>> = {
  "without a type": { metadata: { name: "mine" }, spec: {} },
  "of an unknown type": { metadata: { name: "mine" }, spec: { type: "Open" } },
  "that are exempt under another name": { metadata: { name: "mine" }, spec: { type: "Exempt" } },
  "without limits": { metadata: { name: "mine" }, spec: { type: "Limited" } },
  "with both kinds of limits": levelOf("mine", {}, { exempt: {} }),
  "with negative shares": levelOf("mine", { nominalConcurrencyShares: -1, borrowingLimitPercent: -1 }),
  "that lend more than they have": levelOf("mine", { lendablePercent: 101 }),
  "without a response": levelOf("mine", { limitResponse: {} }),
  "with an unknown response": levelOf("mine", { limitResponse: { type: "Drop" } }),
  "that queue without queues": levelOf("mine", { limitResponse: { type: "Queue" } }),
  "that reject with queues": levelOf("mine", { limitResponse: { type: "Reject", queuing: {} } }),
  "with negative queues": levelOf("mine", {
    limitResponse: { type: "Queue", queuing: { queues: -1, handSize: -1, queueLengthLimit: -1 } },
  }),
  "with hands larger than their queues": levelOf("mine", {
    limitResponse: { type: "Queue", queuing: { queues: 2, handSize: 4 } },
  }),
  "with hands that no hash can deal": levelOf("mine", {
    limitResponse: { type: "Queue", queuing: { queues: 10_000_000, handSize: 3 } },
  }),
};

/** Users and what they ask for; each pair belongs to a schema and a level. */
export const flowRequests: readonly {
  readonly user: string;
  readonly groups: readonly string[];
  readonly path: string;
}[] = [
  { user: "jane", groups: [], path: "/api/v1/namespaces/default/pods" },
  { user: "jane", groups: [], path: "/version" },
  { user: "jane", groups: [], path: "/readyz" },
  { user: "system:node:a", groups: ["system:nodes"], path: "/api/v1/nodes/a" },
  { user: "system:node:a", groups: ["system:nodes"], path: "/api/v1/nodes/a/status" },
  { user: "system:node:a", groups: ["system:nodes"], path: "/api/v1/namespaces/default/secrets/s" },
  { user: "system:node:a", groups: ["system:nodes"], path: "/apis" },
  { user: "system:kube-scheduler", groups: [], path: "/api/v1/pods" },
  {
    user: "system:kube-scheduler",
    groups: [],
    path: "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler",
  },
  {
    user: "system:serviceaccount:kube-system:x",
    groups: ["system:serviceaccounts"],
    path: "/api/v1/namespaces/default/configmaps",
  },
  {
    user: "system:serviceaccount:default:x",
    groups: ["system:serviceaccounts"],
    path: "/api/v1/namespaces/default/configmaps",
  },
];
