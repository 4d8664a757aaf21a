import type { KlusterletStore } from "./klusterlet-store.ts";
import { registrationStateText, type RegistrationState } from "./registration-state.ts";

/** The state of a registration, in memory and in its place. */
export interface KeptState {
  now(): RegistrationState;
  /** Writes it down with these fields in place; `undefined` takes one away. It counts once it is written. */
  change(fields: { readonly [field in keyof RegistrationState]?: RegistrationState[field] | undefined }): Promise<void>;
}

/** A state that is in the store already, or is not and will be with its first change. */
export function keptState(store: KlusterletStore, first: RegistrationState): KeptState {
  let state = first;
  return {
    now: () => state,
    change: async (fields) => {
      const { origin, told, learned, pending, ...names } = { ...state, ...fields };
      const { clusterName = state.clusterName, agentName = state.agentName } = names;
      const next: RegistrationState = {
        clusterName,
        agentName,
        ...(origin === undefined ? {} : { origin }),
        ...(told === undefined ? {} : { told }),
        ...(learned === undefined ? {} : { learned }),
        ...(pending === undefined ? {} : { pending }),
      };
      await store.writeState(registrationStateText(next));
      state = next;
    },
  };
}
