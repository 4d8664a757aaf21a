import { sameBytes } from "../pki/der.ts";
import { exportSec1Pem, loadPrivateKey, spkiOf } from "../pki/keys.ts";
import { KeyError } from "../pki/public-key.ts";
import { credentialManager } from "./credential-manager.ts";
import type { KeptName } from "./credential-event.ts";
import { JoinError } from "./join-error.ts";
import type { HeldCertificate, NodeHub } from "./node-client.ts";
import { requireAccepted } from "./proof/credential-probe.ts";
import { ownCertificate } from "./proof/issued-certificate.ts";
import { certificateSchedule, type CertificateScheduleOptions } from "./renewal/certificate-schedule.ts";
import { requestNodeCertificate, type NodeAnswer } from "./request/node-certificate.ts";
import type { Manager } from "./run-managers.ts";
import type { CertificateFolder } from "./storage/certificate-folder.ts";
import { readStoredCertificate, type StoredCertificate } from "./storage/stored-certificate.ts";

/** The parts of a node's certificate manager. */
export interface CertificateManagerOptions extends CertificateScheduleOptions {
  readonly hub: NodeHub;
}

/**
 * Renews a certificate by the rules of a kubelet: a new key each time, the node's present certificate as the identity, the old one in use
 * until the new one is complete. The manager throws JoinError no-access where files of the node are missing. @see client-go
 * util/certificate certificate_manager
 */
export function certificateManager(options: CertificateManagerOptions): Manager {
  const { kind, folder, hub, clock, servingNames } = options;
  const name: KeptName = { kind, path: folder.current };
  const schedule = certificateSchedule(options, name);
  let isFirst = true;

  return credentialManager({
    name,
    storage: {
      open: async (): Promise<HeldCertificate> => {
        const session = await hub.open();
        try {
          const current = await inUse(folder);
          if (isFirst) await finish(current, folder);
          isFirst = false;
          return { session, current, serving: servingNames?.() };
        } catch (error) {
          session.close();
          throw error;
        }
      },
      close: ({ session }) => session.close(),
      install: async (content: string) => {
        await folder.install(content, clock.now());
        await folder.remove(folder.nextKey);
        if (kind === "client-certificate") hub.moved();
      },
    },
    request: (held, signal) =>
      requestNodeCertificate(held, { ...options, name, signal, requested: schedule.requested }),
    proof: (answer, held) => proven(answer, held, clock.now()),
    schedule,
  });
}

/** Certificate and key as one text, once the certificate is the requested one and, for a client certificate, the hub accepts it. */
async function proven({ pem, key }: NodeAnswer, { session, serving }: HeldCertificate, now: number): Promise<string> {
  const { nodeName, caPem } = session;
  const certificate = ownCertificate(pem, { spki: key.spki, nodeName, caPem, now, serving });
  const keyPem = exportSec1Pem(key.key);
  if (serving === undefined)
    await requireAccepted(session.clientWith({ clientCertPem: certificate.pem, clientKeyPem: keyPem }));
  return `${certificate.pem}${keyPem}`;
}

async function inUse(folder: CertificateFolder): Promise<StoredCertificate | undefined> {
  const text = await folder.text(folder.current);
  return text === undefined ? undefined : readStoredCertificate(text);
}

/** An agent that was killed after its last step has left the key that is now in use, and perhaps more. */
async function finish(current: StoredCertificate | undefined, folder: CertificateFolder): Promise<void> {
  const text = await folder.text(folder.nextKey);
  if (text === undefined || current === undefined) return;
  try {
    if (sameBytes(spkiOf(loadPrivateKey(text)), current.spki)) await folder.remove(folder.nextKey);
  } catch (error) {
    if (!(error instanceof KeyError || error instanceof JoinError)) throw error;
  }
}
