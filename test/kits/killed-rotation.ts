import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { certificateRequests } from "../../src/credentials/request/certificate-request.ts";
import { readStoredCertificate, type StoredCertificate } from "../../src/credentials/storage/stored-certificate.ts";
import { wallClock } from "../../src/host/system-clock.ts";
import { parseKubeconfig } from "../../src/client/kubeconfig.ts";
import { remoteClient, type RemoteClient } from "../../src/client/remote.ts";
import { resolveKubeconfig } from "../../src/client/resolve-kubeconfig.ts";
import { programRun } from "./program-run.ts";
import { stepwiseProgram } from "../crash/stepwise-program.ts";

/** A cluster whose certificates live for an hour. */
export interface HourlyCluster {
  readonly url: string;
  readonly ca: string;
  /** That of an administrator. */
  readonly kubeconfig: string;
  readonly token: string;
  readonly pin: string;
  /** A folder for the machine's files. */
  readonly dir: string;
}

/** A certificate of an hour is due by then, and the next one is good still; some releases take the five minutes before from its end. */
const aheadMs = 50 * 60_000;

/** The steps of a rotation, each of which was tried. */
export interface KilledRotations {
  readonly steps: readonly string[];
}

/**
 * Joins a node and kills its agent at every step of a rotation, one after another; after each the credential must work as it lies there,
 * and the next agent must finish what was begun with no request beyond those that became certificates.
 */
export async function killAtEveryStep(cluster: HourlyCluster, node: string): Promise<KilledRotations> {
  const program = await stepwiseProgram();
  const admin = await clientOf(cluster.kubeconfig);
  const dir = join(cluster.dir, node);
  const pki = join(dir, "pki");
  const once = ["agent", "--dir", dir, "--once"];
  const requestsOnHub = async (): Promise<number> => (await admin.list(certificateRequests)).items.length;
  const finish = async (when: string): Promise<void> => {
    // In this process, since nothing is killed: starting another takes longer than the rotation.
    const run = programRun(once, aheadMs);
    expect([when, await run.done, run.err()]).toEqual([when, 0, expect.any(String)]);
  };
  try {
    const places = ["--cert-dir", pki, "--kubeconfig", join(dir, "kubelet.conf"), "--node-name", node];
    const found = ["--token", cluster.token, "--discovery-token-ca-cert-hash", cluster.pin];
    const joined = await program.run(["join", cluster.url, ...found, ...places]);
    expect([joined.code, joined.printed]).toEqual([0, expect.any(String)]);
    for (let fatal = 1; ; fatal += 1) {
      // A certificate that the agent knows to be fresh is not rotated; one of which it knows nothing else is, when its time has come.
      await rm(join(pki, "kubelet-client.agent.json"), { force: true });
      const [before, asked] = [await inUse(pki), await requestsOnHub()];
      const end = await program.run(once, { fatal, aheadMs });
      const when = `killed at step ${fatal}: ${end.steps.at(-1)}`;
      if (!end.killed) {
        expect([end.code, end.printed]).toEqual([0, expect.any(String)]);
        return { steps: end.steps };
      }
      const left = await inUse(pki);
      expect([when, await works(left, cluster)]).toEqual([when, `system:node:${node}`]);
      await finish(when);
      const after = await inUse(pki);
      expect([when, await works(after, cluster)]).toEqual([when, `system:node:${node}`]);
      const rotations = Number(left.serial !== before.serial) + Number(after.serial !== left.serial);
      expect([when, rotations >= 1, (await requestsOnHub()) - asked]).toEqual([when, true, rotations]);
      const names = await readdir(pki);
      expect([when, names.filter((name) => name.endsWith(".next.key"))]).toEqual([when, []]);
      expect([when, names.filter((name) => /^kubelet-client-\d/.test(name)).length <= 2]).toEqual([when, true]);
    }
  } finally {
    admin.close();
    await program.remove();
  }
}

async function inUse(pki: string): Promise<StoredCertificate> {
  const kept = readStoredCertificate(await readFile(join(pki, "kubelet-client-current.pem"), "utf8"));
  if (kept === undefined) throw new TypeError("there is no certificate with its key");
  return kept;
}

/** Who the owner of a certificate is, to the cluster. */
async function works(
  { certificatesPem: clientCertPem, keyPem: clientKeyPem, commonName }: StoredCertificate,
  { url: server, ca: caPem }: HourlyCluster,
): Promise<string> {
  const common = { userAgent: "test", timeoutMs: 50_000, clock: wallClock };
  const client = remoteClient({ server, caPem, clientCertPem, clientKeyPem, ...common });
  try {
    // Only a node may list these, and not every release has a review of oneself.
    const { status } = await client.raw("GET", "/apis/certificates.k8s.io/v1/certificatesigningrequests?limit=1");
    return status === 200 ? commonName : `refused with ${status}`;
  } finally {
    client.close();
  }
}

async function clientOf(path: string): Promise<RemoteClient> {
  const config = await resolveKubeconfig(parseKubeconfig(await readFile(path, "utf8"), path), {
    readFile: (file) => readFile(file),
  });
  return remoteClient({ ...config, userAgent: "test", timeoutMs: 50_000, clock: wallClock });
}
