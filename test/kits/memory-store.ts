import type { CredentialFiles, KlusterletStore } from "../../src/credentials/storage/klusterlet-store.ts";

/** A registration in memory. */
export function memoryStore(): KlusterletStore {
  let state: string | undefined;
  let credential: Partial<CredentialFiles> = {};
  return {
    place: "memory",
    readState: async () => state,
    writeState: async (text) => {
      state = text;
    },
    readCredential: async () => credential,
    writeCredential: async (files) => {
      credential = { ...files };
    },
    remove: async () => {
      state = undefined;
      credential = {};
    },
  };
}
