import { jitteredBackoffMs } from "../../client/backoff.ts";
import type { Condition } from "../../core/object.ts";
import { JoinError } from "../join-error.ts";
import { approverCommands } from "./approver-commands.ts";
import type { AgentCertificate } from "./cluster-credential.ts";
import { obtainCertificate, type RequestNews } from "./cluster-certificate-request.ts";
import { randomFraction } from "../random-fraction.ts";
import { credentialFiles } from "./register-cluster.ts";
import { clusterWindow, renewalDeadline } from "../rotation-plan.ts";
import { requireAccepted } from "../ask-acceptance.ts";
import { saidFailure } from "./said-failure.ts";
import { recovered, tellFailure, type Serving } from "./serving-cluster.ts";

const maxSleepMs = 60_000;
const backoff = { initialMs: 10_000, maxMs: 600_000 };
const rotatedType = "ClusterCertificateRotated";

/**
 * Keeps the agent's certificate fresh with the one that it has: a new key each time, the old one in use until the new one is laid out
 * and has proven itself. Ends with its signal, or ends the conversation when the certificate has run out.
 */
export async function renewCertificate(serving: Serving): Promise<void> {
  const { session, options, signal, notes, state, end } = serving;
  const { clock, random, report } = options;
  let failures = 0;
  let due = plan(serving, clock.now());
  while (!signal.aborted) {
    const now = clock.now();
    if (now >= session.credential().notAfter) {
      end({ kind: "register", newAgent: false, message: "the certificate of this agent has ended" });
      return;
    }
    if (now < due && state.now().pending?.by !== "agent") {
      await clock.sleep(Math.min(due - now, maxSleepMs), signal);
      continue;
    }
    try {
      const renewed = await beforeItEnds(serving);
      if (renewed === undefined) continue;
      failures = 0;
      notes.rotated = rotation("True", "client certificate rotated");
      recovered(notes, "renewal");
      serving.wake();
      due = plan(serving, clock.now());
    } catch (error) {
      if (signal.aborted) return;
      failures += 1;
      const message = saidFailure(error, session.server);
      notes.rotated = rotation("False", message);
      const pauseMs = jitteredBackoffMs(backoff, failures, () => randomFraction(random));
      tellFailure(serving, "renewal", `the certificate is not renewed: ${message}`);
      await clock.sleep(pauseMs, signal);
    }
  }
  function plan(of: Serving, receivedAt: number): number {
    const credential = of.session.credential();
    const at = renewalDeadline(credential, { spread: randomFraction(random), receivedAt, window: clusterWindow });
    report({ kind: "planned", at, expiresAt: credential.notAfter });
    return at;
  }
}

function rotation(status: "True" | "False", message: string): Condition {
  const reason = status === "True" ? "ClientCertificateUpdated" : "ClientCertificateUpdateFailed";
  return { type: rotatedType, status, reason, message: message.slice(0, 1024) };
}

/** One renewal; undefined when the old certificate ended while it was waited for. */
async function beforeItEnds(serving: Serving): Promise<AgentCertificate | undefined> {
  const { session, options, signal } = serving;
  const ended = new AbortController();
  const over = new AbortController();
  const both = AbortSignal.any([signal, over.signal]);
  const { clock } = options;
  const watching = async (): Promise<void> => {
    while (!both.aborted && clock.now() < session.credential().notAfter) {
      await clock.sleep(Math.min(session.credential().notAfter - clock.now(), maxSleepMs), both);
    }
    if (!both.aborted) ended.abort();
  };
  void watching();
  try {
    return await renewOnce(serving, AbortSignal.any([signal, ended.signal]));
  } catch (error) {
    if (ended.signal.aborted && error instanceof JoinError && error.code === "aborted") return undefined;
    throw error;
  } finally {
    over.abort();
  }
}

async function renewOnce(serving: Serving, signal: AbortSignal): Promise<AgentCertificate> {
  const { session, options, state } = serving;
  const { origin = "" } = state.now();
  const certificate = await obtainCertificate({
    ...options,
    client: session.client,
    server: session.server,
    origin,
    by: "agent",
    state,
    signal,
    tell: (news) => told(news, serving),
  });
  const next = { ...certificate, hub: session.credential().hub };
  await requireAccepted(session.clientWith(next)).catch(async (error: unknown) => {
    if (error instanceof JoinError) await state.change({ pending: undefined });
    throw error;
  });
  const { request = "" } = state.now().pending ?? {};
  await options.store.writeCredential(credentialFiles(certificate, next.hub));
  await state.change({ pending: undefined });
  session.renewed(next);
  options.report({ kind: "renewed", request, expiresAt: certificate.notAfter });
  return certificate;
}

function told(news: RequestNews, serving: Serving): void {
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
    case "braked":
      notes.rotated = rotation("False", "ten certificate requests of this cluster are on the hub; no more is made");
      tellFailure(serving, "renewal", "ten certificate requests of this cluster are on the hub, so no more is made");
      return;
    case "refused":
      notes.rotated = rotation("False", news.error.message);
      tellFailure(serving, "renewal", news.error.message);
      return;
    case "approved":
      return;
  }
}
