import type { ObjectSchema } from "../../core/schema.ts";
import { container, ephemeralContainer, resourceRequirements } from "./containers.ts";
import { podStatus } from "./pod-status.ts";
import { localObjectReference } from "./references.ts";
import { affinity, podSchedulingGate, podSchedulingGroup, toleration, topologySpreadConstraint } from "./scheduling.ts";
import { podSecurityContext } from "./security.ts";
import { volume } from "./volumes.ts";
import { kind } from "./kind.ts";
import {
  about,
  atomic,
  bool,
  byKey,
  int32,
  int64,
  list,
  mergeBy,
  mergeRetaining,
  message,
  object,
  pointer,
  quantities,
  required,
  str,
  stringMap,
  strings,
  wholeMap,
} from "./shorthand.ts";

// Pod. Source: k8s.io/api core/v1.

export const hostAlias: ObjectSchema = message("io.k8s.api.core.v1.HostAlias", {
  ip: required(str(1)),
  hostnames: strings(2, atomic),
});

export const podDNSConfigOption: ObjectSchema = message("io.k8s.api.core.v1.PodDNSConfigOption", {
  name: str(1),
  value: pointer(str(2)),
});

export const podDNSConfig: ObjectSchema = message("io.k8s.api.core.v1.PodDNSConfig", {
  nameservers: strings(1, atomic),
  searches: strings(2, atomic),
  options: list(3, podDNSConfigOption, atomic),
});

export const podReadinessGate: ObjectSchema = message("io.k8s.api.core.v1.PodReadinessGate", {
  conditionType: required(str(1)),
});

export const podOS: ObjectSchema = message("io.k8s.api.core.v1.PodOS", {
  name: required(str(1)),
});

export const podResourceClaim: ObjectSchema = message("io.k8s.api.core.v1.PodResourceClaim", {
  name: required(str(1)),
  resourceClaimName: pointer(str(3)),
  resourceClaimTemplateName: pointer(str(4)),
});

export const podSpec: ObjectSchema = message("io.k8s.api.core.v1.PodSpec", {
  volumes: about(
    "Volumes that containers of this pod can mount.",
    list(1, volume, byKey("name"), mergeRetaining("name")),
  ),
  containers: about(
    "The containers of the pod; at least one.",
    required(list(2, container, byKey("name"), mergeBy("name"))),
  ),
  restartPolicy: about("Always (default), OnFailure or Never.", str(3)),
  terminationGracePeriodSeconds: about(
    "Seconds between the request to stop and the kill; 30 by default.",
    pointer(int64(4)),
  ),
  activeDeadlineSeconds: about("Seconds the pod may be active before it is ended.", pointer(int64(5))),
  dnsPolicy: about("How names are resolved: ClusterFirst (default), ClusterFirstWithHostNet, Default or None.", str(6)),
  nodeSelector: about("Labels a node must have.", wholeMap(stringMap(7))),
  serviceAccountName: about("The ServiceAccount the pod runs as.", str(8)),
  serviceAccount: about("Deprecated alias of serviceAccountName.", str(9)),
  nodeName: about("The node the pod is bound to.", str(10)),
  hostNetwork: about("Uses the network of the node.", bool(11)),
  hostPID: about("Sees the processes of the node.", bool(12)),
  hostIPC: about("Shares the IPC namespace of the node.", bool(13)),
  securityContext: about("Privileges that hold for all containers.", pointer(object(14, podSecurityContext))),
  imagePullSecrets: about(
    "Secrets with which images are pulled.",
    list(15, localObjectReference, byKey("name"), mergeBy("name")),
  ),
  hostname: about("The host name inside the pod.", str(16)),
  subdomain: about("Makes the name hostname.subdomain.namespace.svc.domain.", str(17)),
  affinity: about("Rules that draw the pod to, or keep it from, nodes and other pods.", pointer(object(18, affinity))),
  schedulerName: about("Which scheduler places the pod.", str(19)),
  initContainers: about(
    "Containers that run one after another before the others start.",
    list(20, container, byKey("name"), mergeBy("name")),
  ),
  automountServiceAccountToken: about("Whether an API token is mounted.", pointer(bool(21))),
  tolerations: about("Taints the pod puts up with.", list(22, toleration, atomic)),
  hostAliases: about("Lines added to /etc/hosts.", list(23, hostAlias, byKey("ip"), mergeBy("ip"))),
  priorityClassName: about("The PriorityClass of the pod.", str(24)),
  priority: about("The number behind the priority class.", pointer(int32(25))),
  dnsConfig: about("Resolver settings merged with those of dnsPolicy.", pointer(object(26, podDNSConfig))),
  shareProcessNamespace: about("Containers of the pod see each other's processes.", pointer(bool(27))),
  readinessGates: about(
    "Conditions that must be true, besides ready containers, before the pod is ready.",
    list(28, podReadinessGate, atomic),
  ),
  runtimeClassName: about("The RuntimeClass to run under.", pointer(str(29))),
  enableServiceLinks: about("Whether services are described in environment variables.", pointer(bool(30))),
  preemptionPolicy: about("Whether pods of lower priority may be evicted for this one.", pointer(str(31))),
  overhead: about("Resources the runtime itself needs; set by admission.", quantities(32)),
  topologySpreadConstraints: about(
    "How pods of a group spread over zones and nodes.",
    list(33, topologySpreadConstraint, byKey("topologyKey", "whenUnsatisfiable"), mergeBy("topologyKey")),
  ),
  ephemeralContainers: about(
    "Containers added to a running pod, for debugging; set through their own subresource.",
    list(34, ephemeralContainer, byKey("name"), mergeBy("name")),
  ),
  setHostnameAsFQDN: about("The host name is the fully qualified one.", pointer(bool(35))),
  os: about("The operating system of the containers.", pointer(object(36, podOS))),
  hostUsers: about("False gives the pod a user namespace of its own.", pointer(bool(37))),
  schedulingGates: about(
    "While any is present, the pod is not scheduled.",
    list(38, podSchedulingGate, byKey("name"), mergeBy("name")),
  ),
  resourceClaims: about(
    "Claims to devices that containers may name.",
    list(39, podResourceClaim, byKey("name"), mergeRetaining("name")),
  ),
  resources: about("Resources for all containers together.", pointer(object(40, resourceRequirements))),
  hostnameOverride: about("Takes the place of every other host name.", pointer(str(41))),
  schedulingGroup: about("The group this pod is scheduled with.", pointer(object(43, podSchedulingGroup))),
});

export const podSchema: ObjectSchema = kind("io.k8s.api.core.v1.Pod", "Containers that run together on one node.", {
  spec: about("What is to run, and how.", object(2, podSpec)),
  status: about("What was last observed of the pod.", object(3, podStatus)),
});
