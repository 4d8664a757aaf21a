import { duplicate, type FieldError, forbiddenField, invalid } from "../apimachinery/field-error.ts";
import { labelValueProblems, qualifiedNameProblems } from "../apimachinery/names.ts";
import type { ApiObject, Condition } from "../apimachinery/object.ts";
import { collectErrors, nameErrors, fieldErrors, requiredOneOf, type FieldResult, repetitions } from "./field-rules.ts";
import { ageColumn, column, textColumn, wideColumn, builtinKind } from "./builtin-kind.ts";
import {
  fieldListAt,
  fieldsAt,
  type Fields,
  isSameJson,
  isTrueAt,
  stringAt,
  stringsAt,
  valueAt,
  withField,
} from "./json-fields.ts";
import { nodeProxyOptions } from "./connect-options.ts";
import type { Column, Resource } from "./resource.ts";

/** A machine of the cluster. Source: api/core/v1 Node. */
export interface Node extends ApiObject {
  readonly spec?: {
    readonly podCIDR?: string;
    readonly podCIDRs?: readonly string[];
    readonly providerID?: string;
    readonly unschedulable?: boolean;
    readonly taints?: readonly Taint[];
  };
  readonly status?: {
    readonly addresses?: readonly { readonly type: string; readonly address: string }[];
    readonly daemonEndpoints?: { readonly kubeletEndpoint?: { readonly Port: number } };
    readonly conditions?: readonly Condition[];
    readonly nodeInfo?: Readonly<Record<string, string>>;
    readonly capacity?: Readonly<Record<string, string>>;
    readonly allocatable?: Readonly<Record<string, string>>;
  };
}

/** What keeps pods without a matching toleration off a node. */
export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
  readonly timeAdded?: string;
}

const rolePrefix = "node-role.kubernetes.io/";
const roleLabel = "kubernetes.io/role";
const taintEffects: readonly string[] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

const columns: readonly Column[] = [
  column("Status", "Whether the node is ready and takes new pods.", readiness),
  column("Roles", "The roles that the node's labels name.", roles),
  ageColumn,
  textColumn("Version", "The version that the node's kubelet reports.", "status", "nodeInfo", "kubeletVersion"),
  wideColumn("Internal-IP", "The address inside the cluster's network.", (object) => address(object, "InternalIP")),
  wideColumn("External-IP", "The address outside of the cluster's network.", (object) => address(object, "ExternalIP")),
  wideColumn("OS-Image", "The operating system as the node reports it.", (object) => info(object, "osImage")),
  wideColumn("Kernel-Version", "The kernel as the node reports it.", (object) => info(object, "kernelVersion")),
  wideColumn("Container-Runtime", "The container runtime as the node reports it.", (object) =>
    info(object, "containerRuntimeVersion"),
  ),
];

export const nodes: Resource = builtinKind({
  group: "",
  kind: "Node",
  shortNames: ["no"],
  scope: "Cluster",
  schema: "io.k8s.api.core.v1.Node",
  columns,
  subresources: {
    // The kubelet serves only GET and POST.
    proxy: { verbs: ["create", "get"], connects: "proxy", options: nodeProxyOptions },
    status: {
      verbs: ["get", "patch", "update"],
      prepareForUpdate: (incoming, stored) => withAllocatable(withField(incoming, "spec", stored["spec"])),
      validateUpdate: (next) => validateAddresses(next),
    },
  },
  unconditionalUpdate: true,
  // A kubelet sends its status in the request that registers it.
  prepareForCreate: withAllocatable,
  prepareForUpdate: (incoming, stored) => withField(incoming, "status", stored["status"]),
  validate: validateTaints,
  validateUpdate: validateSpecUpdate,
  selectableFields: {
    "spec.unschedulable": (object) => String(isTrueAt(object, "spec", "unschedulable")),
  },
});

/** Allocatable defaults to capacity. */
function withAllocatable(object: ApiObject): ApiObject {
  const status = fieldsAt(object, "status");
  const capacity = valueAt(status, "capacity");
  if (capacity === undefined || valueAt(status, "allocatable") !== undefined) return object;
  return withField(object, "status", { ...status, allocatable: capacity });
}

function validateTaints(object: ApiObject): readonly FieldError[] {
  const isRepeated = repetitions();
  return collectErrors(fieldListAt(object, "spec", "taints"), (taint, index) => {
    const path = `metadata.taints[${index}]`;
    const [key, effect] = [stringAt(taint, "key"), stringAt(taint, "effect")];
    const twice = duplicate(path, taint);
    return [
      nameErrors(`${path}.key`, key, qualifiedNameProblems),
      validateTaintValue(`${path}.value`, stringAt(taint, "value")),
      requiredOneOf(`${path}.effect`, effect, taintEffects),
      isRepeated(`${effect} ${key}`) && {
        ...twice,
        message: `${twice.message}: taints must be unique by key and effect pair`,
      },
    ];
  });
}

function validateTaintValue(path: string, value: string): FieldResult {
  const problems = labelValueProblems(value);
  return problems.length > 0 && invalid(path, value, problems.join(";"));
}

function validateAddresses(next: ApiObject): readonly FieldError[] {
  const isRepeated = repetitions();
  return collectErrors(
    fieldListAt(next, "status", "addresses"),
    (one, index) =>
      isRepeated(`${stringAt(one, "type")} ${stringAt(one, "address")}`) &&
      duplicate(`status.addresses[${index}]`, one),
  );
}

/** Besides taints and `unschedulable`, an update of a node's spec may only set empty fields. Source: pkg/apis/core/validation ValidateNodeUpdate. */
function validateSpecUpdate(next: ApiObject, stored: ApiObject): readonly FieldError[] {
  const cidrs = podCidrs(stored);
  const provider = stringAt(stored, "spec", "providerID");
  return fieldErrors(
    cidrs.length !== 0 &&
      !isSameJson(cidrs, podCidrs(next)) &&
      forbiddenField("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid'),
    provider !== "" &&
      provider !== stringAt(next, "spec", "providerID") &&
      forbiddenField("spec.providerID", 'node updates may not change providerID except from "" to valid'),
    !isSameJson(fixedSpec(next), fixedSpec(stored)) &&
      forbiddenField("", "node updates may only change labels, taints, or capacity"),
  );
}

function podCidrs(object: ApiObject): readonly string[] {
  const list = stringsAt(object, "spec", "podCIDRs");
  const single = stringAt(object, "spec", "podCIDR");
  return list.length > 0 || single === "" ? list : [single];
}

function fixedSpec(object: ApiObject): Fields {
  const {
    podCIDR: _podCidr,
    podCIDRs: _podCidrs,
    providerID: _providerId,
    unschedulable: _unschedulable,
    taints: _taints,
    configSource: _configSource,
    ...rest
  } = fieldsAt(object, "spec");
  return rest;
}

function readiness(object: ApiObject): string {
  const ready = fieldListAt(object, "status", "conditions").find((one) => stringAt(one, "type") === "Ready");
  const word = ready === undefined ? "Unknown" : stringAt(ready, "status") === "True" ? "Ready" : "NotReady";
  return isTrueAt(object, "spec", "unschedulable") ? `${word},SchedulingDisabled` : word;
}

function roles(object: ApiObject): string {
  const found = new Set<string>();
  for (const [key, value] of Object.entries(object.metadata.labels ?? {})) {
    if (key.startsWith(rolePrefix) && key.length > rolePrefix.length) found.add(key.slice(rolePrefix.length));
    if (key === roleLabel && value !== "") found.add(value);
  }
  return found.size === 0 ? "<none>" : [...found].sort().join(",");
}

function address(object: ApiObject, type: string): string {
  const found = fieldListAt(object, "status", "addresses").find((one) => stringAt(one, "type") === type);
  return found === undefined ? "<none>" : stringAt(found, "address");
}

function info(object: ApiObject, field: string): string {
  return stringAt(object, "status", "nodeInfo", field) || "<unknown>";
}
