import { join } from "node:path";
import { replaceFile } from "../host/private-files.ts";
import { rfc3339, type Clock, type RandomBytes } from "../apimachinery/clock.ts";
import { mastersGroup } from "../apimachinery/user.ts";
import type { CertificateAuthority } from "../pki/ca.ts";
import type { Validity } from "../pki/validity.ts";
import type { Authorities } from "../ca/ca-folder.ts";
import { certificateTimes, isDue, issueOwn, type KeyPair } from "../ca/hub-certificates.ts";
import { logEntry, type LogEntry } from "../apimachinery/log-entry.ts";
import { renewalCheckMs, repeat } from "../host/repeat.ts";

/** The user of that kubeconfig. Source: kubeadm. */
export const operatorName = "kubernetes-admin";

/** The operator's kubeconfig on disk. */
export interface AdminKubeconfig {
  readonly path: string;
  /** Writes it atomically, mode 0600, with a new certificate of the active CA. */
  write(): Promise<void>;
  /** Writes it again each time its certificate is due for renewal, until the hub stops. */
  keep(signal: AbortSignal): Promise<void>;
}

/** The kubeconfig `admin.kubeconfig` in the data directory: same user and groups with each certificate. */
export function adminKubeconfigFile(options: {
  readonly dataDir: string;
  readonly authorities: () => Authorities;
  readonly url: string;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly log: (entry: LogEntry) => void;
}): AdminKubeconfig {
  const { authorities, url, clock, random, log } = options;
  const path = join(options.dataDir, "admin.kubeconfig");
  let written: Validity | undefined;
  const write = async (): Promise<Validity> => {
    const { signer, bundlePem } = authorities();
    const pair = operatorPair(signer, { now: clock.now(), random });
    await replaceFile(path, kubeconfigText(pair, bundlePem, url));
    written = certificateTimes(pair.certPem);
    return written;
  };
  const renewIfDue = async (): Promise<void> => {
    if (written === undefined || !isDue(written, clock.now(), authorities().signer.notAfter)) return;
    const { notAfter } = await write();
    log(logEntry("CertificateRenewed", "the hub renewed admin.kubeconfig", { path, notAfter: rfc3339(notAfter) }));
  };
  const failed = (error: string): void =>
    log(logEntry("CertificateRenewalFailed", "the hub cannot renew admin.kubeconfig", { path, error }));
  return {
    path,
    write: async () => void (await write()),
    keep: (signal) => repeat({ clock, signal, everyMs: renewalCheckMs, work: renewIfDue, failed }),
  };
}

/** A new client certificate of group system:masters; its holder has every permission. */
function operatorPair(
  signer: CertificateAuthority,
  at: { readonly now: number; readonly random: RandomBytes },
): KeyPair {
  return issueOwn(
    signer,
    {
      commonName: operatorName,
      organizations: [mastersGroup],
      dnsNames: [],
      ipAddresses: [],
      usage: "client auth",
    },
    at,
  );
}

function kubeconfigText(pair: KeyPair, bundlePem: string, url: string): string {
  const base64 = (pem: string): string => Buffer.from(pem).toString("base64");
  return [
    "apiVersion: v1",
    "kind: Config",
    "clusters:",
    "- name: pratique",
    "  cluster:",
    `    server: ${url}`,
    `    certificate-authority-data: ${base64(bundlePem)}`,
    "users:",
    "- name: kubernetes-admin",
    "  user:",
    `    client-certificate-data: ${base64(pair.certPem)}`,
    `    client-key-data: ${base64(pair.keyPem)}`,
    "contexts:",
    "- name: kubernetes-admin@pratique",
    "  context: {cluster: pratique, user: kubernetes-admin}",
    "current-context: kubernetes-admin@pratique",
    "",
  ].join("\n");
}
