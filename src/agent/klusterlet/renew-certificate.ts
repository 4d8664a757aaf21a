import { jitteredBackoffMs } from "../../client/backoff.ts";
import { credentialManager, type RenewalSchedule } from "../../credentials/credential-manager.ts";
import type { Manager, Turn } from "../../credentials/run-managers.ts";
import type { Condition } from "../../apimachinery/object.ts";
import { JoinError } from "../../credentials/join-error.ts";
import { approverCommands } from "./approver-commands.ts";
import type { AgentCertificate, ClusterCredential } from "../../credentials/proof/cluster-credential.ts";
import { obtainCertificate, type RequestNews } from "../../credentials/request/cluster-certificate-request.ts";
import { randomFraction } from "../../host/system-random.ts";
import { credentialFiles } from "./register-cluster.ts";
import { clusterWindow, renewalDeadline } from "../../credentials/renewal/rotation-plan.ts";
import { requireAccepted } from "../../credentials/proof/credential-probe.ts";
import { describeError } from "../../credentials/request/connection-failure.ts";
import { recovered, reportFailure, type Serving } from "./serving-cluster.ts";

const maxSleepMs = 60_000;
const backoff = { initialMs: 10_000, maxMs: 600_000 };
const rotatedType = "ClusterCertificateRotated";

/**
 * Renews the agent's certificate with the present one: a new key each time, the old one in use until the new one is verified and
 * installed. Ends with its signal, or ends the session when the certificate has expired.
 */
export async function renewCertificate(serving: Serving): Promise<void> {
  const { options, signal } = serving;
  const { clock } = options;
  const manager = clusterCertificateManager(serving);
  while (!signal.aborted) {
    const turn = await manager.act(signal);
    if (turn.kind === "wait") await clock.sleep(Math.min(turn.until - clock.now(), maxSleepMs), signal);
  }
}

function clusterCertificateManager(serving: Serving): Manager {
  const { session, options, state } = serving;
  return credentialManager<ClusterCredential, AgentCertificate, AgentCertificate>({
    name: { kind: "client-certificate", path: options.store.place },
    storage: {
      open: async () => session.credential(),
      install: async (certificate, { hub }) => {
        const { request = "" } = state.now().pending ?? {};
        await options.store.writeCredential(credentialFiles(certificate, hub));
        await state.change({ pending: undefined });
        session.renewed({ ...certificate, hub });
        options.report({ kind: "renewed", request, expiresAt: certificate.notAfter });
      },
    },
    request: (credential, signal) => requestBeforeEnd(serving, credential, signal),
    proof: async (certificate, { hub }) => {
      await requireAccepted(session.clientWith({ ...certificate, hub })).catch(async (error: unknown) => {
        if (error instanceof JoinError) await state.change({ pending: undefined });
        throw error;
      });
      return certificate;
    },
    schedule: clusterSchedule(serving),
  });
}

/** The window of an agent of OCM; after the expiry only the bootstrap credential helps. */
function clusterSchedule(serving: Serving): RenewalSchedule<ClusterCredential, AgentCertificate> {
  const { session, options, notes, state } = serving;
  const { clock, random, report } = options;
  let due: number | undefined;
  let failures = 0;
  let pause: { readonly from: number; readonly until: number } | undefined;

  function planned(credential: ClusterCredential): number {
    const window = clusterWindow;
    const at = renewalDeadline(credential, { spread: randomFraction(random), receivedAt: clock.now(), window });
    report({ kind: "planned", at, expiresAt: credential.notAfter });
    return at;
  }

  return {
    next: async (credential) => {
      due ??= planned(credential);
      const now = clock.now();
      // A clock that was set back would else prolong the wait by as much.
      if (pause !== undefined && pause.from <= now && now < pause.until) return { kind: "wait", until: pause.until };
      if (now >= credential.notAfter) return { kind: "recover", run: async () => ended(serving) };
      const isUnderWay = state.now().pending?.by === "agent";
      return now < due && !isUnderWay ? { kind: "wait", until: due } : { kind: "renew" };
    },
    renewed: async () => {
      failures = 0;
      pause = undefined;
      due = undefined;
      notes.rotated = rotation("True", "client certificate rotated");
      recovered(notes, "renewal");
      serving.changes.wake();
    },
    failed: async (error, credential, signal) => {
      const now = clock.now();
      if (signal.aborted) return { kind: "wait", until: now };
      if (now >= credential.notAfter && error instanceof JoinError && error.code === "aborted")
        return { kind: "again" };
      failures += 1;
      const message = describeError(error, session.server);
      notes.rotated = rotation("False", message);
      pause = { from: now, until: now + jitteredBackoffMs(backoff, failures, () => randomFraction(random)) };
      reportFailure(serving, "renewal", `the certificate is not renewed: ${message}`);
      return { kind: "wait", until: pause.until };
    },
  };
}

function ended({ end, options }: Serving): Turn {
  end({ kind: "register", newAgent: false, message: "the certificate of this agent has ended" });
  return { kind: "wait", until: options.clock.now() };
}

function rotation(status: "True" | "False", message: string): Condition {
  const reason = status === "True" ? "ClientCertificateUpdated" : "ClientCertificateUpdateFailed";
  return { type: rotatedType, status, reason, message: message.slice(0, 1024) };
}

/** Requests the next certificate until the one in use expires. @throws JoinError aborted once it has */
async function requestBeforeEnd(
  serving: Serving,
  { notAfter }: ClusterCredential,
  signal: AbortSignal,
): Promise<AgentCertificate> {
  const { session, options, state } = serving;
  const { clock } = options;
  const hasEnded = new AbortController();
  const over = new AbortController();
  const both = AbortSignal.any([signal, over.signal]);
  const watching = async (): Promise<void> => {
    while (!both.aborted && clock.now() < notAfter)
      await clock.sleep(Math.min(notAfter - clock.now(), maxSleepMs), both);
    if (!both.aborted) hasEnded.abort();
  };
  void watching();
  const { origin = "" } = state.now();
  try {
    return await obtainCertificate({
      ...options,
      client: session.client,
      server: session.server,
      origin,
      by: "agent",
      state,
      signal: AbortSignal.any([signal, hasEnded.signal]),
      notify: (news) => reportNews(news, serving),
    });
  } finally {
    over.abort();
  }
}

function reportNews(news: RequestNews, serving: Serving): void {
  const { options, notes, state } = serving;
  const { clusterName: cluster, agentName: agent } = state.now();
  switch (news.kind) {
    case "sent": {
      const { request, fingerprint, found } = news;
      options.report({ kind: "requested", request, fingerprint, found, agent });
      return;
    }
    case "pending": {
      const commands = approverCommands(["certificate"], { cluster, agent, request: news.request });
      options.report({ kind: "waiting", open: ["certificate"], agent, commands });
      return;
    }
    case "waits-for":
      options.report({ kind: "left-to-approver", request: news.request, message: news.message });
      return;
    case "rate-limited":
      notes.rotated = rotation("False", "ten certificate requests of this cluster are on the hub; no more is made");
      reportFailure(serving, "renewal", "ten certificate requests of this cluster are on the hub, so no more is made");
      return;
    case "refused":
      notes.rotated = rotation("False", news.error.message);
      reportFailure(serving, "renewal", news.error.message);
      return;
    case "approved":
      return;
  }
}
