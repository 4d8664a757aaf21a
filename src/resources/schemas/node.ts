import type { ObjectSchema } from "../../core/schema.ts";
import { taint } from "./scheduling.ts";
import { kind } from "./kind.ts";
import {
  about,
  asSet,
  atomic,
  bool,
  byKey,
  int32,
  int64,
  list,
  mergeAsSet,
  mergeBy,
  message,
  object,
  pointer,
  quantities,
  required,
  str,
  strings,
  time,
} from "./shorthand.ts";

// Node. Source: k8s.io/api core/v1.

export const configMapNodeConfigSource: ObjectSchema = message("io.k8s.api.core.v1.ConfigMapNodeConfigSource", {
  namespace: required(str(1)),
  name: required(str(2)),
  uid: str(3),
  resourceVersion: str(4),
  kubeletConfigKey: required(str(5)),
});

export const nodeConfigSource: ObjectSchema = message("io.k8s.api.core.v1.NodeConfigSource", {
  configMap: pointer(object(2, configMapNodeConfigSource)),
});

export const nodeSpec: ObjectSchema = message("io.k8s.api.core.v1.NodeSpec", {
  podCIDR: about("The address range for pods on this node.", str(1)),
  externalID: about("No longer used.", str(2)),
  providerID: about("The identity of the machine at its cloud provider.", str(3)),
  unschedulable: about("When true, no new pods are placed here.", bool(4)),
  taints: about("Marks that keep away pods which do not tolerate them.", list(5, taint, atomic)),
  configSource: about("No longer used.", pointer(object(6, nodeConfigSource))),
  podCIDRs: about(
    "The address ranges for pods, one per IP family; the first equals podCIDR.",
    strings(7, asSet, mergeAsSet),
  ),
});

export const nodeCondition: ObjectSchema = message("io.k8s.api.core.v1.NodeCondition", {
  type: required(str(1)),
  status: required(str(2)),
  lastHeartbeatTime: time(3),
  lastTransitionTime: time(4),
  reason: str(5),
  message: str(6),
});

export const nodeAddress: ObjectSchema = message("io.k8s.api.core.v1.NodeAddress", {
  type: required(str(1)),
  address: required(str(2)),
});

export const daemonEndpoint: ObjectSchema = message("io.k8s.api.core.v1.DaemonEndpoint", {
  Port: required(int32(1)),
});

export const nodeDaemonEndpoints: ObjectSchema = message("io.k8s.api.core.v1.NodeDaemonEndpoints", {
  kubeletEndpoint: object(1, daemonEndpoint),
});

export const nodeSwapStatus: ObjectSchema = message("io.k8s.api.core.v1.NodeSwapStatus", {
  capacity: pointer(int64(1)),
});

export const nodeSystemInfo: ObjectSchema = message("io.k8s.api.core.v1.NodeSystemInfo", {
  machineID: required(str(1)),
  systemUUID: required(str(2)),
  bootID: required(str(3)),
  kernelVersion: required(str(4)),
  osImage: required(str(5)),
  containerRuntimeVersion: required(str(6)),
  kubeletVersion: required(str(7)),
  kubeProxyVersion: required(str(8)),
  operatingSystem: required(str(9)),
  architecture: required(str(10)),
  swap: pointer(object(11, nodeSwapStatus)),
});

export const containerImage: ObjectSchema = message("io.k8s.api.core.v1.ContainerImage", {
  names: strings(1, atomic),
  sizeBytes: int64(2),
});

export const attachedVolume: ObjectSchema = message("io.k8s.api.core.v1.AttachedVolume", {
  name: required(str(1)),
  devicePath: required(str(2)),
});

export const nodeConfigStatus: ObjectSchema = message("io.k8s.api.core.v1.NodeConfigStatus", {
  assigned: pointer(object(1, nodeConfigSource)),
  active: pointer(object(2, nodeConfigSource)),
  lastKnownGood: pointer(object(3, nodeConfigSource)),
  error: str(4),
});

export const nodeRuntimeHandlerFeatures: ObjectSchema = message("io.k8s.api.core.v1.NodeRuntimeHandlerFeatures", {
  recursiveReadOnlyMounts: pointer(bool(1)),
  userNamespaces: pointer(bool(2)),
});

export const nodeRuntimeHandler: ObjectSchema = message("io.k8s.api.core.v1.NodeRuntimeHandler", {
  name: str(1),
  features: pointer(object(2, nodeRuntimeHandlerFeatures)),
});

export const nodeFeatures: ObjectSchema = message("io.k8s.api.core.v1.NodeFeatures", {
  supplementalGroupsPolicy: pointer(bool(1)),
});

export const nodeStatus: ObjectSchema = message("io.k8s.api.core.v1.NodeStatus", {
  capacity: about("All resources of the machine.", quantities(1)),
  allocatable: about("Resources that pods may use.", quantities(2)),
  phase: about("No longer used.", str(3)),
  conditions: about(
    "Ready and other facts, with the time they last changed.",
    list(4, nodeCondition, byKey("type"), mergeBy("type")),
  ),
  addresses: about(
    "Names and addresses by which the node is reached.",
    list(5, nodeAddress, byKey("type"), mergeBy("type")),
  ),
  daemonEndpoints: about("Ports of daemons on the node.", object(6, nodeDaemonEndpoints)),
  nodeInfo: about("Identifiers and versions of machine, kernel, runtime and kubelet.", object(7, nodeSystemInfo)),
  images: about("Container images present on the node.", list(8, containerImage, atomic)),
  volumesInUse: about("Attachable volumes that pods use.", strings(9, atomic)),
  volumesAttached: about("Volumes attached to the node.", list(10, attachedVolume, atomic)),
  config: about("No longer used.", pointer(object(11, nodeConfigStatus))),
  runtimeHandlers: about("Runtime classes that the container runtime offers.", list(12, nodeRuntimeHandler, atomic)),
  features: about("Features of the container runtime.", pointer(object(13, nodeFeatures))),
  declaredFeatures: about("Kubernetes features that the kubelet declares.", strings(14, atomic)),
});

export const nodeSchema: ObjectSchema = kind("io.k8s.api.core.v1.Node", "A machine that belongs to the cluster.", {
  spec: about("What is desired of the node.", object(2, nodeSpec)),
  status: about("What the node last reported of itself.", object(3, nodeStatus)),
});
