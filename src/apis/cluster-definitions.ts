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

function record(properties: JsonObject, terms: JsonObject = {}): JsonObject {
  return { type: "object", ...terms, properties };
}

function list(items: JsonObject, terms: JsonObject = {}): JsonObject {
  return { type: "array", ...terms, items };
}

function byKeys(...keys: readonly string[]): JsonObject {
  return { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys };
}

const condition = record(
  {
    lastTransitionTime: time,
    message: { type: "string", maxLength: 32_768 },
    observedGeneration: { type: "integer", format: "int64", minimum: 0 },
    reason: { type: "string", minLength: 1, maxLength: 1024, pattern: "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$" },
    status: { type: "string", enum: ["True", "False", "Unknown"] },
    type: { type: "string", maxLength: 316 },
  },
  { required: ["lastTransitionTime", "message", "reason", "status", "type"] },
);
const conditions = list(condition, {
  description: "What holds of it at present, one entry of each type.",
  ...byKeys("type"),
});

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

const taint = record(
  {
    effect: { type: "string", enum: ["NoSelect", "PreferNoSelect", "NoSelectIfNew"] },
    key: { type: "string", maxLength: 316, pattern: labelKey },
    timeAdded: { type: "string", format: "date-time", nullable: true },
    value: { type: "string", maxLength: 1024 },
  },
  { required: ["effect", "key"] },
);

const clusterSpec = record(
  {
    hubAcceptsClient: { type: "boolean", description: "Whether the hub accepts the agent of this cluster." },
    leaseDurationSeconds: {
      type: "integer",
      format: "int32",
      default: 60,
      description: "How often the agent renews its lease; after five times as long the cluster counts as unknown.",
    },
    managedClusterClientConfigs: list(
      record({ caBundle: { type: "string", format: "byte" }, url: text }, { required: ["url"] }),
      { description: "Where the API of the cluster is." },
    ),
    taints: list(taint, { description: "What keeps workloads away from the cluster." }),
  },
  { description: "What the hub wants of the cluster, and how the cluster is reached." },
);

const clusterStatus = record(
  {
    allocatable: quantities,
    capacity: quantities,
    clusterClaims: list(
      record({
        name: { type: "string", minLength: 1, maxLength: 253 },
        value: { type: "string", minLength: 1, maxLength: 1024 },
      }),
      { description: "What the cluster says of itself." },
    ),
    conditions,
    managedNamespaces: list(
      record({ clusterSet: text, conditions, name: text }, { required: ["clusterSet", "name"] }),
      byKeys("clusterSet", "name"),
    ),
    version: record({ kubernetes: text }),
  },
  { description: "What hub and agent say of the cluster." },
);

const labelSelector = record({
  matchExpressions: list(record({ key: text, operator: text, values: list(text) }, { required: ["key", "operator"] })),
  matchLabels: { type: "object", additionalProperties: text },
});

const ownLabel: JsonObject = { selectorType: "ExclusiveClusterSetLabel" };

const setSpec = record(
  {
    clusterSelector: record(
      {
        labelSelector,
        selectorType: {
          type: "string",
          default: "ExclusiveClusterSetLabel",
          enum: ["ExclusiveClusterSetLabel", "LabelSelector"],
        },
      },
      { default: ownLabel },
    ),
    managedNamespaces: list(record({ name: text }, { required: ["name"] }), {
      description: "Namespaces that the agents of all clusters of the set make.",
      ...byKeys("name"),
    }),
  },
  { description: "Which clusters belong to the set.", default: { clusterSelector: ownLabel } },
);

const conditionsOnly = record({ conditions });

const anything: JsonObject = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const configs = list(
  record({ group: text, name: text, namespace: text, resource: text }, { required: ["name", "resource"] }),
);
const addOnSpec = record({ configs }, { description: "How the add-on is configured in this cluster." });

/** Maximum length of a list that conversion between versions lengthens. No add-on has as many items. */
const maxItems = 1000;

/** Fields that add-ons define among themselves are preserved. */
const addOnStatus = record(
  {
    conditions,
    configReferences: list(anything, { maxItems }),
    healthCheck: record({ mode: { type: "string", default: "Lease", enum: ["Lease", "Customized"] } }),
    namespace: { type: "string", maxLength: 63 },
    registrations: list(anything, { description: "As whom agents of the add-on register.", maxItems }),
    relatedObjects: list(anything),
    supportedConfigs: list(anything),
  },
  { description: "What hub and agent say of the add-on.", "x-kubernetes-preserve-unknown-fields": true },
);

/** The version that agents before v1.3 of Open Cluster Management use. */
const olderAddOnSpec = record(
  { configs, installNamespace: { type: "string", maxLength: 63, pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" } },
  { description: "How the add-on is configured in this cluster, and where it is installed." },
);

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
  /** A further version, served by a hub that converts. */
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
    spec: record({
      clusterSet: { type: "string", minLength: 1, description: "The set, by which the binding is called." },
    }),
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
 * The CustomResourceDefinitions of hub and spoke registration, which those of Open Cluster Management can replace; with
 * `all`, also the versions that need a conversion webhook. Source: open-cluster-management.io/api.
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
      openAPIV3Schema: record(
        { apiVersion: text, kind: text, metadata: { type: "object" }, spec, status },
        { description },
      ),
    },
  };
}
