import type { ObjectSchema } from "../../core/schema.ts";
import { resourceRequirements } from "./containers.ts";
import {
  about,
  asSet,
  atomic,
  bool,
  byKey,
  int32,
  int64,
  int64s,
  list,
  mergeBy,
  mergeRetaining,
  message,
  object,
  pointer,
  quantities,
  required,
  str,
  strings,
  time,
} from "./shorthand.ts";

// What a kubelet and the scheduler report of a pod. Source: k8s.io/api core/v1.

export const podCondition: ObjectSchema = message("io.k8s.api.core.v1.PodCondition", {
  type: required(str(1)),
  status: required(str(2)),
  lastProbeTime: time(3),
  lastTransitionTime: time(4),
  reason: str(5),
  message: str(6),
  observedGeneration: int64(7),
});

export const containerStateWaiting: ObjectSchema = message("io.k8s.api.core.v1.ContainerStateWaiting", {
  reason: str(1),
  message: str(2),
});

export const containerStateRunning: ObjectSchema = message("io.k8s.api.core.v1.ContainerStateRunning", {
  startedAt: time(1),
});

export const containerStateTerminated: ObjectSchema = message("io.k8s.api.core.v1.ContainerStateTerminated", {
  exitCode: required(int32(1)),
  signal: int32(2),
  reason: str(3),
  message: str(4),
  startedAt: time(5),
  finishedAt: time(6),
  containerID: str(7),
});

export const containerState: ObjectSchema = message("io.k8s.api.core.v1.ContainerState", {
  waiting: pointer(object(1, containerStateWaiting)),
  running: pointer(object(2, containerStateRunning)),
  terminated: pointer(object(3, containerStateTerminated)),
});

export const imageVolumeStatus: ObjectSchema = message("io.k8s.api.core.v1.ImageVolumeStatus", {
  imageRef: required(str(1)),
});

export const volumeStatus: ObjectSchema = message("io.k8s.api.core.v1.VolumeStatus", {
  image: pointer(object(1, imageVolumeStatus)),
});

export const volumeMountStatus: ObjectSchema = message("io.k8s.api.core.v1.VolumeMountStatus", {
  name: required(str(1)),
  mountPath: required(str(2)),
  readOnly: bool(3),
  recursiveReadOnly: pointer(str(4)),
  volumeStatus: pointer(object(5, volumeStatus)),
});

export const linuxContainerUser: ObjectSchema = message("io.k8s.api.core.v1.LinuxContainerUser", {
  uid: required(int64(1)),
  gid: required(int64(2)),
  supplementalGroups: int64s(3, atomic),
});

export const containerUser: ObjectSchema = message("io.k8s.api.core.v1.ContainerUser", {
  linux: pointer(object(1, linuxContainerUser)),
});

export const resourceHealth: ObjectSchema = message("io.k8s.api.core.v1.ResourceHealth", {
  resourceID: required(str(1)),
  health: str(2),
  message: pointer(str(6)),
});

export const resourceStatus: ObjectSchema = message("io.k8s.api.core.v1.ResourceStatus", {
  name: required(str(1)),
  resources: list(2, resourceHealth, byKey("resourceID")),
});

export const containerStatus: ObjectSchema = message("io.k8s.api.core.v1.ContainerStatus", {
  name: required(str(1)),
  state: object(2, containerState),
  lastState: object(3, containerState),
  ready: required(bool(4)),
  restartCount: required(int32(5)),
  image: required(str(6)),
  imageID: required(str(7)),
  containerID: str(8),
  started: pointer(bool(9)),
  allocatedResources: quantities(10),
  resources: pointer(object(11, resourceRequirements)),
  volumeMounts: list(12, volumeMountStatus, byKey("mountPath"), mergeBy("mountPath")),
  user: pointer(object(13, containerUser)),
  allocatedResourcesStatus: list(14, resourceStatus, byKey("name"), mergeBy("name")),
  stopSignal: pointer(str(15)),
});

export const podIP: ObjectSchema = message("io.k8s.api.core.v1.PodIP", {
  ip: required(str(1)),
});

export const podResourceClaimStatus: ObjectSchema = message("io.k8s.api.core.v1.PodResourceClaimStatus", {
  name: required(str(1)),
  resourceClaimName: pointer(str(2)),
});

export const hostIP: ObjectSchema = message("io.k8s.api.core.v1.HostIP", {
  ip: required(str(1)),
});

export const containerExtendedResourceRequest: ObjectSchema = message(
  "io.k8s.api.core.v1.ContainerExtendedResourceRequest",
  {
    containerName: required(str(1)),
    resourceName: required(str(2)),
    requestName: required(str(3)),
  },
);

export const podExtendedResourceClaimStatus: ObjectSchema = message(
  "io.k8s.api.core.v1.PodExtendedResourceClaimStatus",
  {
    requestMappings: required(list(1, containerExtendedResourceRequest, atomic)),
    resourceClaimName: required(str(2)),
  },
);

export const nodeAllocatableResourceClaimStatus: ObjectSchema = message(
  "io.k8s.api.core.v1.NodeAllocatableResourceClaimStatus",
  {
    resourceClaimName: required(str(1)),
    containers: strings(2, asSet),
    resources: required(quantities(3)),
  },
);

export const podStatus: ObjectSchema = message("io.k8s.api.core.v1.PodStatus", {
  phase: about("Pending, Running, Succeeded, Failed or Unknown.", str(1)),
  conditions: about("Scheduled, initialized, ready and others.", list(2, podCondition, byKey("type"), mergeBy("type"))),
  message: about("Why the pod is in this state, for people.", str(3)),
  reason: about("Why the pod is in this state, for programs.", str(4)),
  hostIP: about("The address of the node.", str(5)),
  podIP: about("The address of the pod.", str(6)),
  startTime: about("When the kubelet first saw the pod.", pointer(time(7))),
  containerStatuses: about("State of each container.", list(8, containerStatus, atomic)),
  qosClass: about("Guaranteed, Burstable or BestEffort.", str(9)),
  initContainerStatuses: about("State of each init container.", list(10, containerStatus, atomic)),
  nominatedNodeName: about("The node where room is being made.", str(11)),
  podIPs: about("The addresses of the pod, one per IP family.", list(12, podIP, byKey("ip"), mergeBy("ip"))),
  ephemeralContainerStatuses: about("State of each ephemeral container.", list(13, containerStatus, atomic)),
  resize: about("Deprecated; see conditions.", str(14)),
  resourceClaimStatuses: about(
    "Claims that were made for this pod.",
    list(15, podResourceClaimStatus, byKey("name"), mergeRetaining("name")),
  ),
  hostIPs: about("The addresses of the node, one per IP family.", list(16, hostIP, atomic, mergeBy("ip"))),
  observedGeneration: about("The generation this status speaks of.", int64(17)),
  extendedResourceClaimStatus: about(
    "The claim behind extended resources.",
    pointer(object(18, podExtendedResourceClaimStatus)),
  ),
  allocatedResources: about("Resources set aside for the whole pod.", quantities(19)),
  resources: about("Resources in force for the whole pod.", pointer(object(20, resourceRequirements))),
  nodeAllocatableResourceClaimStatuses: about(
    "Claims that take part of the node's allocatable resources.",
    list(21, nodeAllocatableResourceClaimStatus, byKey("resourceClaimName")),
  ),
});
