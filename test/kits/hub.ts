import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startHub, type Hub } from "../../src/server/hub.ts";
import type { LogEntry } from "../../src/apimachinery/log-entry.ts";
import type { HubOptions } from "../../src/server/hub-options.ts";
import { bootstrapKubeconfig } from "../../src/client/build-kubeconfig.ts";
import { kubectlRunner, type Kubectl } from "./kubectl.ts";

/** A hub inside the test process, on a free port, with a data directory of its own. */
export interface TestHub {
  readonly hub: Hub;
  readonly url: string;
  readonly port: number;
  /** PEM of the hub's CA. */
  readonly ca: string;
  /** Path of the admin's kubeconfig. */
  readonly kubeconfig: string;
  /** A folder for the test's own files; removed at the end. */
  readonly dir: string;
  readonly dataDir: string;
  /** What the hub has logged so far. */
  readonly log: readonly LogEntry[];
  /** Runs kubectl as the admin, with a home and a cache of its own. */
  readonly kubectl: Kubectl;
  /** The bearer token of a user named in `users`. */
  token(user: string): string;
  /** A kubeconfig that holds nothing but a bearer token; the user's own, or `token` when given. */
  kubeconfigOf(user: string, token?: string): Promise<string>;
  /** Stops the hub; what it has written is removed, unless it is to be kept. */
  close(files?: "remove" | "keep"): Promise<void>;
}

export interface TestHubOptions extends Partial<Omit<HubOptions, "dataDir" | "log">> {
  /** The folder of an earlier hub that was closed with `keep`: the new one goes on with its data. */
  readonly dir?: string;
  /** Users of a token file, with their groups. */
  readonly users?: Readonly<Record<string, readonly string[]>>;
}

/** Starts a hub; `close` stops it and removes everything. */
export async function startTestHub({ users = {}, dir: given, ...options }: TestHubOptions = {}): Promise<TestHub> {
  const dir = given ?? (await mkdtemp(join(tmpdir(), "pratique-hub-")));
  const dataDir = join(dir, "data");
  const log: LogEntry[] = [];
  const token = (user: string): string => `${user}-token-6f1c2a`;
  const tokenFile = join(dir, "tokens.csv");
  await writeFile(
    tokenFile,
    Object.entries(users)
      .map(([user, groups]) => `${token(user)},${user},uid-${user},"${groups.join(",")}"\n`)
      .join(""),
    { mode: 0o600 },
  );
  const hub = await startHub({
    bindAddress: "127.0.0.1",
    securePort: 0,
    tlsSans: [],
    authorizationModes: ["Node", "RBAC"],
    anonymousAuth: true,
    tokenAuthFile: tokenFile,
    clusterSigningDurationSeconds: 365 * 24 * 3600,
    nodeAutoapprove: true,
    maxRequestsInflight: 400,
    release: "0.0.0-test",
    ...options,
    dataDir,
    log: (entry) => void log.push(entry),
  });
  const ca = readFileSync(join(dataDir, "pki", "ca.crt"), "utf8");
  return {
    hub,
    url: hub.url,
    port: Number(new URL(hub.url).port),
    ca,
    kubeconfig: hub.adminKubeconfig,
    dir,
    dataDir,
    log,
    kubectl: kubectlRunner({ home: join(dir, "home"), kubeconfig: hub.adminKubeconfig }),
    token,
    kubeconfigOf: async (user, given = token(user)) => {
      const path = join(dir, `${user}.kubeconfig`);
      await writeFile(path, bootstrapKubeconfig({ server: hub.url, ca: { pem: ca }, token: given }), { mode: 0o600 });
      return path;
    },
    close: async (files = "remove") => {
      await hub.close();
      if (files === "remove") await rm(dir, { recursive: true, force: true });
    },
  };
}
