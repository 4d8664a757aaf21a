import type { CredentialAgent, CredentialStatus } from "../../agent/node/agent-status.ts";
import { remedies as refusedRemedies } from "../../credentials/proof/credential-probe-manager.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import { humanDuration } from "../../apimachinery/duration.ts";
import { titledLines } from "../output.ts";
import { printable } from "../printable.ts";
import type { Acceptance } from "../../credentials/proof/credential-probe.ts";

/** The output of `pratique agent --status` for people, by credential. `now` in milliseconds since the epoch. */
export function agentStatusText(statuses: readonly CredentialStatus[], now: number): string {
  const bad = statuses.filter(({ good }) => !good).length;
  const count = statuses.length;
  const sum =
    bad === 0
      ? `${count === 1 ? "The credential is" : `All ${count} credentials are`} good.`
      : count === 1
        ? "The credential is of no use."
        : `${bad} of ${count} credentials ${bad === 1 ? "is" : "are"} of no use.`;
  const isUnreached = statuses.some(({ hub }) => hub?.kind === "unknown");
  const first = isUnreached && bad === 0 ? `${sum.slice(0, -1)}, but the hub cannot be reached.` : sum;
  return `${[first, ...statuses.map((status) => block(status, now))].join("\n")}\n`;
}

/** The same as data, with times in the format of the API. */
export function agentStatusData(statuses: readonly CredentialStatus[]): Readonly<Record<string, unknown>> {
  return { good: statuses.every(({ good }) => good), credentials: statuses.map(dataOf) };
}

function dataOf({ expiresAt, agent, refused, ...rest }: CredentialStatus): Readonly<Record<string, unknown>> {
  return {
    ...rest,
    expiresAt: timeText(expiresAt),
    refused: refused && { ...refused, since: rfc3339(refused.since) },
    agent: agent && { ...agent, nextAt: rfc3339(agent.nextAt), renewedAt: timeText(agent.renewedAt) },
  };
}

function timeText(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : rfc3339(ms);
}

const titles: Readonly<Record<CredentialStatus["kind"], string>> = {
  token: "token",
  "client-certificate": "client certificate",
  "serving-certificate": "serving certificate",
};

const remedies: Readonly<Record<CredentialStatus["kind"], string>> = {
  token: "request access with pratique request under another --name",
  "client-certificate": "join again with pratique join --force",
  "serving-certificate": "run pratique agent, which asks for it",
};

/** The next step for a credential that is not valid; undefined where its agent rows have it already. */
function nextStep(status: CredentialStatus, now: number): string | undefined {
  const { kind, agent, expiresAt = Infinity } = status;
  if (agent?.returning !== undefined) return undefined;
  if (kind === "serving-certificate") {
    return agent?.request === undefined ? remedies[kind] : `on the hub: pratique approve csr/${agent.request}`;
  }
  if (isRefused(status)) return refusedRemedies[kind];
  return expiresAt <= now ? `run pratique agent, which asks to come back; else ${remedies[kind]}` : remedies[kind];
}

function isRefused({ refused, hub }: CredentialStatus): boolean {
  return refused !== undefined || hub?.kind === "refused";
}

function block(status: CredentialStatus, now: number): string {
  const { kind, path, good, server, subject, expiresAt, problem, refused, hub, agent } = status;
  const lines = titledLines(
    [
      ["server", server],
      [kind === "token" ? "account" : "node", subject],
      ["valid", expiresAt === undefined ? undefined : validity(expiresAt, now)],
      ["problem", problem],
      ["refused", refused && `by the hub since ${rfc3339(refused.since)}: ${refused.message}`],
      ["hub", hub && hubText(hub)],
      ...(agent === undefined ? [["agent", "has not looked at it"] as const] : agentRows(agent, now)),
      ["to do", good ? undefined : nextStep(status, now)],
    ],
    10,
  );
  return [`${titles[kind]} ${printable(path)}`, ...lines].join("\n");
}

function hubText(hub: Acceptance): string {
  switch (hub.kind) {
    case "accepted":
      return "accepts it";
    case "refused":
      return `refuses it: ${hub.message}`;
    case "unknown":
      return `cannot be reached: ${hub.message}`;
  }
}

function validity(expiresAt: number, now: number): string {
  const left = expiresAt - now;
  return left > 0
    ? `for ${humanDuration(left)}, until ${rfc3339(expiresAt)}`
    : `no more for ${humanDuration(-left)}, since ${rfc3339(expiresAt)}`;
}

function agentRows(agent: CredentialAgent, now: number): Parameters<typeof titledLines>[0] {
  const { nextAt, failures, lastError, refused, request, renewedAt, returning, waitsFor } = agent;
  if (refused) return [["agent", lastError ?? "refused"]];
  const next = nextAt > now ? `in ${humanDuration(nextAt - now)}` : "due since then";
  const reply = waitsFor === undefined ? "" : `; the hub says: ${waitsFor}`;
  return [
    ["returning", returning && `waits for: ${returning}`],
    ["renewed", timeText(renewedAt)],
    request === undefined || nextAt > now
      ? ["next", `${rfc3339(nextAt)} (${next})`]
      : ["request", `csr/${request}, which waits for an answer${reply}`],
    ["failed", failures === 0 ? undefined : `${failures} times in a row: ${lastError ?? ""}`],
  ];
}
