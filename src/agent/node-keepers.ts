import type { Clock } from "../core/clock.ts";
import type { AgentReport, CredentialName } from "./agent-event.ts";
import { certificateFolder } from "./certificate-folder.ts";
import type { FoundCredential } from "./find-credentials.ts";
import type { Keeper } from "./keeper.ts";
import { certificateKeeper, type KeepCertificateOptions } from "./keep-certificate.ts";
import { nodeHub } from "./node-hub.ts";
import type { FileAccess, PrivateFiles } from "./private-files.ts";
import { servingNamesOf, type MachineAddresses } from "./serving-names.ts";

/** How the certificates of a node are kept. */
export interface NodeKeeperOptions {
  readonly once: boolean;
  readonly clock: Clock;
  /** Yields [0, 1). */
  readonly fraction: () => number;
  readonly userAgent: string;
  readonly report: AgentReport;
  readonly files: PrivateFiles;
  readonly access: FileAccess | undefined;
  readonly addresses: MachineAddresses;
  readonly shown?: KeepCertificateOptions["shown"];
  readonly renewed?: ((name: CredentialName) => Promise<void>) | undefined;
}

/** The keepers of what `pratique join` has left: of the client certificate, and of the serving certificate where one is wanted. */
export function nodeKeepers(
  found: Extract<FoundCredential, { readonly kind: "node" }>,
  options: NodeKeeperOptions,
): readonly Keeper[] {
  const { certDir, kubeconfig, serving } = found;
  const { files, access } = options;
  const client = certificateFolder({ certDir, prefix: "kubelet-client" }, files, access);
  const hub = nodeHub({ ...options, kubeconfig, current: client.current, text: client.text });
  const keepers = [certificateKeeper({ ...options, kind: "client-certificate", folder: client, hub })];
  if (serving === undefined) return keepers;
  const folder = certificateFolder({ certDir, prefix: "kubelet-server" }, files, access);
  const servingNames = servingNamesOf(serving, options.addresses);
  return [...keepers, certificateKeeper({ ...options, kind: "serving-certificate", folder, hub, servingNames })];
}
