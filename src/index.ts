// The public API: what a program needs to run a hub in its own process, to join a machine, and to speak to either.

// First, since imports run in their order: nothing else runs on a Node that is too old.
import "./require-node.ts";

export { startHub } from "./server/hub.ts";
export type { Hub } from "./server/hub.ts";
export type { HubOptions } from "./server/hub-options.ts";
export type { LogEntry } from "./apimachinery/log-entry.ts";
export { HubError } from "./apimachinery/hub-error.ts";
export type { HubErrorCode } from "./apimachinery/hub-error.ts";

export { join } from "./agent/join/join.ts";
export { JoinError } from "./credentials/join-error.ts";
export type { JoinErrorCode } from "./credentials/join-error.ts";
export type { JoinEvent, JoinReport } from "./agent/join/join-event.ts";
export type { Discovery, Joined, JoinOptions } from "./agent/join/join-options.ts";
export { wallClock } from "./host/system-clock.ts";

export { processWorld } from "./host/process-world.ts";
export type { ProcessWorldOptions } from "./host/process-world.ts";
export { kubeconfigAccess } from "./client/kubeconfig-access.ts";
export type { KubeconfigAccess, KubeconfigWorld } from "./client/kubeconfig-access.ts";
export { remoteClient } from "./client/remote.ts";
export type { RemoteClient, RemoteOptions } from "./client/remote.ts";
export { ConnectionError } from "./client/client.ts";
export type { Client, DeleteOptions, ListOptions, ResourceRef, WatchEvent, WatchOptions } from "./client/client.ts";
export { mergeKubeconfigs, parseKubeconfig, KubeconfigError } from "./client/kubeconfig.ts";
export type { Kubeconfig } from "./client/kubeconfig.ts";
export { resolveKubeconfig } from "./client/resolve-kubeconfig.ts";
export type { ResolvedKubeconfig } from "./client/resolve-kubeconfig.ts";

export type { Clock } from "./apimachinery/clock.ts";
export type { ApiList, ApiObject, ObjectKey, ObjectMeta } from "./apimachinery/object.ts";
export { StatusError } from "./apimachinery/status.ts";
export type { Status, StatusReason } from "./apimachinery/status.ts";

export type { CertificateSigningRequest } from "./apis/certificate-signing-request.ts";
export type { ConfigMap } from "./apis/config-map.ts";
export type { Event } from "./apis/event.ts";
export type { Lease } from "./apis/lease.ts";
export type { LocalSubjectAccessReview } from "./apis/access-review.ts";
export type { Namespace } from "./apis/namespace.ts";
export type { Node } from "./apis/node.ts";
export type { Pod } from "./apis/pod.ts";
export type { Secret } from "./apis/secret.ts";
export type { SelfSubjectAccessReview } from "./apis/access-review.ts";
export type { SelfSubjectReview } from "./apis/token-review.ts";
export type { ServiceAccount } from "./apis/service-account.ts";
export type { SubjectAccessReview } from "./apis/access-review.ts";
export type { TokenReview } from "./apis/token-review.ts";
