import type { ObjectSchema } from "../../core/schema.ts";
import {
  atomic,
  inline,
  int32,
  int64,
  intOrString,
  list,
  message,
  object,
  pointer,
  required,
  str,
  strings,
} from "./shorthand.ts";

// Health checks and lifecycle hooks of a container. Source: k8s.io/api core/v1.

export const execAction: ObjectSchema = message("io.k8s.api.core.v1.ExecAction", {
  command: strings(1, atomic),
});

export const httpHeader: ObjectSchema = message("io.k8s.api.core.v1.HTTPHeader", {
  name: required(str(1)),
  value: required(str(2)),
});

export const httpGetAction: ObjectSchema = message("io.k8s.api.core.v1.HTTPGetAction", {
  path: str(1),
  port: required(intOrString(2)),
  host: str(3),
  scheme: str(4),
  httpHeaders: list(5, httpHeader, atomic),
});

export const tcpSocketAction: ObjectSchema = message("io.k8s.api.core.v1.TCPSocketAction", {
  port: required(intOrString(1)),
  host: str(2),
});

export const grpcAction: ObjectSchema = message("io.k8s.api.core.v1.GRPCAction", {
  port: required(int32(1)),
  service: pointer(str(2)),
});

export const probeHandler: ObjectSchema = message("io.k8s.api.core.v1.ProbeHandler", {
  exec: pointer(object(1, execAction)),
  httpGet: pointer(object(2, httpGetAction)),
  tcpSocket: pointer(object(3, tcpSocketAction)),
  grpc: pointer(object(4, grpcAction)),
});

export const probe: ObjectSchema = message("io.k8s.api.core.v1.Probe", {
  probeHandler: inline(object(1, probeHandler)),
  initialDelaySeconds: int32(2),
  timeoutSeconds: int32(3),
  periodSeconds: int32(4),
  successThreshold: int32(5),
  failureThreshold: int32(6),
  terminationGracePeriodSeconds: pointer(int64(7)),
});

export const sleepAction: ObjectSchema = message("io.k8s.api.core.v1.SleepAction", {
  seconds: required(int64(1)),
});

export const lifecycleHandler: ObjectSchema = message("io.k8s.api.core.v1.LifecycleHandler", {
  exec: pointer(object(1, execAction)),
  httpGet: pointer(object(2, httpGetAction)),
  tcpSocket: pointer(object(3, tcpSocketAction)),
  sleep: pointer(object(4, sleepAction)),
});

export const lifecycle: ObjectSchema = message("io.k8s.api.core.v1.Lifecycle", {
  postStart: pointer(object(1, lifecycleHandler)),
  preStop: pointer(object(2, lifecycleHandler)),
  stopSignal: pointer(str(3)),
});
