import type { ObjectSchema } from "../../core/schema.ts";
import { labelSelector } from "./meta.ts";
import {
  atomic,
  int32,
  int64,
  list,
  message,
  object,
  pointer,
  required,
  str,
  strings,
  time,
  whole,
} from "./shorthand.ts";

// Where a pod may run. Source: k8s.io/api core/v1.

export const nodeSelectorRequirement: ObjectSchema = message("io.k8s.api.core.v1.NodeSelectorRequirement", {
  key: required(str(1)),
  operator: required(str(2)),
  values: strings(3, atomic),
});

export const nodeSelectorTerm: ObjectSchema = whole(
  message("io.k8s.api.core.v1.NodeSelectorTerm", {
    matchExpressions: list(1, nodeSelectorRequirement, atomic),
    matchFields: list(2, nodeSelectorRequirement, atomic),
  }),
);

export const nodeSelector: ObjectSchema = whole(
  message("io.k8s.api.core.v1.NodeSelector", {
    nodeSelectorTerms: required(list(1, nodeSelectorTerm, atomic)),
  }),
);

export const preferredSchedulingTerm: ObjectSchema = message("io.k8s.api.core.v1.PreferredSchedulingTerm", {
  weight: required(int32(1)),
  preference: required(object(2, nodeSelectorTerm)),
});

export const nodeAffinity: ObjectSchema = message("io.k8s.api.core.v1.NodeAffinity", {
  requiredDuringSchedulingIgnoredDuringExecution: pointer(object(1, nodeSelector)),
  preferredDuringSchedulingIgnoredDuringExecution: list(2, preferredSchedulingTerm, atomic),
});

export const podAffinityTerm: ObjectSchema = message("io.k8s.api.core.v1.PodAffinityTerm", {
  labelSelector: pointer(object(1, labelSelector)),
  namespaces: strings(2, atomic),
  topologyKey: required(str(3)),
  namespaceSelector: pointer(object(4, labelSelector)),
  matchLabelKeys: strings(5, atomic),
  mismatchLabelKeys: strings(6, atomic),
});

export const weightedPodAffinityTerm: ObjectSchema = message("io.k8s.api.core.v1.WeightedPodAffinityTerm", {
  weight: required(int32(1)),
  podAffinityTerm: required(object(2, podAffinityTerm)),
});

export const podAffinity: ObjectSchema = message("io.k8s.api.core.v1.PodAffinity", {
  requiredDuringSchedulingIgnoredDuringExecution: list(1, podAffinityTerm, atomic),
  preferredDuringSchedulingIgnoredDuringExecution: list(2, weightedPodAffinityTerm, atomic),
});

export const podAntiAffinity: ObjectSchema = message("io.k8s.api.core.v1.PodAntiAffinity", {
  requiredDuringSchedulingIgnoredDuringExecution: list(1, podAffinityTerm, atomic),
  preferredDuringSchedulingIgnoredDuringExecution: list(2, weightedPodAffinityTerm, atomic),
});

export const affinity: ObjectSchema = message("io.k8s.api.core.v1.Affinity", {
  nodeAffinity: pointer(object(1, nodeAffinity)),
  podAffinity: pointer(object(2, podAffinity)),
  podAntiAffinity: pointer(object(3, podAntiAffinity)),
});

export const toleration: ObjectSchema = message("io.k8s.api.core.v1.Toleration", {
  key: str(1),
  operator: str(2),
  value: str(3),
  effect: str(4),
  tolerationSeconds: pointer(int64(5)),
});

export const taint: ObjectSchema = message("io.k8s.api.core.v1.Taint", {
  key: required(str(1)),
  value: str(2),
  effect: required(str(3)),
  timeAdded: pointer(time(4)),
});

export const topologySpreadConstraint: ObjectSchema = message("io.k8s.api.core.v1.TopologySpreadConstraint", {
  maxSkew: required(int32(1)),
  topologyKey: required(str(2)),
  whenUnsatisfiable: required(str(3)),
  labelSelector: pointer(object(4, labelSelector)),
  minDomains: pointer(int32(5)),
  nodeAffinityPolicy: pointer(str(6)),
  nodeTaintsPolicy: pointer(str(7)),
  matchLabelKeys: strings(8, atomic),
});

export const podSchedulingGate: ObjectSchema = message("io.k8s.api.core.v1.PodSchedulingGate", {
  name: required(str(1)),
});

export const podSchedulingGroup: ObjectSchema = message("io.k8s.api.core.v1.PodSchedulingGroup", {
  podGroupName: pointer(str(1)),
});
