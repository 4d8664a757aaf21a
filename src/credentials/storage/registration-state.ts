import { oneOf, record, stateFormat, text } from "./state-format.ts";
import type { KlusterletStore } from "./klusterlet-store.ts";

/** A request for a certificate that is under way, or answered and not yet laid out. The key is secret. */
export interface PendingRequest {
  /** Which hub it was sent to. */
  readonly origin: string;
  /** Who asks: the bootstrap identity, or the agent itself with the certificate that it has. */
  readonly by: "bootstrap" | "agent";
  /** The name of the CertificateSigningRequest, chosen before it is sent. */
  readonly request: string;
  readonly keyPem: string;
  /** Leaf first, once it is there. */
  readonly certificatePem?: string;
  /** That it was denied, and why, as this agent has last heard. */
  readonly denied?: string;
}

/** What was learned of a hub since its bootstrap kubeconfig was written. */
export interface LearnedTrust {
  /** Which bootstrap kubeconfig is behind. */
  readonly origin: string;
  /** An `https://` URL. */
  readonly server: string;
  readonly caPem: string;
}

/** That the hub has shut the cluster out, as far as this agent has heard. */
export interface Rejection {
  /** RFC 3339, by this machine's clock. */
  readonly since: string;
  readonly message: string;
}

/** What an agent of a cluster knows of itself from its first moment on. */
export interface RegistrationState {
  readonly clusterName: string;
  readonly agentName: string;
  /** Which bootstrap kubeconfig the credential comes from; absent while there is none. */
  readonly origin?: string | undefined;
  /** The address that the hub told in cluster-info when it was last looked at. */
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

/** What a text says, or undefined where it is no state. */
export const readRegistrationState: (content: string | undefined) => RegistrationState | undefined = format.parse;

/** The state of a registration, in memory and in its place. */
export interface StoredState {
  now(): RegistrationState;
  /** Writes it down with these fields in place, after all changes before it; `undefined` takes one away. It counts once it is written. */
  change(fields: { readonly [field in keyof RegistrationState]?: RegistrationState[field] | undefined }): Promise<void>;
}

/** A state that is in the store already, or is not and will be with its first change. */
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
    // One at a time: two that begin with the same state would each undo the other, and a pending key must not be lost.
    change: (fields) => {
      changing = changing.catch(() => undefined).then(() => write(fields));
      return changing;
    },
  };
}
