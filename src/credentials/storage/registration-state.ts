import { oneOf, record, stateFormat, text } from "./state-format.ts";
import type { KlusterletStore } from "./klusterlet-store.ts";

/** A certificate request that is pending, or answered and not yet installed. The key is secret. */
export interface PendingRequest {
  /** The hub that it was sent to. */
  readonly origin: string;
  /** The requester: the bootstrap identity, or the agent itself with its certificate. */
  readonly by: "bootstrap" | "agent";
  /** The name of the CertificateSigningRequest, chosen before it is sent. */
  readonly request: string;
  readonly keyPem: string;
  /** Leaf first; absent while there is none. */
  readonly certificatePem?: string;
  /** That it was denied, and why, as last read by this agent. */
  readonly denied?: string;
}

/** Changes of a hub since its bootstrap kubeconfig was written. */
export interface LearnedTrust {
  /** The bootstrap kubeconfig that is outdated. */
  readonly origin: string;
  /** An `https://` URL. */
  readonly server: string;
  readonly caPem: string;
}

/** That the hub denied the cluster, as last read by this agent. */
export interface Rejection {
  /** RFC 3339, by this machine's clock. */
  readonly since: string;
  readonly message: string;
}

/** The identity and registration of a cluster's agent, from its first start on. */
export interface RegistrationState {
  readonly clusterName: string;
  readonly agentName: string;
  /** The bootstrap kubeconfig that the credential comes from; absent while there is none. */
  readonly origin?: string | undefined;
  /** The hub's address in cluster-info at the last check. */
  readonly told?: string | undefined;
  readonly learned?: LearnedTrust | undefined;
  readonly pending?: PendingRequest | undefined;
  readonly shutOut?: Rejection | undefined;
}

const format = stateFormat<RegistrationState, "clusterName" | "agentName">(
  {
    clusterName: text,
    agentName: text,
    origin: text,
    told: text,
    learned: record<LearnedTrust>({ origin: text, server: text, caPem: text }, ["origin", "server", "caPem"]),
    pending: record<PendingRequest, "origin" | "by" | "request" | "keyPem">(
      {
        origin: text,
        by: oneOf("bootstrap", "agent"),
        request: text,
        keyPem: text,
        certificatePem: text,
        denied: text,
      },
      ["origin", "by", "request", "keyPem"],
    ),
    shutOut: record<Rejection>({ since: text, message: text }, ["since", "message"]),
  },
  ["clusterName", "agentName"],
);

/** The text of a state; secret. */
export const registrationStateText: (state: RegistrationState) => string = format.print;

/** Parses a text, or returns undefined where it is no state. */
export const readRegistrationState: (content: string | undefined) => RegistrationState | undefined = format.parse;

/** The state of a registration, in memory and in its store. */
export interface StoredState {
  now(): RegistrationState;
  /** Stores it with these fields replaced, after all earlier changes; `undefined` removes one. It takes effect once it is stored. */
  change(fields: { readonly [field in keyof RegistrationState]?: RegistrationState[field] | undefined }): Promise<void>;
}

/** A state that is in the store, or is stored with its first change. */
export function storedState(store: KlusterletStore, first: RegistrationState): StoredState {
  let state = first;
  let changing: Promise<void> = Promise.resolve();
  async function write(fields: Parameters<StoredState["change"]>[0]): Promise<void> {
    const { clusterName = state.clusterName, agentName = state.agentName, ...others } = { ...state, ...fields };
    const next = { clusterName, agentName, ...others };
    await store.writeState(registrationStateText(next));
    state = next;
  }

  return {
    now: () => state,
    // One at a time: two changes of the same state would undo each other, and a pending key must not be lost.
    change: (fields) => {
      changing = changing.catch(() => undefined).then(() => write(fields));
      return changing;
    },
  };
}
