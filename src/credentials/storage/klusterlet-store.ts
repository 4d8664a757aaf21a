/** The keys that work agents and add-ons read. */
export type CredentialKey = "kubeconfig" | "tls.crt" | "tls.key" | "cluster-name" | "agent-name";

export const credentialKeys: readonly CredentialKey[] = [
  "kubeconfig",
  "tls.crt",
  "tls.key",
  "cluster-name",
  "agent-name",
];

/** The credential for a hub, by its keys. The texts are secret. */
export type CredentialFiles = Readonly<Record<CredentialKey, string>>;

/** The persistent data of a cluster's agent: its state, and the credential in a form that other programs read. */
export interface KlusterletStore {
  /** For messages: a folder, or a Secret. */
  readonly place: string;
  /** The secret state of registration, or undefined where there is none. */
  readState(): Promise<string | undefined>;
  writeState(text: string): Promise<void>;
  /** The keys that exist. */
  readCredential(): Promise<Partial<CredentialFiles>>;
  /** Replaces all keys atomically. */
  writeCredential(files: CredentialFiles): Promise<void>;
  /** Removes both; a missing one is no failure. */
  remove(): Promise<void>;
}

/** A store that also writes its credential to a second place. */
export function mirroredStore(store: KlusterletStore, mirror: KlusterletStore): KlusterletStore {
  return {
    ...store,
    readCredential: async () => {
      const files = await store.readCredential();
      if (isComplete(files)) await mirror.writeCredential(files);
      return files;
    },
    writeCredential: async (files) => {
      await store.writeCredential(files);
      await mirror.writeCredential(files);
    },
    remove: async () => {
      await store.remove();
      await mirror.remove();
    },
  };
}

/** Whether all keys exist. */
export function isComplete(files: Partial<CredentialFiles>): files is CredentialFiles {
  return credentialKeys.every((key) => files[key] !== undefined);
}
