import type { ObjectSchema } from "../../core/schema.ts";
import { atomic, bool, int64, int64s, list, message, object, pointer, required, str, strings } from "./shorthand.ts";

// Privileges and confinement of pods and containers. Source: k8s.io/api core/v1.

export const capabilities: ObjectSchema = message("io.k8s.api.core.v1.Capabilities", {
  add: strings(1, atomic),
  drop: strings(2, atomic),
});

export const seLinuxOptions: ObjectSchema = message("io.k8s.api.core.v1.SELinuxOptions", {
  user: str(1),
  role: str(2),
  type: str(3),
  level: str(4),
});

export const windowsSecurityContextOptions: ObjectSchema = message("io.k8s.api.core.v1.WindowsSecurityContextOptions", {
  gmsaCredentialSpecName: pointer(str(1)),
  gmsaCredentialSpec: pointer(str(2)),
  runAsUserName: pointer(str(3)),
  hostProcess: pointer(bool(4)),
});

export const seccompProfile: ObjectSchema = message("io.k8s.api.core.v1.SeccompProfile", {
  type: required(str(1)),
  localhostProfile: pointer(str(2)),
});

export const appArmorProfile: ObjectSchema = message("io.k8s.api.core.v1.AppArmorProfile", {
  type: required(str(1)),
  localhostProfile: pointer(str(2)),
});

export const securityContext: ObjectSchema = message("io.k8s.api.core.v1.SecurityContext", {
  capabilities: pointer(object(1, capabilities)),
  privileged: pointer(bool(2)),
  seLinuxOptions: pointer(object(3, seLinuxOptions)),
  runAsUser: pointer(int64(4)),
  runAsNonRoot: pointer(bool(5)),
  readOnlyRootFilesystem: pointer(bool(6)),
  allowPrivilegeEscalation: pointer(bool(7)),
  runAsGroup: pointer(int64(8)),
  procMount: pointer(str(9)),
  windowsOptions: pointer(object(10, windowsSecurityContextOptions)),
  seccompProfile: pointer(object(11, seccompProfile)),
  appArmorProfile: pointer(object(12, appArmorProfile)),
});

export const sysctl: ObjectSchema = message("io.k8s.api.core.v1.Sysctl", {
  name: required(str(1)),
  value: required(str(2)),
});

export const podSecurityContext: ObjectSchema = message("io.k8s.api.core.v1.PodSecurityContext", {
  seLinuxOptions: pointer(object(1, seLinuxOptions)),
  runAsUser: pointer(int64(2)),
  runAsNonRoot: pointer(bool(3)),
  supplementalGroups: int64s(4, atomic),
  fsGroup: pointer(int64(5)),
  runAsGroup: pointer(int64(6)),
  sysctls: list(7, sysctl, atomic),
  windowsOptions: pointer(object(8, windowsSecurityContextOptions)),
  fsGroupChangePolicy: pointer(str(9)),
  seccompProfile: pointer(object(10, seccompProfile)),
  appArmorProfile: pointer(object(11, appArmorProfile)),
  supplementalGroupsPolicy: pointer(str(12)),
  seLinuxChangePolicy: pointer(str(13)),
});
