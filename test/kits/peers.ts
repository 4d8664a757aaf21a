import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe } from "vitest";
import { reportSkip, type SkipNeed } from "./report-skip.ts";

/** Programs of others that tests run against ours; `peers/provision` fetches them. */
export type PeerProgram =
  | "kubectl"
  | "kubeadm"
  | "kubelet"
  | "kube-apiserver"
  | "kube-controller-manager"
  | "etcd"
  | "kload"
  | CurrentProgram
  | DebianPackage;

/** Programs of Kubernetes 1.36.3, which lie beside those of 1.20.2. */
export type CurrentProgram =
  | "../current/bin/kube-apiserver"
  | "../current/bin/kube-controller-manager"
  | "../current/bin/kubeadm";

/** What Debian's packages add to its Python. */
type DebianPackage = "python3-kubernetes" | "python3-cryptography";

/** A file of each package, since a Python of another origin would not find it. */
const debianFiles: Readonly<Record<DebianPackage, string>> = {
  "python3-kubernetes": "/usr/lib/python3/dist-packages/kubernetes/__init__.py",
  "python3-cryptography": "/usr/lib/python3/dist-packages/cryptography/__init__.py",
};

function isDebianPackage(name: PeerProgram): name is DebianPackage {
  return Object.hasOwn(debianFiles, name);
}

/** Where such programs are looked for: `$PEERS_DIR/bin`, or `~/.cache/pratique-peers/bin`. */
export function peerFolder(): string {
  const given = process.env["PEERS_DIR"] ?? "";
  return join(given === "" ? join(homedir(), ".cache", "pratique-peers") : given, "bin");
}

/** The path of a program, or undefined where it is absent; that of a package for Python is its interpreter. */
export function peerProgram(name: PeerProgram): string | undefined {
  if (isDebianPackage(name)) return existsSync(debianFiles[name]) ? "/usr/bin/python3" : undefined;
  const path = join(peerFolder(), name);
  return existsSync(path) ? path : undefined;
}

/** The path of a program that is known to be there. */
export function requirePeer(name: PeerProgram): string {
  const path = peerProgram(name);
  if (path === undefined) throw new TypeError(`${name} is not in ${peerFolder()}; use peerSuite`);
  return path;
}

/** A group of tests that need programs; where one is absent the whole group is skipped with one line. */
export function peerSuite(needs: PeerProgram | readonly PeerProgram[], title: string, body: () => void): void {
  const run = present(needs, title) ? describe : describe.skip;
  run(title, body);
}

/** Whether all are there; reports the first that is not. */
function present(needs: PeerProgram | readonly PeerProgram[], title: string): boolean {
  const missing = (typeof needs === "string" ? [needs] : needs).find((name) => peerProgram(name) === undefined);
  if (missing !== undefined) reportSkip(title, whereToGet(missing), needOf(missing));
  return missing === undefined;
}

/** What a machine lacks that has no such program. */
export function needOf(program: PeerProgram): SkipNeed {
  if (isDebianPackage(program)) return "debian";
  return program.startsWith("../current/") ? "kubernetes-current" : "kubernetes";
}

function whereToGet(program: PeerProgram): string {
  return isDebianPackage(program)
    ? `${program} is not installed; run apt-get install ${program}`
    : `${program} is not in ${peerFolder()}; run peers/provision`;
}
