import type { AgentWorld } from "../../credentials/credential-event.ts";
import { certificateFolder } from "../../credentials/storage/certificate-folder.ts";
import type { FoundCredential } from "./find-credentials.ts";
import type { Manager } from "../../credentials/run-managers.ts";
import { certificateManager, type CertificateManagerOptions } from "../../credentials/certificate-manager.ts";
import { nodeHub } from "../../credentials/node-client.ts";
import type { FileAccess, PrivateFiles } from "../../host/private-files.ts";
import { servingNamesOf, type MachineAddresses } from "./serving-names.ts";

/** The parameters of a node's certificate managers. */
export interface NodeManagerOptions extends AgentWorld, Pick<CertificateManagerOptions, "shown" | "renewed"> {
  readonly files: PrivateFiles;
  readonly access: FileAccess | undefined;
  readonly addresses: MachineAddresses;
}

/** The managers for the files of `pratique join`: of the client certificate, and of the serving certificate where one is wanted. */
export function nodeManagers(
  found: Extract<FoundCredential, { readonly kind: "node" }>,
  options: NodeManagerOptions,
): readonly Manager[] {
  const { certDir, kubeconfig, serving } = found;
  const { files, access } = options;
  const client = certificateFolder({ certDir, prefix: "kubelet-client" }, files, access);
  const hub = nodeHub({ ...options, kubeconfig, current: client.current, text: client.text });
  const managers = [certificateManager({ ...options, kind: "client-certificate", folder: client, hub })];
  if (serving === undefined) return managers;
  const folder = certificateFolder({ certDir, prefix: "kubelet-server" }, files, access);
  const servingNames = servingNamesOf(serving, options.addresses);
  return [...managers, certificateManager({ ...options, kind: "serving-certificate", folder, hub, servingNames })];
}
