import { accessFolder } from "./access-folder.ts";
import { readAgentState } from "./agent-state.ts";
import { certificateFolder } from "./certificate-folder.ts";
import type { FoundCredential } from "./find-credentials.ts";
import { JoinError } from "./join-error.ts";
import type { KeepAcceptanceOptions } from "./keep-acceptance.ts";
import { keptAccess } from "./kept-access.ts";
import { readKeptCertificate } from "./kept-certificate.ts";
import { nodeHubAddress } from "./node-hub.ts";
import type { FileAccess, PrivateFiles } from "./private-files.ts";

/** With what a machine shows itself, and where it is written down that the hub refuses it. Others may read that as `access` says. */
export function checkFiles(
  found: FoundCredential,
  files: PrivateFiles,
  access: FileAccess | undefined,
): Pick<KeepAcceptanceOptions, "name" | "read" | "file"> {
  return found.kind === "token" ? tokenFiles(found.dir, files, access) : nodeFiles(found, files, access);
}

function tokenFiles(
  dir: string,
  files: PrivateFiles,
  access: FileAccess | undefined,
): Pick<KeepAcceptanceOptions, "name" | "read" | "file"> {
  const folder = accessFolder(dir, undefined, files);
  return {
    name: { kind: "token", path: folder.token },
    read: async () => {
      const { server, caPem, token, claims } = await keptAccess(folder);
      const { aheadMs = 0 } = (await readAgentState(folder)) ?? {};
      return { server, caPem, credentials: { token }, notAfter: claims.expiresAt + aheadMs };
    },
    file: {
      text: () => folder.text(folder.refusals),
      write: (content) => folder.write(folder.refusals, content, access),
      remove: () => folder.remove(folder.refusals),
    },
  };
}

function nodeFiles(
  { certDir, kubeconfig }: Extract<FoundCredential, { readonly kind: "node" }>,
  files: PrivateFiles,
  access: FileAccess | undefined,
): Pick<KeepAcceptanceOptions, "name" | "read" | "file"> {
  const folder = certificateFolder({ certDir, prefix: "kubelet-client" }, files, access);
  const { current, refusals, text } = folder;
  return {
    name: { kind: "client-certificate", path: current },
    read: async () => {
      const address = await nodeHubAddress({ kubeconfig, text });
      const kept = readKeptCertificate((await text(current)) ?? "");
      if (kept === undefined) {
        throw new JoinError("no-access", `${current} holds no certificate with its key: join anew with pratique join`);
      }
      const { certificatesPem: clientCertPem, keyPem: clientKeyPem, notAfter } = kept;
      return { ...address, credentials: { clientCertPem, clientKeyPem }, notAfter };
    },
    file: {
      text: () => text(refusals),
      write: (content) => folder.writeShared(refusals, content),
      remove: () => folder.remove(refusals),
    },
  };
}
