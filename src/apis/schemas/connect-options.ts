import type { ObjectSchema } from "../../apimachinery/schema.ts";
import { about, bool, int32, list, str, strings, typed } from "./shorthand.ts";

// The options of subresources that connect to a kubelet. Source: k8s.io/api core/v1.

export const podAttachOptionsSchema: ObjectSchema = typed(
  "io.k8s.api.core.v1.PodAttachOptions",
  "The query of a request that attaches to a running container.",
  {
    stdin: about("Whether the client sends standard input.", bool(1)),
    stdout: about("Whether the client receives standard output.", bool(2)),
    stderr: about("Whether the client receives standard error.", bool(3)),
    tty: about("Whether a terminal is allocated.", bool(4)),
    container: about("The container; the only one of the Pod where it is empty.", str(5)),
  },
);

export const podExecOptionsSchema: ObjectSchema = typed(
  "io.k8s.api.core.v1.PodExecOptions",
  "The query of a request that runs a command in a container.",
  {
    ...podAttachOptionsSchema.properties,
    command: about("The command with its arguments; no shell reads it.", strings(6)),
  },
);

export const podPortForwardOptionsSchema: ObjectSchema = typed(
  "io.k8s.api.core.v1.PodPortForwardOptions",
  "The query of a request that forwards ports of a Pod.",
  { ports: about("The ports to forward, where WebSockets carry them.", list(1, int32(1).schema)) },
);

export const nodeProxyOptionsSchema: ObjectSchema = typed(
  "io.k8s.api.core.v1.NodeProxyOptions",
  "The path of a request to the kubelet of a Node.",
  { path: about("The path at the kubelet.", str(1)) },
);
