import type { ApiObject, Condition } from "../apimachinery/object.ts";
import { fieldListAt, fieldsAt, isTrueAt, numberAt, stringAt, withField } from "./json-fields.ts";
import { podAttachOptions, podExecOptions, podPortForwardOptions } from "./connect-options.ts";
import { podColumns } from "./pod-columns.ts";
import { withPodDefaults, qosClassOf } from "./pod-defaults.ts";
import { validatePod, validatePodUpdate } from "./pod-validation.ts";
import { builtinKind, stringFields } from "./builtin-kind.ts";
import type { Resource } from "./resource.ts";

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

/** The parts of a pod's specification that this program reads; the rest is kept as it is. */
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
      // Old kubelets garble owner references, so this path leaves them alone. Source: pkg/registry/core/pod/strategy.go.
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

/** Only a pod on a node, and not at its end already, has somebody who would use the time. Source: pkg/registry/core/pod/strategy.go CheckGracefulDelete. */
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
