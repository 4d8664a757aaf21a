import type { CostlyRequest } from "./costly-request.ts";

/** In a namespace of their own: what is listed elsewhere does not hold them. */
export const bulkConfigMaps = "/api/v1/namespaces/bulk/configmaps";
const json = "application/json";
const yaml = "application/yaml";
const protobuf = "application/vnd.kubernetes.protobuf";
const initialEvents = `${bulkConfigMaps}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=5`;

const bulk = (name: string, accept: string, more: Partial<CostlyRequest> = {}): CostlyRequest => ({
  name,
  as: "tenant",
  method: "GET",
  path: initialEvents,
  accept,
  statuses: [200],
  ...more,
});

/** Watches and lists of 32 MB, and clients that do not read theirs. */
export const watches: readonly CostlyRequest[] = [
  bulk("watch with 32 MB of initial events in JSON", json),
  bulk("watch with 32 MB of initial events in protobuf", `${protobuf};stream=watch`),
  bulk(
    "watch with 32 MB of initial events as partial metadata",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
  ),
  bulk("watch with 32 MB of initial events as Tables with objects", "application/json;as=Table;v=v1;g=meta.k8s.io", {
    path: `${initialEvents}&includeObject=Object`,
  }),
  ...(
    [
      ["connections", 10],
      ["streams", 10],
      ["streams", 100],
    ] as const
  ).flatMap(([unread, copies]) => [
    bulk(`watch of 32 MB that is not read, ${copies} ${unread}`, json, { copies, unread }),
    bulk(`list of 32 MB that is not read, ${copies} ${unread}`, json, { copies, unread, path: bulkConfigMaps }),
  ]),
  bulk("watch of 32 MB in protobuf that is not read, 10 connections", `${protobuf};stream=watch`, {
    copies: 10,
    unread: "connections",
  }),
  bulk("list of 32 MB in protobuf that is not read, 10 connections", protobuf, {
    copies: 10,
    unread: "connections",
    path: bulkConfigMaps,
  }),
  bulk("list of 32 MB in YAML that is not read, 10 connections", yaml, {
    // A client has a share of the YAML thread.
    statuses: [200, 429],
    copies: 10,
    unread: "connections",
    path: bulkConfigMaps,
  }),
];
