import type { JsonObject } from "../apimachinery/json-value.ts";
import { olderAddOnVersion } from "./add-on-versions.ts";
import {
  managedClusterAddOns,
  managedClusters,
  managedClusterSetBindings,
  managedClusterSets,
  type ClusterKind,
} from "./managed-cluster.ts";

const text: JsonObject = { type: "string" };
const time: JsonObject = { type: "string", format: "date-time" };

const conditions: JsonObject = {
  type: "array",
  description: "What holds of it at present, one entry of each type.",
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": ["type"],
  items: {
    type: "object",
    required: ["lastTransitionTime", "message", "reason", "status", "type"],
    properties: {
      lastTransitionTime: time,
      message: { type: "string", maxLength: 32_768 },
      observedGeneration: { type: "integer", format: "int64", minimum: 0 },
      reason: { type: "string", minLength: 1, maxLength: 1024, pattern: "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$" },
      status: { type: "string", enum: ["True", "False", "Unknown"] },
      type: { type: "string", maxLength: 316 },
    },
  },
};

const quantity =
  "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$";
const quantities: JsonObject = {
  type: "object",
  additionalProperties: {
    "x-kubernetes-int-or-string": true,
    anyOf: [{ type: "integer" }, { type: "string" }],
    pattern: quantity,
  },
};

const labelKey =
  "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";

const clusterSpec: JsonObject = {
  type: "object",
  description: "What the hub wants of the cluster, and how the cluster is reached.",
  properties: {
    hubAcceptsClient: { type: "boolean", description: "Whether the hub accepts the agent of this cluster." },
    leaseDurationSeconds: {
      type: "integer",
      format: "int32",
      default: 60,
      description: "How often the agent renews its lease; after five times as long the cluster counts as unknown.",
    },
    managedClusterClientConfigs: {
      type: "array",
      description: "Where the API of the cluster is.",
      items: {
        type: "object",
        required: ["url"],
        properties: { caBundle: { type: "string", format: "byte" }, url: text },
      },
    },
    taints: {
      type: "array",
      description: "What keeps workloads away from the cluster.",
      items: {
        type: "object",
        required: ["effect", "key"],
        properties: {
          effect: { type: "string", enum: ["NoSelect", "PreferNoSelect", "NoSelectIfNew"] },
          key: { type: "string", maxLength: 316, pattern: labelKey },
          timeAdded: { type: "string", format: "date-time", nullable: true },
          value: { type: "string", maxLength: 1024 },
        },
      },
    },
  },
};

const clusterStatus: JsonObject = {
  type: "object",
  description: "What hub and agent say of the cluster.",
  properties: {
    allocatable: quantities,
    capacity: quantities,
    clusterClaims: {
      type: "array",
      description: "What the cluster says of itself.",
      items: {
        type: "object",
        properties: {
          name: { type: "string", minLength: 1, maxLength: 253 },
          value: { type: "string", minLength: 1, maxLength: 1024 },
        },
      },
    },
    conditions,
    managedNamespaces: {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["clusterSet", "name"],
      items: {
        type: "object",
        required: ["clusterSet", "name"],
        properties: { clusterSet: text, conditions, name: text },
      },
    },
    version: { type: "object", properties: { kubernetes: text } },
  },
};

const labelSelector: JsonObject = {
  type: "object",
  properties: {
    matchExpressions: {
      type: "array",
      items: {
        type: "object",
        required: ["key", "operator"],
        properties: { key: text, operator: text, values: { type: "array", items: text } },
      },
    },
    matchLabels: { type: "object", additionalProperties: text },
  },
};

const ownLabel: JsonObject = { selectorType: "ExclusiveClusterSetLabel" };

const setSpec: JsonObject = {
  type: "object",
  description: "Which clusters belong to the set.",
  default: { clusterSelector: ownLabel },
  properties: {
    clusterSelector: {
      type: "object",
      default: ownLabel,
      properties: {
        labelSelector,
        selectorType: {
          type: "string",
          default: "ExclusiveClusterSetLabel",
          enum: ["ExclusiveClusterSetLabel", "LabelSelector"],
        },
      },
    },
    managedNamespaces: {
      type: "array",
      description: "Namespaces that the agents of all clusters of the set make.",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      items: { type: "object", required: ["name"], properties: { name: text } },
    },
  },
};

const conditionsOnly: JsonObject = { type: "object", properties: { conditions } };

const anything: JsonObject = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const namedConfig: Readonly<Record<string, JsonObject>> = { group: text, name: text, namespace: text, resource: text };
const configs: JsonObject = {
  type: "array",
  items: { type: "object", required: ["name", "resource"], properties: namedConfig },
};

const addOnSpec: JsonObject = {
  type: "object",
  description: "How the add-on is configured in this cluster.",
  properties: {
    configs,
  },
};

/** Of what is longer in one version than in another. No add-on has as many. */
const maxItems = 1000;

/** Parts that add-ons agree upon among themselves are kept as they are. */
const addOnStatus: JsonObject = {
  type: "object",
  description: "What hub and agent say of the add-on.",
  "x-kubernetes-preserve-unknown-fields": true,
  properties: {
    conditions,
    configReferences: { type: "array", maxItems, items: anything },
    healthCheck: {
      type: "object",
      properties: { mode: { type: "string", default: "Lease", enum: ["Lease", "Customized"] } },
    },
    namespace: { type: "string", maxLength: 63 },
    registrations: {
      type: "array",
      description: "As whom agents of the add-on register.",
      maxItems,
      items: anything,
    },
    relatedObjects: { type: "array", items: anything },
    supportedConfigs: { type: "array", items: anything },
  },
};

/** As agents before v1.3 of Open Cluster Management know them. */
const olderAddOnSpec: JsonObject = {
  type: "object",
  description: "How the add-on is configured in this cluster, and where it is installed.",
  properties: {
    configs,
    installNamespace: { type: "string", maxLength: 63, pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" },
  },
};

interface Column {
  readonly name: string;
  readonly type: string;
  readonly jsonPath: string;
}

function conditionColumn(name: string, type: string): Column {
  return { name, type: "string", jsonPath: `.status.conditions[?(@.type=="${type}")].status` };
}

const age: Column = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" };

interface Kind extends ClusterKind {
  readonly shortNames?: readonly string[];
  readonly description: string;
  readonly columns: readonly Column[];
  readonly spec: JsonObject;
  readonly status: JsonObject;
  /** A version that is served beside, by a hub that converts. */
  readonly older?: { readonly version: string; readonly spec: JsonObject };
}

const kinds: readonly Kind[] = [
  {
    ...managedClusters,
    shortNames: ["mcl", "mcls"],
    description: "A ManagedCluster is a cluster whose agent registers with this hub.",
    columns: [
      { name: "Hub Accepted", type: "boolean", jsonPath: ".spec.hubAcceptsClient" },
      { name: "Managed Cluster URLs", type: "string", jsonPath: ".spec.managedClusterClientConfigs[*].url" },
      conditionColumn("Joined", "ManagedClusterJoined"),
      conditionColumn("Available", "ManagedClusterConditionAvailable"),
      age,
    ],
    spec: clusterSpec,
    status: clusterStatus,
  },
  {
    ...managedClusterSets,
    shortNames: ["mclset", "mclsets"],
    description: "A ManagedClusterSet is a group of clusters that workloads are placed on.",
    columns: [conditionColumn("Empty", "ClusterSetEmpty"), age],
    spec: setSpec,
    status: conditionsOnly,
  },
  {
    ...managedClusterSetBindings,
    shortNames: ["mclsetbinding", "mclsetbindings"],
    description: "A ManagedClusterSetBinding lets a namespace use the clusters of a set.",
    columns: [],
    spec: {
      type: "object",
      properties: {
        clusterSet: { type: "string", minLength: 1, description: "The set, by which the binding is called." },
      },
    },
    status: conditionsOnly,
  },
  {
    ...managedClusterAddOns,
    shortNames: ["mca", "mcas"],
    description: "A ManagedClusterAddOn is an add-on in the cluster of its namespace.",
    columns: [
      conditionColumn("Available", "Available"),
      conditionColumn("Degraded", "Degraded"),
      conditionColumn("Progressing", "Progressing"),
    ],
    spec: addOnSpec,
    status: addOnStatus,
    older: { version: olderAddOnVersion, spec: olderAddOnSpec },
  },
];

/**
 * The CustomResourceDefinitions of hub and spoke registration, such that those of Open Cluster Management can take their place; with
 * `all`, also the versions that whoever serves them has to convert. Source: open-cluster-management.io/api.
 */
export function clusterDefinitions(versions: "stored" | "all" = "stored"): readonly JsonObject[] {
  return kinds.map((kind) => definition(kind, versions));
}

function definition(kindOf: Kind, served: "stored" | "all"): JsonObject {
  const { group, version, kind, plural, shortNames = [], scope, older } = kindOf;
  const names = { kind, listKind: `${kind}List`, plural, shortNames, singular: kind.toLowerCase() };
  const versions = [
    versionOf(kindOf, { name: version, storage: true, spec: kindOf.spec }),
    ...(older === undefined || served === "stored"
      ? []
      : [versionOf(kindOf, { name: older.version, storage: false, spec: older.spec })]),
  ];
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: { group, names, scope, versions },
  };
}

function versionOf(
  { columns, description, status }: Kind,
  { name, storage, spec }: { readonly name: string; readonly storage: boolean; readonly spec: JsonObject },
): JsonObject {
  return {
    name,
    served: true,
    storage,
    subresources: { status: {} },
    ...(columns.length === 0 ? {} : { additionalPrinterColumns: columns.map((one) => ({ ...one })) }),
    schema: {
      openAPIV3Schema: {
        type: "object",
        description,
        properties: { apiVersion: text, kind: text, metadata: { type: "object" }, spec, status },
      },
    },
  };
}
