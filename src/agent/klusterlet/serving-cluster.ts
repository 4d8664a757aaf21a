import type { ManagedCluster } from "../../apis/managed-cluster.ts";
import type { Condition } from "../../apimachinery/object.ts";
import type { ClusterChanges } from "./cluster-changes.ts";
import type { BootstrapHub } from "./bootstrap-hub.ts";
import type { HubSession } from "./hub-session.ts";
import type { StoredState } from "../../credentials/storage/stored-state.ts";
import type { KlusterletOptions } from "./klusterlet-options.ts";

/** Why an agent ends its conversation with a hub. */
export type ServeEnd =
  | { readonly kind: "stopped" }
  /** What is laid out has changed. */
  | { readonly kind: "reload" }
  /** The bootstrap credential is needed again; with `newAgent` the old name is spent. */
  | { readonly kind: "register"; readonly newAgent: boolean; readonly message: string }
  | { readonly kind: "next-hub"; readonly message: string };

/** What the parts of an agent share while it serves one hub. */
export interface Serving {
  readonly session: HubSession;
  readonly state: StoredState;
  readonly options: KlusterletOptions;
  /** The hub as its bootstrap kubeconfig has it now, or undefined while that cannot be read. */
  readonly bootstrap: () => Promise<BootstrapHub | undefined>;
  readonly hasOtherHubs: boolean;
  /** Aborts when the agent ends, or ends with this hub. */
  readonly signal: AbortSignal;
  readonly end: (why: ServeEnd) => void;
  /** The newest that is known of the ManagedCluster. */
  readonly cluster: () => ManagedCluster | undefined;
  /** Changes of the ManagedCluster, and of what the agent reports of itself. */
  readonly changes: ClusterChanges;
  readonly notes: ServingNotes;
}

/** What one part notes for another. */
export interface ServingNotes {
  /** When the hub last took a heartbeat. */
  beatAt: number;
  /** How the last renewal went, for the status. */
  rotated: Condition | undefined;
  /** Failures that were told already. */
  readonly reported: Set<string>;
}

/** Tells a failure once, until `recovered` is called for its topic. */
export function reportFailure({ options, notes }: Serving, topic: string, message: string): void {
  const key = `${topic}: ${message}`;
  if (notes.reported.has(key)) return;
  recovered(notes, topic);
  notes.reported.add(key);
  options.report({ kind: "failed", message });
}

/** The topic is well again. */
export function recovered({ reported }: ServingNotes, topic: string): void {
  for (const key of reported) if (key.startsWith(`${topic}: `)) reported.delete(key);
}
