import type { ApiObject, Condition } from "../apimachinery/object.ts";
import { builtinKind, stringFields, ageColumn, ageOf, column } from "./builtin-kind.ts";
import { podAttachOptions, podExecOptions, podPortForwardOptions } from "./connect-options.ts";
import {
  fieldListAt,
  fieldsAt,
  isTrueAt,
  numberAt,
  stringAt,
  withField,
  type Fields,
  isFields,
  valueAt,
} from "./json-fields.ts";
import { withPodDefaults, qosClassOf } from "./pod-defaults.ts";
import { validatePod, validatePodUpdate } from "./pod-validation.ts";
import type { Resource, Column } from "./resource.ts";

/** Containers that run together on one node. Source: api/core/v1 Pod. */
export interface Pod extends ApiObject {
  readonly spec: PodSpec;
  readonly status?: {
    readonly phase?: "Pending" | "Running" | "Succeeded" | "Failed" | "Unknown";
    readonly conditions?: readonly Condition[];
    readonly podIP?: string;
    readonly podIPs?: readonly { readonly ip?: string }[];
    readonly nominatedNodeName?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly qosClass?: string;
    readonly [field: string]: unknown;
  };
}

/** The fields of a pod's spec that this program reads; all others are stored unchanged. */
export interface PodSpec {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly nodeName?: string;
  readonly serviceAccountName?: string;
  readonly restartPolicy?: string;
  readonly terminationGracePeriodSeconds?: number;
  readonly [field: string]: unknown;
}

export interface Container {
  readonly name: string;
  readonly image?: string;
  readonly [field: string]: unknown;
}

/** The columns of `kubectl get pods`. Source: pkg/printers/internalversion printPod. */
const podColumns: readonly Column[] = [
  column(
    "Ready",
    "How many of the pod's containers are ready.",
    (pod) => `${summary(pod).ready}/${fieldListAt(pod, "spec", "containers").length}`,
  ),
  column(
    "Status",
    "The phase of the pod, or the reason of the container that stands out.",
    (pod) => summary(pod).reason,
  ),
  column("Restarts", "How often the pod's containers were restarted, and how long ago the last time was.", restarts),
  ageColumn,
  wide(
    "IP",
    "The pod's address.",
    (pod) => stringAt(fieldListAt(pod, "status", "podIPs")[0], "ip") || stringAt(pod, "status", "podIP"),
  ),
  wide("Node", "The node that the pod is bound to.", (pod) => stringAt(pod, "spec", "nodeName")),
  wide("Nominated Node", "The node on which room is being made for the pod.", (pod) =>
    stringAt(pod, "status", "nominatedNodeName"),
  ),
  wide("Readiness Gates", "How many of the pod's readiness gates are open.", readinessGates),
];

export const pods: Resource = builtinKind({
  group: "",
  kind: "Pod",
  shortNames: ["po"],
  categories: ["all"],
  scope: "Namespaced",
  schema: "io.k8s.api.core.v1.Pod",
  columns: podColumns,
  subresources: {
    attach: { verbs: ["create", "get"], connects: "attach", options: podAttachOptions },
    exec: { verbs: ["create", "get"], connects: "exec", options: podExecOptions },
    log: { verbs: ["get"], connects: "log" },
    portforward: { verbs: ["create", "get"], connects: "portforward", options: podPortForwardOptions },
    status: {
      verbs: ["get", "patch", "update"],
      // Old kubelets corrupt owner references, so this path ignores them. Source: pkg/registry/core/pod/strategy.go.
      prepareForUpdate: (incoming, stored) => {
        const { ownerReferences: _garbled, ...metadata } = incoming.metadata;
        const { ownerReferences } = stored.metadata;
        const kept = ownerReferences === undefined ? metadata : { ...metadata, ownerReferences };
        // The class of a pod does not change with its status.
        const qosClass = stringAt(incoming, "status", "qosClass") || stringAt(stored, "status", "qosClass");
        const status = qosClass === "" ? incoming["status"] : { ...fieldsAt(incoming, "status"), qosClass };
        return withField({ ...incoming, metadata: kept, status }, "spec", stored["spec"]);
      },
    },
  },
  unconditionalUpdate: true,
  deleteReturnsObject: true,
  generation: true,
  prepareForCreate: (object) => {
    const pod = withPodDefaults(object);
    return withField(pod, "status", { phase: "Pending", qosClass: qosClassOf(pod) });
  },
  prepareForUpdate: (incoming, stored) => withField(withPodDefaults(incoming), "status", stored["status"]),
  validate: validatePod,
  validateUpdate: validatePodUpdate,
  deletion: { graceSeconds },
  selectableFields: {
    ...stringFields("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName"),
    "spec.hostNetwork": (object) => String(isTrueAt(object, "spec", "hostNetwork")),
    "status.phase": (object) => stringAt(object, "status", "phase"),
    "status.podIP": (object) => podIps(object)[0] ?? "",
    "status.podIPs": (object) => podIps(object).join(","),
    "status.nominatedNodeName": (object) => stringAt(object, "status", "nominatedNodeName"),
  },
});

/** Only a running pod on a node needs a grace period. Source: pkg/registry/core/pod/strategy.go CheckGracefulDelete. */
function graceSeconds(object: ApiObject, requested: number | undefined): number {
  const phase = stringAt(object, "status", "phase");
  if (stringAt(object, "spec", "nodeName") === "" || phase === "Succeeded" || phase === "Failed") return 0;
  const wanted = requested ?? numberAt(object, "spec", "terminationGracePeriodSeconds") ?? 0;
  return wanted < 0 ? 1 : wanted;
}

function podIps(object: ApiObject): readonly string[] {
  const list = fieldListAt(object, "status", "podIPs").map((one) => stringAt(one, "ip"));
  const single = stringAt(object, "status", "podIP");
  return list.length > 0 || single === "" ? list : [single];
}

interface Summary {
  readonly reason: string;
  readonly ready: number;
}

function summary(pod: ApiObject): Summary {
  const { reason, ready } = initReason(pod) ?? mainReason(pod);
  if (pod.metadata.deletionTimestamp === undefined) return { reason, ready };
  return { reason: stringAt(pod, "status", "reason") === "NodeLost" ? "Unknown" : "Terminating", ready };
}

/** While an init container has not succeeded, the status is about it. */
function initReason(pod: ApiObject): Summary | undefined {
  const statuses = fieldListAt(pod, "status", "initContainerStatuses");
  const index = statuses.findIndex((status) => numberAt(status, "state", "terminated", "exitCode") !== 0);
  const status = statuses[index];
  if (status === undefined) return undefined;
  const waiting = stringAt(status, "state", "waiting", "reason");
  if (isFields(valueAt(status, "state", "terminated"))) return { reason: `Init:${terminatedReason(status)}`, ready: 0 };
  if (waiting !== "" && waiting !== "PodInitializing") return { reason: `Init:${waiting}`, ready: 0 };
  return { reason: `Init:${index}/${fieldListAt(pod, "spec", "initContainers").length}`, ready: 0 };
}

function mainReason(pod: ApiObject): Summary {
  const statuses = fieldListAt(pod, "status", "containerStatuses");
  const running = statuses.filter(
    (status) => isTrueAt(status, "ready") && isFields(valueAt(status, "state", "running")),
  );
  // The first container with a reason determines the reason of the pod.
  const text = statuses.map(containerReason).find((reason) => reason !== "");
  const reason = text ?? (stringAt(pod, "status", "reason") || stringAt(pod, "status", "phase"));
  if (reason !== "Completed" || running.length === 0) return { reason, ready: running.length };
  return { reason: isReady(pod) ? "Running" : "NotReady", ready: running.length };
}

function containerReason(status: Fields): string {
  const waiting = stringAt(status, "state", "waiting", "reason");
  if (waiting !== "") return waiting;
  return isFields(valueAt(status, "state", "terminated")) ? terminatedReason(status) : "";
}

function terminatedReason(status: Fields): string {
  const terminated = fieldsAt(status, "state", "terminated");
  const signal = numberAt(terminated, "signal") ?? 0;
  return (
    stringAt(terminated, "reason") ||
    (signal === 0 ? `ExitCode:${numberAt(terminated, "exitCode") ?? 0}` : `Signal:${signal}`)
  );
}

function isReady(pod: ApiObject): boolean {
  return fieldListAt(pod, "status", "conditions").some(
    (condition) => stringAt(condition, "type") === "Ready" && stringAt(condition, "status") === "True",
  );
}

function restarts(pod: ApiObject, now: number): string {
  const initializing = initReason(pod) !== undefined;
  const statuses = fieldListAt(pod, "status", initializing ? "initContainerStatuses" : "containerStatuses");
  const count = statuses.reduce((sum, status) => sum + (numberAt(status, "restartCount") ?? 0), 0);
  const ends = statuses.map((status) => stringAt(status, "lastState", "terminated", "finishedAt")).sort();
  const last = ends.at(-1) ?? "";
  return count > 0 && last !== "" ? `${count} (${ageOf(last, now)} ago)` : String(count);
}

function readinessGates(pod: ApiObject): string {
  const gates = fieldListAt(pod, "spec", "readinessGates");
  if (gates.length === 0) return "";
  const met = new Set(
    fieldListAt(pod, "status", "conditions")
      .filter((condition) => stringAt(condition, "status") === "True")
      .map((condition) => stringAt(condition, "type")),
  );
  const open = gates.filter((gate) => met.has(stringAt(gate, "conditionType")));
  return `${open.length}/${gates.length}`;
}

function wide(name: string, description: string, value: (pod: ApiObject) => string): Column {
  return { name, type: "string", priority: 1, description, cell: (pod) => value(pod) || "<none>" };
}
