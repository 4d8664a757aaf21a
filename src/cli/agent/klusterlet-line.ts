import type { KlusterletEvent } from "../../agent/klusterlet/klusterlet-event.ts";
import { rfc3339 } from "../../core/clock.ts";
import type { LogEntry } from "../../hub/hub-options.ts";

const decisions = {
  certificate: "the approval of the certificate",
  acceptance: "the acceptance of the cluster",
} as const;

/** The log line of an event. */
export function klusterletLine(event: KlusterletEvent): LogEntry {
  const info = (message: string, fields: Readonly<Record<string, unknown>> = {}): LogEntry => ({
    level: "info",
    message,
    ...fields,
  });
  switch (event.kind) {
    case "started":
      return info(`the agent of cluster ${event.cluster}`, { agentId: event.agent, keptIn: event.place });
    case "hub":
      return info(`works with the hub ${event.server}`, {
        as: event.as === "bootstrap" ? "the bootstrap identity" : "this cluster",
      });
    case "cluster-created":
      return info(`made the ManagedCluster ${event.cluster}, which waits to be accepted`);
    case "cluster-found":
      return info(`the ManagedCluster ${event.cluster} is there already`);
    case "requested":
      return info(event.found ? "goes on with an earlier request for a certificate" : "asked for a certificate", {
        request: `csr/${event.request}`,
        agentId: event.agent,
        key: event.fingerprint,
      });
    case "waiting":
      return info(`waiting for ${event.open.map((one) => decisions[one]).join(" and ")}`, {
        agentId: event.agent,
        onTheHub: event.commands.join("  or  "),
      });
    case "issued":
      return info("got a certificate", { validUntil: rfc3339(event.expiresAt) });
    case "renewed":
      return info("renewed the certificate", { validUntil: rfc3339(event.expiresAt) });
    case "planned":
      return info("the certificate is kept", {
        validUntil: rfc3339(event.expiresAt),
        renewsAt: rfc3339(event.at),
      });
    case "accepted":
      return info(`accepted by the hub; a heartbeat each ${event.everyMs / 1000} s`);
    case "available":
      return info("reported as available");
    case "trusts":
      return info("the hub told of other CAs, which are trusted now", { pins: event.pins });
    case "moved":
      return info(`the hub told of another address, which is used now: ${event.server}`);
    default:
      return badLine(event);
  }
}

type Bad = Extract<KlusterletEvent, { readonly message: string }>;

function badLine(event: Bad): LogEntry {
  const { kind, message } = event;
  switch (kind) {
    case "failed":
      return { level: "warn", message, ...(event.at === undefined ? {} : { triedAgainAt: rfc3339(event.at) }) };
    case "left-to-approver":
      return { level: "warn", message: `the hub says: ${message}`, request: `csr/${event.request}` };
    case "registering-again":
      return { level: "warn", message: `${message}; registers again` };
    case "leaving-hub":
      return { level: "warn", message: `${message}; looks for another hub`, server: event.server };
    case "unavailable":
    case "withheld":
    case "denied":
    case "detached":
      return { level: "error", message };
  }
}
