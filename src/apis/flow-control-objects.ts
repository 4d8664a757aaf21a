import type { FlowSchemaSpec, FlowSubject, PolicyRules } from "./flow-schema.ts";
import type { PriorityLevelSpec } from "./priority-level-configuration.ts";

/** The default flow control objects of every API server. Source: apiserver pkg/apis/flowcontrol/bootstrap, 1.36.3. */
export interface FlowControlObjects {
  readonly schemas: Readonly<Record<string, FlowSchemaSpec>>;
  readonly levels: Readonly<Record<string, PriorityLevelSpec>>;
}

const everyone: readonly FlowSubject[] = [group("system:unauthenticated"), group("system:authenticated")];
const kubeSystem: FlowSubject = { kind: "ServiceAccount", serviceAccount: { name: "*", namespace: "kube-system" } };
const controllerManager = user("system:kube-controller-manager");
const scheduler = user("system:kube-scheduler");

/** Mandatory objects, whose specs cannot be changed. */
export const mandatoryFlowControl: FlowControlObjects = {
  schemas: {
    exempt: schema("exempt", 1, { subjects: [group("system:masters")], ...everything() }),
    "catch-all": schema("catch-all", 10_000, { subjects: everyone, ...everything(), by: "ByUser" }),
  },
  levels: {
    exempt: { type: "Exempt", exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } },
    "catch-all": {
      type: "Limited",
      limited: { nominalConcurrencyShares: 5, limitResponse: { type: "Reject" }, lendablePercent: 0 },
    },
  },
};

/** Suggested objects, which are created at the start, and may be changed and deleted. */
export const suggestedFlowControl: FlowControlObjects = {
  schemas: {
    probes: schema("exempt", 2, {
      subjects: everyone,
      nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/healthz", "/readyz", "/livez"] }],
    }),
    "system-leader-election": schema("leader-election", 100, {
      subjects: [controllerManager, scheduler, kubeSystem],
      resourceRules: [
        {
          verbs: ["get", "create", "update"],
          apiGroups: ["coordination.k8s.io"],
          resources: ["leases"],
          namespaces: ["*"],
        },
      ],
      by: "ByUser",
    }),
    "system-node-high": schema("node-high", 400, {
      subjects: [group("system:nodes")],
      resourceRules: [
        {
          verbs: ["*"],
          apiGroups: [""],
          resources: ["nodes", "nodes/status"],
          clusterScope: true,
          namespaces: ["*"],
        },
        { verbs: ["*"], apiGroups: ["coordination.k8s.io"], resources: ["leases"], namespaces: ["*"] },
      ],
      by: "ByUser",
    }),
    "system-nodes": schema("system", 500, { subjects: [group("system:nodes")], ...everything(), by: "ByUser" }),
    "kube-controller-manager": schema("workload-high", 800, {
      subjects: [controllerManager],
      ...everything(),
      by: "ByNamespace",
    }),
    "kube-scheduler": schema("workload-high", 800, { subjects: [scheduler], ...everything(), by: "ByNamespace" }),
    "kube-system-service-accounts": schema("workload-high", 900, {
      subjects: [kubeSystem],
      ...everything(),
      by: "ByNamespace",
    }),
    "service-accounts": schema("workload-low", 9000, {
      subjects: [group("system:serviceaccounts")],
      ...everything(),
      by: "ByUser",
    }),
    "global-default": schema("global-default", 9900, { subjects: everyone, ...everything(), by: "ByUser" }),
  },
  levels: {
    system: level({ shares: 30, lendable: 33, queues: 64, handSize: 6 }),
    "node-high": level({ shares: 40, lendable: 25, queues: 64, handSize: 6 }),
    "leader-election": level({ shares: 10, lendable: 0, queues: 16, handSize: 4 }),
    "workload-high": level({ shares: 40, lendable: 50, queues: 128, handSize: 6 }),
    "workload-low": level({ shares: 100, lendable: 90, queues: 128, handSize: 6 }),
    "global-default": level({ shares: 20, lendable: 50, queues: 128, handSize: 6 }),
  },
};

function group(name: string): FlowSubject {
  return { kind: "Group", group: { name } };
}

function user(name: string): FlowSubject {
  return { kind: "User", user: { name } };
}

function everything(): Omit<PolicyRules, "subjects"> {
  return {
    resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"] }],
    nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
  };
}

function schema(name: string, matchingPrecedence: number, { by, ...rules }: Matching): FlowSchemaSpec {
  return {
    priorityLevelConfiguration: { name },
    matchingPrecedence,
    ...(by === undefined ? {} : { distinguisherMethod: { type: by } }),
    rules: [rules],
  };
}

interface Matching extends PolicyRules {
  /** What distinguishes the flows of the schema. */
  readonly by?: "ByUser" | "ByNamespace";
}

function level(terms: {
  readonly shares: number;
  readonly lendable: number;
  readonly queues: number;
  readonly handSize: number;
}): PriorityLevelSpec {
  const { shares, lendable, queues, handSize } = terms;
  return {
    type: "Limited",
    limited: {
      nominalConcurrencyShares: shares,
      limitResponse: { type: "Queue", queuing: { queues, handSize, queueLengthLimit: 50 } },
      lendablePercent: lendable,
    },
  };
}
