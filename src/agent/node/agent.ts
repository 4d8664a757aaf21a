import type { RandomBytes } from "../../apimachinery/clock.ts";
import type { AgentWorld, CredentialName } from "../../credentials/credential-event.ts";
import { credentialDigest } from "../../credentials/proof/credential-probe.ts";
import { credentialStore } from "./credential-store.ts";
import { findCredentials, type FolderView, type FoundCredential } from "./find-credentials.ts";
import { keepFresh, type Manager } from "../../credentials/run-managers.ts";
import { credentialProbeManager } from "../../credentials/proof/credential-probe-manager.ts";
import { tokenManager, type AskAgain } from "../../credentials/token-manager.ts";
import { renewToken } from "../../credentials/request/renew-token.ts";
import { askAccessAgain, requestReport } from "../access/ask-access-again.ts";
import { trustBundleManager } from "../../credentials/trust/trust-bundle-manager.ts";
import { nodeManagers } from "./node-managers.ts";
import { privateFiles, type FileAccess } from "../../host/private-files.ts";
import { shareCredential } from "./share-credential.ts";
import type { MachineAddresses } from "./serving-names.ts";
import { randomFraction } from "../../host/system-random.ts";

/** The folders that an agent maintains, and its parameters. */
export interface AgentOptions extends Omit<AgentWorld, "fraction"> {
  /** Every credential at and below these folders is renewed. */
  readonly dirs: readonly string[];
  readonly view: FolderView;
  /** The private key of access requests, where it is not in the folder. */
  readonly keyFile?: string | undefined;
  /** Requests access again by itself when a token is rejected. */
  readonly askAgain: boolean;
  readonly hostname: string;
  readonly random: RandomBytes;
  readonly signal: AbortSignal;
  readonly addresses: MachineAddresses;
  /** The readers of the written files; default the owner of this process only. */
  readonly access?: FileAccess | undefined;
  /** Called with each reply of the hub that it accepts a credential; must not throw. */
  readonly confirmed?: ((name: CredentialName) => void) | undefined;
  /** Called once a credential is renewed, once more if the agent was killed meanwhile; must not throw. */
  readonly renewed?: ((name: CredentialName) => Promise<void>) | undefined;
}

/** Renews everything below some folders. @throws JoinError no-access where there is nothing, and that of the last credential that was lost */
export async function runAgent(options: AgentOptions): Promise<void> {
  const { dirs, view, once, clock, signal, report } = options;
  const shared = new Set<string>();
  const known = new Map<string, FolderKnowledge>();
  const find = async (): Promise<readonly Manager[]> => {
    const found = await findCredentials(dirs, view);
    for (const one of found) await share(one, shared, options);
    return found.flatMap((one) => managersOf(one, knowledgeOf(folderOf(one), known), options));
  };
  return keepFresh({ find, once, clock, signal, report });
}

/** The state that the managers of one folder share. */
interface FolderKnowledge {
  readonly shown: PresentedCertificate;
  /** The digest of the credential that the hub rejects. */
  refused: string | undefined;
}

/** One for each folder, since each check creates the managers again and those of the first stay. */
function knowledgeOf(folder: string, known: Map<string, FolderKnowledge>): FolderKnowledge {
  const one = known.get(folder) ?? { shown: presentedCertificate(), refused: undefined };
  known.set(folder, one);
  return one;
}

async function share(found: FoundCredential, shared: Set<string>, { dirs, access }: AgentOptions): Promise<void> {
  const folder = folderOf(found);
  if (access === undefined || shared.has(folder)) return;
  await shareCredential(found, { dirs, access });
  shared.add(folder);
}

function folderOf(found: FoundCredential): string {
  return found.kind === "token" ? found.dir : found.certDir;
}

function managersOf(found: FoundCredential, known: FolderKnowledge, options: AgentOptions): readonly Manager[] {
  const { access, once } = options;
  const { shown } = known;
  const common = { ...options, fraction: () => randomFraction(options.random) };
  const store = credentialStore(found, privateFiles, access);
  const check = credentialProbeManager({
    ...common,
    store,
    confirmed: () => options.confirmed?.(store.name),
    refused: (digest) => void (known.refused = digest),
  });
  switch (found.kind) {
    case "token": {
      const askAgain: AskAgain = (access, report) =>
        askAccessAgain({ ...options, ...access }, (event) => {
          const reported = requestReport(event);
          if (reported !== undefined) report(reported);
        });
      const isRefused = (token: string): boolean => known.refused === credentialDigest({ token });
      return [
        tokenManager({ ...options, dir: found.dir, isRefused, calls: { renew: renewToken, askAgain } }),
        trustBundleManager({ ...common, files: store.trust }),
        check,
      ];
    }
    case "node":
      return [
        // With `once` there is no later check at which it is known.
        ...nodeManagers(found, { ...common, files: privateFiles, access, shown: once ? shown.first : shown.now }),
        trustBundleManager({ ...common, files: store.trust, shown: shown.notify }),
        check,
      ];
  }
}

/** The certificate that the hub of one folder presented last; set by the trust bundle manager, read by the certificate managers. */
interface PresentedCertificate {
  /** As DER; undefined where the hub was not reached. */
  notify(leaf: Uint8Array | undefined): void;
  /** The last value, undefined before the first. */
  now(): Promise<Uint8Array | undefined>;
  /** The same, once there is a value. */
  first(): Promise<Uint8Array | undefined>;
}

/** A holder without a value. */
function presentedCertificate(): PresentedCertificate {
  let known: Uint8Array | undefined;
  let reported = (): void => undefined;
  const first = new Promise<void>((resolve) => (reported = resolve));
  return {
    notify: (leaf) => {
      known = leaf;
      reported();
    },
    now: async () => known,
    first: async () => {
      await first;
      return known;
    },
  };
}
