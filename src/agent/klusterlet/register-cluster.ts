import { randomFraction } from "../../host/system-random.ts";
import { hasReason } from "../../client/api-errors.ts";
import type { RemoteClient } from "../../client/remote.ts";
import { type ManagedCluster, clusterCondition, isAccepted } from "../../apis/managed-cluster.ts";
import { isConditionTrue } from "../../apimachinery/conditions.ts";
import { JoinError } from "../../credentials/join-error.ts";
import { approverCommands, deniedRequestStep } from "./approver-commands.ts";
import type { BootstrapHub } from "./bootstrap-hub.ts";
import { type AgentCertificate, type HubAddress, hubKubeconfig } from "../../credentials/proof/cluster-credential.ts";
import { type RequestNews, obtainCertificate } from "../../credentials/request/cluster-certificate-request.ts";
import { ensureManagedCluster, managedClusterOn } from "./ensure-managed-cluster.ts";
import type { StoredState } from "../../credentials/storage/registration-state.ts";
import type { OpenDecision } from "./klusterlet-event.ts";
import type { KlusterletOptions } from "./klusterlet-options.ts";
import type { CredentialFiles } from "../../credentials/storage/klusterlet-store.ts";
import { describeError } from "../../credentials/request/connection-failure.ts";
import { hubClient } from "../../host/hub-client.ts";

const timeoutMs = 30_000;
const lookMs = 5_000;

/** A client with the bootstrap credential; the caller closes it. */
export function bootstrapClient(hub: BootstrapHub, { clock, userAgent, random }: KlusterletOptions): RemoteClient {
  const fraction = (): number => randomFraction(random);
  return hubClient({ ...hub, ...hub.identity, userAgent, timeoutMs, clock, random: fraction, retryBudgetMs: 0 });
}

/**
 * Registers the cluster with a hub and requests the first certificate there, with the bootstrap credential; installs the credential when
 * it is issued. Until then it reports which of the two decisions are pending. @throws JoinError, StatusError, ConnectionError
 */
export async function registerCluster(
  hub: BootstrapHub,
  state: StoredState,
  options: KlusterletOptions,
): Promise<void> {
  const { report, signal, store, until } = options;
  const over = new AbortController();
  const both = AbortSignal.any([signal, over.signal]);
  const client = bootstrapClient(hub, options);
  const decisions = openDecisions(state, options);
  let denial: JoinError | undefined;
  try {
    report({ kind: "hub", server: hub.server, as: "bootstrap" });
    await clusterThere(client, hub, { state, options });
    void followAcceptance(client, { state, decisions, options, signal: both });
    const certificate = await obtainCertificate({
      ...options,
      client,
      server: hub.server,
      origin: hub.origin,
      by: "bootstrap",
      state,
      signal: both,
      notify: (news) => {
        decisions.note(news);
        if (news.kind === "refused") {
          // A command at a terminal reports the denial; a service waits for the approvers.
          const error = withNextStep(news.error, state.now().pending?.request);
          if (until !== undefined && error.code === "denied") denial = error;
          if (denial !== undefined) over.abort();
          else report({ kind: "failed", message: error.message });
        }
      },
    });
    const { request = "" } = state.now().pending ?? {};
    // The state names no hub while the credential is replaced: after a kill in between, the agent finds the hub by its address.
    await state.change({ origin: undefined });
    await store.writeCredential(credentialFiles(certificate, hub));
    await state.change({ origin: hub.origin, told: undefined, pending: undefined });
    report({ kind: "issued", request, expiresAt: certificate.notAfter });
  } catch (error) {
    throw denial ?? error;
  } finally {
    over.abort();
    client.close();
  }
}

/** The files for a certificate of a hub. */
export function credentialFiles(certificate: AgentCertificate, hub: HubAddress): CredentialFiles {
  return {
    kubeconfig: hubKubeconfig(hub),
    "tls.crt": certificate.certificatePem,
    "tls.key": certificate.keyPem,
    "cluster-name": certificate.identity.cluster,
    "agent-name": certificate.identity.agent,
  };
}

interface Context {
  readonly state: StoredState;
  readonly options: KlusterletOptions;
}

/** A hub that denies the bootstrap identity to create the cluster may have an administrator who creates it. */
async function clusterThere(client: RemoteClient, hub: BootstrapHub, { state, options }: Context): Promise<void> {
  const { clusterName: cluster } = state.now();
  const { report, externalServers: servers, spokeCaPem: caPem } = options;
  const made = await ensureManagedCluster(client, cluster, { servers, caPem }).catch((error: unknown) => {
    if (!hasReason(error, "Forbidden", "Invalid")) throw error;
    const message = describeError(error, hub.server);
    report({ kind: "failed", message: `the ManagedCluster ${cluster} cannot be made: ${message}` });
    return undefined;
  });
  if (made !== undefined) report({ kind: `cluster-${made}`, cluster, server: hub.server });
}

interface OpenDecisions {
  note(news: RequestNews): void;
  accepted(is: boolean): void;
}

/** Reports the pending decisions on each change, once the request is on the hub. */
function openDecisions(state: StoredState, { report }: KlusterletOptions): OpenDecisions {
  let request: string | undefined;
  let isPending = false;
  let isAcceptedNow: boolean | undefined;
  let reported = "";
  const notify = (): void => {
    if (!isPending || isAcceptedNow === undefined) return;
    const open: OpenDecision[] = isAcceptedNow ? ["certificate"] : ["certificate", "acceptance"];
    const { clusterName: cluster, agentName: agent } = state.now();
    const text = `${String(request)} ${open.join()}`;
    if (text === reported) return;
    reported = text;
    report({ kind: "waiting", open, agent, commands: approverCommands(open, { cluster, agent, request }) });
  };
  return {
    note: (news) => {
      if (news.kind === "rate-limited") {
        report({
          kind: "failed",
          message:
            "ten certificate requests of this cluster are on the hub, so no more is made: have old ones deleted there",
        });
        return;
      }
      if (news.kind === "waits-for") {
        report({ kind: "left-to-approver", request: news.request, message: news.message });
        return;
      }
      ({ request } = news);
      if (news.kind === "sent") {
        const { fingerprint, found } = news;
        report({ kind: "requested", request, fingerprint, found, agent: state.now().agentName });
      }
      isPending = news.kind === "pending";
      notify();
    },
    accepted: (is) => {
      isAcceptedNow = is;
      notify();
    },
  };
}

/** Whether the hub accepts the cluster, as the bootstrap identity reads it; where it may not read it, both decisions are reported. */
async function followAcceptance(
  client: RemoteClient,
  { state, decisions, options, signal }: Context & { readonly decisions: OpenDecisions; readonly signal: AbortSignal },
): Promise<void> {
  const { clock } = options;
  while (!signal.aborted) {
    const cluster = await managedClusterOn(client, state.now().clusterName).catch(() => undefined);
    if (signal.aborted) return;
    decisions.accepted(cluster !== undefined && isLetIn(cluster));
    await clock.sleep(lookMs, signal);
  }
}

/** Whether an approver has accepted the cluster, or the hub has decided otherwise. */
function isLetIn(cluster: ManagedCluster): boolean {
  return isAccepted(cluster) || isConditionTrue(cluster.status?.conditions, clusterCondition.accepted);
}

function withNextStep(error: JoinError, request: string | undefined): JoinError {
  if (error.code !== "denied" || request === undefined) return error;
  return new JoinError("denied", `${error.message}. ${deniedRequestStep(request)}`, { causeCode: error.causeCode });
}
