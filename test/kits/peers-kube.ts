import { createHash, X509Certificate, randomInt } from "node:crypto";
import { rmSync } from "node:fs";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { kubectlRunner, type Kubectl } from "./kubectl.ts";
import { requirePeer, type PeerProgram } from "./peers.ts";
import { eventually, goFlags, spawnProcess, withoutNoise, type PeerProcess } from "./peers-process.ts";

/** A real control plane, as kubeadm sets one up for joining; nothing runs on it. */
export interface Kubernetes {
  readonly url: string;
  /** `host:port`. */
  readonly endpoint: string;
  /** A bootstrap token that it knows. */
  readonly token: string;
  /** PEM of its CA, and the CA's pin. */
  readonly ca: string;
  readonly pin: string;
  readonly kubeconfig: string;
  /** A folder for the test's own files. */
  readonly dir: string;
  readonly kubectl: Kubectl;
  /** Starts one more kube-apiserver on the same objects, with other flags, and waits until it is ready. */
  readonly another: (flags: Parameters<typeof goFlags>[0]) => Promise<Pick<Kubernetes, "url" | "ca" | "kubeconfig">>;
  /** What its programs have printed. */
  readonly printed: () => string;
  stop(): Promise<void>;
}

export type Release = "1.20" | "current";

/** The programs of a release, and the flags that it does not have any more. */
const releases: Readonly<
  Record<Release, { readonly server: PeerProgram; readonly manager: PeerProgram; readonly without: readonly string[] }>
> = {
  "1.20": { server: "kube-apiserver", manager: "kube-controller-manager", without: [] },
  current: {
    server: "../current/bin/kube-apiserver",
    manager: "../current/bin/kube-controller-manager",
    without: ["insecure-port", "port"],
  },
};

/** Which release the tests run against that are of no one release: 1.20.2, or 1.36.3 with `KUBE_RELEASE=current`. */
export const anyRelease: Release = process.env["KUBE_RELEASE"] === "current" ? "current" : "1.20";

/** What a control plane is made of. */
export const kubePrograms: readonly PeerProgram[] = [
  "etcd",
  releases[anyRelease].server,
  releases[anyRelease].manager,
  "kubeadm",
  "kubectl",
];

const token = "abcdef.0123456789abcdef";
const deadlineMs = 900_000;
/** Several start at once, on a machine that has other things to do. */
const readySeconds = 150;

/**
 * Starts etcd, kube-apiserver and kube-controller-manager on free ports; `stop` ends them and removes what they left. All controllers
 * run unless `controllers` names those that shall; `manager` and `api` hold more flags of kube-controller-manager and kube-apiserver.
 * `current` is 1.36.3; without a release it is that of `KUBE_RELEASE`.
 */
export function startKubernetes(
  controllers = "*,bootstrapsigner,tokencleaner",
  manager: Parameters<typeof goFlags>[0] = {},
  api: Parameters<typeof goFlags>[0] = {},
  release: Release = anyRelease,
): Promise<Kubernetes> {
  return onFreePorts(() => startOnce(controllers, manager, api, release));
}

/** A program ended because another program listens on its port, which was free when it was chosen. */
export class PortTakenError extends Error {}

const maxStarts = 4;

/** Starts again where a port was taken, since each start chooses its ports anew. @throws what the last start threw, or any other error at once */
export async function onFreePorts<T>(start: () => Promise<T>): Promise<T> {
  for (let starts = 1; ; starts += 1) {
    try {
      return await start();
    } catch (error) {
      if (!(error instanceof PortTakenError) || starts === maxStarts) throw error;
    }
  }
}

async function startOnce(
  controllers: string,
  manager: Parameters<typeof goFlags>[0],
  api: Parameters<typeof goFlags>[0],
  release: Release,
): Promise<Kubernetes> {
  const { server: serverProgram, manager: managerProgram, without } = releases[release];
  const dir = await mkdtemp(join(tmpdir(), "pratique-kube-"));
  const running: PeerProcess[] = [];
  const printed = (): string => running.map((one) => `--- ${one.command}\n${one.printed()}`).join("\n");
  const stop = async (): Promise<void> => {
    for (const one of running.toReversed()) await one.stop();
    await rm(dir, { recursive: true, force: true });
  };
  const start = (program: PeerProgram, flags: Parameters<typeof goFlags>[0]): PeerProcess => {
    const known = Object.fromEntries(Object.entries(flags).filter(([flag]) => !without.includes(flag)));
    const started = spawnProcess(requirePeer(program), goFlags(known), { home: dir, deadlineMs });
    running.push(started);
    return started;
  };
  try {
    const ports = await freePorts();
    await prepare(dir, ports.api);
    const etcd = start("etcd", etcdFlags(ports));
    const kubeconfig = join(dir, "admin.conf");
    const kubectl = kubectlRunner({ home: dir, kubeconfig });
    const startServer = async (port: number, flags: Parameters<typeof goFlags>[0]): Promise<string> => {
      const url = `https://127.0.0.1:${port}`;
      const server = start(serverProgram, { ...apiFlags(dir, { ...ports, api: port }), ...flags });
      await ready(url, await readFile(kubeconfig, "utf8"), [etcd, server]);
      return url;
    };
    await startServer(ports.api, api);
    const another: Kubernetes["another"] = async (flags) => {
      const url = await onFreePorts(async () => startServer(await freePort(), flags));
      return { url, ca: await readFile(join(dir, "pki", "ca.crt"), "utf8"), kubeconfig };
    };
    start(managerProgram, { ...managerFlags(dir, ports.manager), ...manager, controllers });
    await kubeadm(dir, "bootstrap-token", "--skip-token-print", "--kubeconfig", kubeconfig);
    const ca = await readFile(join(dir, "pki", "ca.crt"), "utf8");
    const endpoint = `127.0.0.1:${ports.api}`;
    const [url, pin] = [`https://${endpoint}`, pinOf(ca)];
    return { url, endpoint, token, ca, pin, kubeconfig, dir, kubectl, another, printed, stop };
  } catch (error) {
    process.stderr.write(`${printed()}\n`);
    await stop();
    throw error;
  }
}

function pinOf(ca: string): string {
  const spki = new X509Certificate(ca).publicKey.export({ type: "spki", format: "der" });
  return `sha256:${createHash("sha256").update(spki).digest("hex")}`;
}

interface Ports {
  readonly api: number;
  readonly etcd: number;
  readonly etcdPeers: number;
  readonly manager: number;
}

/** Certificates and kubeconfigs: those of the first control plane of this worker, with other ports. */
async function prepare(dir: string, port: number): Promise<void> {
  certificates ??= makeCertificates();
  await cp(await certificates, dir, { recursive: true });
  for (const name of ["kubeadm.yaml", "admin.conf", "controller-manager.conf"]) {
    const path = join(dir, name);
    const text = await readFile(path, "utf8");
    const here = text.replaceAll(new RegExp(`(?<=[: ])${anyPort}\\b`, "g"), String(port)).replaceAll(anyFolder, dir);
    await writeFile(path, here, { mode: 0o600 });
  }
}

let certificates: Promise<string> | undefined;
const [anyPort, anyFolder] = ["65321", "/dir-of-the-control-plane"];

/** Has kubeadm make all of them once; a year passes until they expire. */
async function makeCertificates(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "pratique-kube-certificates-"));
  process.once("exit", () => rmSync(dir, { recursive: true, force: true }));
  const config = (folder: string): string => `apiVersion: kubeadm.k8s.io/v1beta2
kind: InitConfiguration
localAPIEndpoint: { advertiseAddress: 10.0.0.1, bindPort: ${anyPort} }
bootstrapTokens: [{ token: ${token} }]
---
apiVersion: kubeadm.k8s.io/v1beta2
kind: ClusterConfiguration
kubernetesVersion: v1.20.2
certificatesDir: ${join(folder, "pki")}
controlPlaneEndpoint: 127.0.0.1:${anyPort}
apiServer: { certSANs: [127.0.0.1] }
`;
  await writeFile(join(dir, "kubeadm.yaml"), config(dir));
  await kubeadm(dir, "certs", "all");
  for (const name of ["admin", "controller-manager"]) {
    await kubeadm(dir, "kubeconfig", name, "--kubeconfig-dir", dir);
    // kubeadm writes the advertised address into that of the controller manager.
    const path = join(dir, `${name}.conf`);
    const text = await readFile(path, "utf8");
    await writeFile(path, text.replace(/https:\/\/[^\s]+/, `https://127.0.0.1:${anyPort}`), { mode: 0o600 });
  }
  await writeFile(join(dir, "kubeadm.yaml"), config(anyFolder));
  return dir;
}

async function kubeadm(dir: string, ...phase: readonly string[]): Promise<void> {
  const args = ["init", "phase", ...phase, "--config", join(dir, "kubeadm.yaml")];
  const { code, printed } = await spawnProcess(requirePeer("kubeadm"), args, { home: dir }).done;
  if (code !== 0) throw new Error(`kubeadm init phase ${phase.join(" ")} ended with ${code}: ${printed}`);
}

/** @throws Error with the last lines that a program printed which ends before kube-apiserver is ready; PortTakenError where its port was taken */
async function ready(url: string, kubeconfig: string, needed: readonly PeerProcess[]): Promise<void> {
  let ended: PeerProcess | undefined;
  for (const one of needed) void one.done.then(() => (ended ??= one));
  const probe = async (): Promise<PeerProcess | "ready" | undefined> =>
    ended ?? ((await isReady(url, kubeconfig)) ? "ready" : undefined);
  const answer = await eventually("the API server to be ready", probe, readySeconds);
  if (answer === "ready") return;
  const { code, printed } = await answer.done;
  const last = withoutNoise(printed).trimEnd().split("\n").slice(-20);
  const message = `${answer.command} ended with ${code} before kube-apiserver was ready:\n${last.join("\n")}`;
  throw printed.includes("address already in use") ? new PortTakenError(message) : new Error(message);
}

/** Whether all checks of a server pass, for the administrator of a kubeconfig; kubectl would take a fifth of a second for each answer. */
function isReady(url: string, kubeconfig: string): Promise<boolean> {
  const data = (key: string): Buffer => Buffer.from(new RegExp(`${key}: (\\S+)`).exec(kubeconfig)?.[1] ?? "", "base64");
  const [ca, cert, key] = ["certificate-authority-data", "client-certificate-data", "client-key-data"].map(data);
  return new Promise((resolve, reject) => {
    request(`${url}/readyz`, { ca, cert, key, agent: false, timeout: 5000 }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    })
      .once("timeout", function (this: { destroy(error: Error): void }) {
        this.destroy(new Error("no answer from /readyz for five seconds"));
      })
      .once("error", reject)
      .end();
  });
}

function etcdFlags({ etcd, etcdPeers }: Ports): Parameters<typeof goFlags>[0] {
  const [clients, peers] = [`http://127.0.0.1:${etcd}`, `http://127.0.0.1:${etcdPeers}`];
  return {
    "data-dir": "etcd",
    "listen-client-urls": clients,
    "advertise-client-urls": clients,
    "listen-peer-urls": peers,
    "initial-advertise-peer-urls": peers,
    "initial-cluster": `default=${peers}`,
    "unsafe-no-fsync": true,
    "log-level": "error",
  };
}

function apiFlags(dir: string, { api, etcd }: Ports): Parameters<typeof goFlags>[0] {
  const pki = join(dir, "pki");
  return {
    "advertise-address": "10.0.0.1",
    "bind-address": "127.0.0.1",
    "secure-port": api,
    "insecure-port": 0,
    "etcd-servers": `http://127.0.0.1:${etcd}`,
    "client-ca-file": join(pki, "ca.crt"),
    "tls-cert-file": join(pki, "apiserver.crt"),
    "tls-private-key-file": join(pki, "apiserver.key"),
    "service-account-issuer": "https://kubernetes.default.svc",
    "service-account-key-file": join(pki, "sa.pub"),
    "service-account-signing-key-file": join(pki, "sa.key"),
    "authorization-mode": "Node,RBAC",
    "enable-bootstrap-token-auth": true,
    "enable-admission-plugins": "NodeRestriction",
    "service-cluster-ip-range": "10.96.0.0/16",
  };
}

function managerFlags(dir: string, port: number): Parameters<typeof goFlags>[0] {
  const kubeconfig = join(dir, "controller-manager.conf");
  return {
    kubeconfig,
    "authentication-kubeconfig": kubeconfig,
    "authorization-kubeconfig": kubeconfig,
    "cluster-signing-cert-file": join(dir, "pki", "ca.crt"),
    "cluster-signing-key-file": join(dir, "pki", "ca.key"),
    "root-ca-file": join(dir, "pki", "ca.crt"),
    "service-account-private-key-file": join(dir, "pki", "sa.key"),
    "use-service-account-credentials": true,
    "leader-elect": false,
    "bind-address": "127.0.0.1",
    "secure-port": port,
    port: 0,
  };
}

/** Below what the system gives to those who ask for any port: a test beside this one could be given one between the choice and its use. */
const lowestPort = 20_000;
const portRange = 12_000;

async function freePorts(): Promise<Ports> {
  const [api, etcd, etcdPeers, manager] = [await freePort(), await freePort(), await freePort(), await freePort()];
  return { api, etcd, etcdPeers, manager };
}

/** A port of this machine that nobody listens on. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    const port = lowestPort + randomInt(portRange);
    if (await isFree(port)) return port;
  }
  throw new Error("no free port");
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
