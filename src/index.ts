// The public API: what a program needs to run a hub in its own process, to join a machine, and to speak to either.

// First, since imports run in their order: nothing else runs on a Node that is too old.
import "./require-node.ts";

export { startHub } from "./hub/hub.ts";
export type { Hub } from "./hub/hub.ts";
export type { HubOptions } from "./hub/hub-options.ts";
export type { LogEntry } from "./core/log-entry.ts";
export { HubError } from "./hub/hub-error.ts";
export type { HubErrorCode } from "./hub/hub-error.ts";

export { join } from "./agent/join.ts";
export { JoinError } from "./agent/join-error.ts";
export type { JoinErrorCode } from "./agent/join-error.ts";
export type { JoinEvent, JoinReport } from "./agent/join-event.ts";
export type { Discovery, Joined, JoinOptions } from "./agent/join-options.ts";
export { wallClock } from "./agent/wall-clock.ts";

export { processWorld } from "./agent/process-world.ts";
export type { ProcessWorldOptions } from "./agent/process-world.ts";
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

export type { Clock } from "./core/clock.ts";
export type { ApiList, ApiObject, ObjectKey, ObjectMeta } from "./core/object.ts";
export { StatusError } from "./core/status.ts";
export type { Status, StatusReason } from "./core/status.ts";

export type { CertificateSigningRequest } from "./resources/certificate-signing-request.ts";
export type { ConfigMap } from "./resources/config-map.ts";
export type { Event } from "./resources/event.ts";
export type { Lease } from "./resources/lease.ts";
export type { LocalSubjectAccessReview } from "./resources/local-subject-access-review.ts";
export type { Namespace } from "./resources/namespace.ts";
export type { Node } from "./resources/node.ts";
export type { Pod } from "./resources/pod.ts";
export type { Secret } from "./resources/secret.ts";
export type { SelfSubjectAccessReview } from "./resources/self-subject-access-review.ts";
export type { SelfSubjectReview } from "./resources/self-subject-review.ts";
export type { ServiceAccount } from "./resources/service-account.ts";
export type { SubjectAccessReview } from "./resources/subject-access-review.ts";
export type { TokenReview } from "./resources/token-review.ts";
