import { join } from "node:path";
import { systemErrorText } from "../core/system-error.ts";
import { accessFolder } from "./access-folder.ts";
import type { FoundCredential } from "./find-credentials.ts";
import { JoinError } from "./join-error.ts";
import type { TrustFiles } from "./keep-trust.ts";
import { keptAccess } from "./kept-access.ts";
import { readKeptCertificate } from "./kept-certificate.ts";
import { nodeHubAddress } from "./node-hub.ts";
import type { PrivateFiles } from "./private-files.ts";

/** Holds no secret. */
const toldFile = "hub-address.json";

/** The trust in a folder that `pratique request` has left. */
export function tokenTrust(dir: string, files: PrivateFiles): TrustFiles {
  const folder = accessFolder(dir, undefined, files);
  const { ca, kubeconfig, text } = folder;
  return {
    ca,
    kubeconfig,
    told: join(dir, toldFile),
    text,
    write: (path, content) => folder.write(path, content),
    read: async () => {
      const { token, claims: _claims, ...address } = await keptAccess(folder);
      return { ...address, credentials: { token } };
    },
  };
}

/** The trust in what `pratique join` has left. */
export function nodeTrust(
  { certDir, kubeconfig }: Pick<Extract<FoundCredential, { readonly kind: "node" }>, "certDir" | "kubeconfig">,
  files: PrivateFiles,
): TrustFiles {
  const text = (path: string): Promise<string | undefined> => files.textIfThere(path);
  const current = join(certDir, "kubelet-client-current.pem");
  const ca = join(certDir, "ca.crt");
  return {
    ca,
    kubeconfig,
    told: join(certDir, toldFile),
    text,
    write: async (path, content) => {
      try {
        // As joining wrote it: other programs read the CA, and nobody else the kubeconfig.
        await files.replaceFile(path, content, path === ca ? 0o644 : 0o600);
      } catch (error) {
        throw new JoinError("write-failed", systemErrorText(error, { operation: "write", at: path }), { cause: error });
      }
    },
    read: async () => {
      const address = await nodeHubAddress({ kubeconfig, text });
      const found = readKeptCertificate((await text(current)) ?? "");
      if (found === undefined) {
        throw new JoinError("no-access", `${current} holds no certificate with its key: join anew with pratique join`);
      }
      return { ...address, credentials: { clientCertPem: found.certificatesPem, clientKeyPem: found.keyPem } };
    },
  };
}
