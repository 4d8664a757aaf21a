import type { ObjectSchema } from "../apimachinery/schema.ts";
import { builtinKind, reviewKind } from "./builtin-kind.ts";
import type { Resource } from "./resource.ts";
import { about, bool, int32, list, str, strings, typed } from "./schemas/shorthand.ts";

// The options in the query or the path of a connection to a kubelet, for admission. Source: k8s.io/api core/v1.

const attachFields: ObjectSchema["properties"] = {
  stdin: about("Whether the client sends standard input.", bool(1)),
  stdout: about("Whether the client receives standard output.", bool(2)),
  stderr: about("Whether the client receives standard error.", bool(3)),
  tty: about("Whether a terminal is allocated.", bool(4)),
  container: about("The container; the only one of the Pod where it is empty.", str(5)),
};

export const podAttachOptions: Resource = optionsKind("PodAttachOptions", "Namespaced", {
  description: "The query of a request that attaches to a running container.",
  properties: attachFields,
});

export const podExecOptions: Resource = optionsKind("PodExecOptions", "Namespaced", {
  description: "The query of a request that runs a command in a container.",
  properties: { ...attachFields, command: about("The command with its arguments; no shell reads it.", strings(6)) },
});

export const podPortForwardOptions: Resource = optionsKind("PodPortForwardOptions", "Namespaced", {
  description: "The query of a request that forwards ports of a Pod.",
  properties: { ports: about("The ports to forward, where WebSockets carry them.", list(1, int32(1).schema)) },
});

export const nodeProxyOptions: Resource = optionsKind("NodeProxyOptions", "Cluster", {
  description: "The path of a request to the kubelet of a Node.",
  properties: { path: about("The path at the kubelet.", str(1)) },
});

function optionsKind(
  kind: string,
  scope: Resource["scope"],
  { description, properties }: { readonly description: string; readonly properties: ObjectSchema["properties"] },
): Resource {
  const schema = typed(`io.k8s.api.core.v1.${kind}`, description, properties);
  return builtinKind({ ...reviewKind, group: "", kind, plural: kind.toLowerCase(), scope, schema });
}
