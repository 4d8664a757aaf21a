import { X509Certificate, createPrivateKey } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { bootstrapKubeconfig } from "../../src/client/build-kubeconfig.ts";
import { eventually, goFlags, startPeer, type PeerProcess } from "./peers-process.ts";

/** A machine on which a real kubelet runs, as far as it goes without a container runtime: through its TLS bootstrap. */
export interface Machine {
  readonly node: string;
  readonly dir: string;
  readonly kubeconfig: string;
  readonly certDir: string;
  /** `kubelet-client-current.pem`. */
  readonly credential: string;
  /** Starts the kubelet, with more flags when given. */
  start(...flags: readonly string[]): PeerProcess;
  /** The credential of a kubelet that runs, once it has it. */
  credentialOf(kubelet: PeerProcess): Promise<NodeCredential>;
  /** The credential that is there now. */
  credentialNow(): Promise<NodeCredential>;
}

export interface NodeCredential {
  readonly certificate: X509Certificate;
  /** Certificate and key in the file belong together. */
  readonly keyFits: boolean;
}

export interface MachineOptions {
  readonly node: string;
  readonly server: string;
  readonly ca: string;
  readonly token: string;
  /** Where its folder is made. */
  readonly within: string;
}

/** A machine with a bootstrap kubeconfig and nothing else. */
export function machine({ node, server, ca, token, within }: MachineOptions): Machine {
  const dir = mkdtempSync(join(within, `${node}-`));
  const certDir = join(dir, "pki");
  const rootDir = join(dir, "root");
  for (const folder of [certDir, rootDir]) mkdirSync(folder);
  const bootstrap = join(dir, "bootstrap-kubelet.conf");
  writeFileSync(bootstrap, bootstrapKubeconfig({ server, ca: { pem: ca }, token }), { mode: 0o600 });
  const kubeconfig = join(dir, "kubelet.conf");
  const credential = join(certDir, "kubelet-client-current.pem");
  const flags = goFlags({
    "bootstrap-kubeconfig": bootstrap,
    kubeconfig,
    "cert-dir": certDir,
    "root-dir": rootDir,
    "hostname-override": node,
    "container-runtime": "remote",
    "container-runtime-endpoint": "unix:///nonexistent.sock",
    "fail-swap-on": false,
    "cgroups-per-qos": false,
    "enforce-node-allocatable": "",
    "healthz-port": 0,
    "read-only-port": 0,
    address: "127.0.0.1",
    v: 2,
  });
  return {
    node,
    dir,
    kubeconfig,
    certDir,
    credential,
    start: (...more) => startPeer("kubelet", [...flags, ...more], { home: dir }),
    credentialNow: async () => readCredential(credential),
    credentialOf: async (kubelet) => {
      let ended = false;
      void kubelet.done.then(() => (ended = true));
      await eventually(`${credential}, or the end of the kubelet`, () => ended || existsSync(credential) || undefined);
      return readCredential(credential);
    },
  };
}

async function readCredential(path: string): Promise<NodeCredential> {
  const pem = await readFile(path, "utf8");
  const certificate = new X509Certificate(pem);
  return { certificate, keyFits: certificate.checkPrivateKey(createPrivateKey(pem)) };
}
