import type { ObjectSchema } from "../../core/schema.ts";
import { lifecycle, probe } from "./probes.ts";
import {
  configMapKeySelector,
  fileKeySelector,
  localObjectReference,
  objectFieldSelector,
  resourceFieldSelector,
  secretKeySelector,
} from "./references.ts";
import { securityContext } from "./security.ts";
import {
  about,
  asSet,
  atomic,
  bool,
  byKey,
  described,
  inline,
  int32,
  int32s,
  keyDefault,
  list,
  mergeBy,
  message,
  object,
  pointer,
  quantities,
  required,
  str,
  strings,
} from "./shorthand.ts";

// A container and what it is given. Source: k8s.io/api core/v1.

export const containerPort: ObjectSchema = message("io.k8s.api.core.v1.ContainerPort", {
  name: str(1),
  hostPort: int32(2),
  containerPort: required(int32(3)),
  protocol: keyDefault("TCP", str(4)),
  hostIP: str(5),
});

export const envVarSource: ObjectSchema = message("io.k8s.api.core.v1.EnvVarSource", {
  fieldRef: pointer(object(1, objectFieldSelector)),
  resourceFieldRef: pointer(object(2, resourceFieldSelector)),
  configMapKeyRef: pointer(object(3, configMapKeySelector)),
  secretKeyRef: pointer(object(4, secretKeySelector)),
  fileKeyRef: pointer(object(5, fileKeySelector)),
});

export const envVar: ObjectSchema = message("io.k8s.api.core.v1.EnvVar", {
  name: required(str(1)),
  value: str(2),
  valueFrom: pointer(object(3, envVarSource)),
});

export const resourceClaim: ObjectSchema = message("io.k8s.api.core.v1.ResourceClaim", {
  name: required(str(1)),
  request: str(2),
});

export const resourceRequirements: ObjectSchema = message("io.k8s.api.core.v1.ResourceRequirements", {
  limits: quantities(1),
  requests: quantities(2),
  claims: list(3, resourceClaim, byKey("name")),
});

export const volumeMount: ObjectSchema = message("io.k8s.api.core.v1.VolumeMount", {
  name: required(str(1)),
  readOnly: bool(2),
  mountPath: required(str(3)),
  subPath: str(4),
  mountPropagation: pointer(str(5)),
  subPathExpr: str(6),
  recursiveReadOnly: pointer(str(7)),
});

export const configMapEnvSource: ObjectSchema = message("io.k8s.api.core.v1.ConfigMapEnvSource", {
  localObjectReference: inline(object(1, localObjectReference)),
  optional: pointer(bool(2)),
});

export const secretEnvSource: ObjectSchema = message("io.k8s.api.core.v1.SecretEnvSource", {
  localObjectReference: inline(object(1, localObjectReference)),
  optional: pointer(bool(2)),
});

export const envFromSource: ObjectSchema = message("io.k8s.api.core.v1.EnvFromSource", {
  prefix: str(1),
  configMapRef: pointer(object(2, configMapEnvSource)),
  secretRef: pointer(object(3, secretEnvSource)),
});

export const volumeDevice: ObjectSchema = message("io.k8s.api.core.v1.VolumeDevice", {
  name: required(str(1)),
  devicePath: required(str(2)),
});

export const containerResizePolicy: ObjectSchema = message("io.k8s.api.core.v1.ContainerResizePolicy", {
  resourceName: required(str(1)),
  restartPolicy: required(str(2)),
});

export const containerRestartRuleOnExitCodes: ObjectSchema = message(
  "io.k8s.api.core.v1.ContainerRestartRuleOnExitCodes",
  {
    operator: required(str(1)),
    values: int32s(2, asSet),
  },
);

export const containerRestartRule: ObjectSchema = message("io.k8s.api.core.v1.ContainerRestartRule", {
  action: required(str(1)),
  exitCodes: pointer(object(2, containerRestartRuleOnExitCodes)),
});

export const container: ObjectSchema = described("io.k8s.api.core.v1.Container", "One container of a pod.", {
  name: about("Unique in the pod; cannot change.", required(str(1))),
  image: about("The image to run.", str(2)),
  command: about("Replaces the entry point of the image.", strings(3, atomic)),
  args: about("Arguments of the entry point.", strings(4, atomic)),
  workingDir: about("Directory the entry point starts in.", str(5)),
  ports: about(
    "Ports the container listens on; for information.",
    list(6, containerPort, byKey("containerPort", "protocol"), mergeBy("containerPort")),
  ),
  env: about("Environment variables.", list(7, envVar, byKey("name"), mergeBy("name"))),
  resources: about("Resources requested and the limits on them.", object(8, resourceRequirements)),
  volumeMounts: about(
    "Where volumes appear in the file system.",
    list(9, volumeMount, byKey("mountPath"), mergeBy("mountPath")),
  ),
  livenessProbe: about("Restarts the container when it fails.", pointer(object(10, probe))),
  readinessProbe: about("Takes the container out of service while it fails.", pointer(object(11, probe))),
  lifecycle: about("What runs after start and before stop.", pointer(object(12, lifecycle))),
  terminationMessagePath: about("File whose contents become the final message.", str(13)),
  imagePullPolicy: about("Always, IfNotPresent or Never.", str(14)),
  securityContext: about("Privileges of this container.", pointer(object(15, securityContext))),
  stdin: about("Keeps a buffer for standard input.", bool(16)),
  stdinOnce: about("Closes standard input after the first attach.", bool(17)),
  tty: about("Allocates a terminal.", bool(18)),
  envFrom: about("Sources whose every key becomes an environment variable.", list(19, envFromSource, atomic)),
  terminationMessagePolicy: about("File, or FallbackToLogsOnError.", str(20)),
  volumeDevices: about(
    "Block devices the container is given.",
    list(21, volumeDevice, byKey("devicePath"), mergeBy("devicePath")),
  ),
  startupProbe: about("Holds back the other probes until it succeeds.", pointer(object(22, probe))),
  resizePolicy: about("Whether a resize restarts the container.", list(23, containerResizePolicy, atomic)),
  restartPolicy: about("How this container is restarted, over that of the pod.", pointer(str(24))),
  restartPolicyRules: about("Exit codes that decide over a restart.", list(25, containerRestartRule, atomic)),
});

export const ephemeralContainerCommon: ObjectSchema = message("io.k8s.api.core.v1.EphemeralContainerCommon", {
  name: required(str(1)),
  image: str(2),
  command: strings(3, atomic),
  args: strings(4, atomic),
  workingDir: str(5),
  ports: list(6, containerPort, byKey("containerPort", "protocol"), mergeBy("containerPort")),
  env: list(7, envVar, byKey("name"), mergeBy("name")),
  resources: object(8, resourceRequirements),
  volumeMounts: list(9, volumeMount, byKey("mountPath"), mergeBy("mountPath")),
  livenessProbe: pointer(object(10, probe)),
  readinessProbe: pointer(object(11, probe)),
  lifecycle: pointer(object(12, lifecycle)),
  terminationMessagePath: str(13),
  imagePullPolicy: str(14),
  securityContext: pointer(object(15, securityContext)),
  stdin: bool(16),
  stdinOnce: bool(17),
  tty: bool(18),
  envFrom: list(19, envFromSource, atomic),
  terminationMessagePolicy: str(20),
  volumeDevices: list(21, volumeDevice, byKey("devicePath"), mergeBy("devicePath")),
  startupProbe: pointer(object(22, probe)),
  resizePolicy: list(23, containerResizePolicy, atomic),
  restartPolicy: pointer(str(24)),
  restartPolicyRules: list(25, containerRestartRule, atomic),
});

export const ephemeralContainer: ObjectSchema = message("io.k8s.api.core.v1.EphemeralContainer", {
  ephemeralContainerCommon: inline(object(1, ephemeralContainerCommon)),
  targetContainerName: str(2),
});
