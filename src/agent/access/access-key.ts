import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { SshKeyError, sshPublicKeyOf, type SshPublicKey } from "../../pki/ssh-public-key.ts";
import { exportPkcs8Pem } from "../../pki/keys.ts";
import type { AccessFolder } from "../../credentials/storage/access-folder.ts";
import { JoinError } from "../../credentials/join-error.ts";

/** The key that signs a machine's request, and to which the answer is sealed. */
export interface AccessKey {
  readonly key: KeyObject;
  readonly public: SshPublicKey;
  /** It existed already. */
  readonly reused: boolean;
}

/**
 * The key of the folder, generated there if there is none: Ed25519. A key of the operator's own must exist already: in PEM, not
 * encrypted, RSA of at least 2048 bits, EC P-256 or Ed25519. @throws JoinError bad-key, write-failed
 */
export async function accessKey(
  folder: AccessFolder,
  options: { readonly isOwn: boolean; readonly comment: string },
): Promise<AccessKey> {
  const text = await folder.text(folder.key);
  if (text !== undefined) return { ...loaded(text, folder.key, options.comment), reused: true };
  if (options.isOwn) throw new JoinError("bad-key", `--key: there is no key at ${folder.key}: check the path`);
  const { privateKey: key } = generateKeyPairSync("ed25519");
  await folder.write(folder.key, exportPkcs8Pem(key));
  return { key, public: sshPublicKeyOf(key, options.comment), reused: false };
}

function loaded(text: string, path: string, comment: string): Omit<AccessKey, "reused"> {
  try {
    const key = createPrivateKey(text);
    return { key, public: sshPublicKeyOf(key, comment) };
  } catch (error) {
    const why =
      error instanceof SshKeyError
        ? error.message
        : "it is no unencrypted private key in PEM; ssh-keygen -p -m PEM rewrites one of OpenSSH's own form";
    throw new JoinError("bad-key", `the key at ${path} cannot be used: ${why}`, { cause: error });
  }
}
