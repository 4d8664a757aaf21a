import type { Resource } from "./resource.ts";
import { reviewKind } from "./review-kind.ts";
import {
  nodeProxyOptionsSchema,
  podAttachOptionsSchema,
  podExecOptionsSchema,
  podPortForwardOptionsSchema,
} from "./schemas/connect-options.ts";

/** The query of `pods/attach` as admission sees it. Source: api/core/v1. */
export const podAttachOptions: Resource = {
  ...reviewKind,
  group: "",
  version: "v1",
  kind: "PodAttachOptions",
  plural: "podattachoptions",
  singular: "podattachoptions",
  scope: "Namespaced",
  schema: podAttachOptionsSchema,
};

/** The query of `pods/exec` as admission sees it. Source: api/core/v1. */
export const podExecOptions: Resource = {
  ...podAttachOptions,
  kind: "PodExecOptions",
  plural: "podexecoptions",
  singular: "podexecoptions",
  schema: podExecOptionsSchema,
};

/** The query of `pods/portforward` as admission sees it. Source: api/core/v1. */
export const podPortForwardOptions: Resource = {
  ...podAttachOptions,
  kind: "PodPortForwardOptions",
  plural: "podportforwardoptions",
  singular: "podportforwardoptions",
  schema: podPortForwardOptionsSchema,
};

/** The path of a request through `nodes/proxy` as admission sees it. Source: api/core/v1. */
export const nodeProxyOptions: Resource = {
  ...podAttachOptions,
  kind: "NodeProxyOptions",
  plural: "nodeproxyoptions",
  singular: "nodeproxyoptions",
  scope: "Cluster",
  schema: nodeProxyOptionsSchema,
};
