import type { KlusterletStore } from "./klusterlet-store.ts";
import { registrationStateText, type RegistrationState } from "./registration-state.ts";

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
