/** The keys of what work agents and add-ons beside the agent read. */
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

/** Where an agent of a cluster keeps what must outlive it: its state, and the credential in a form that others read. */
export interface KlusterletStore {
  /** For messages: a folder, or a Secret. */
  readonly place: string;
  /** The state of registration, which is secret, or undefined where there is none. */
  readState(): Promise<string | undefined>;
  writeState(text: string): Promise<void>;
  /** Those keys that are there. */
  readCredential(): Promise<Partial<CredentialFiles>>;
  /** Replaces all keys at one stroke. */
  writeCredential(files: CredentialFiles): Promise<void>;
  /** Removes both; what is not there is no failure. */
  remove(): Promise<void>;
}

/** A store whose credential is also laid out in a second place. */
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

/** Whether all keys are there. */
export function isComplete(files: Partial<CredentialFiles>): files is CredentialFiles {
  return credentialKeys.every((key) => files[key] !== undefined);
}
