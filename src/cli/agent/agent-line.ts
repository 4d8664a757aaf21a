import type { AgentEvent } from "../../agent/agent-event.ts";
import type { JoinEvent } from "../../agent/join-event.ts";
import { rfc3339 } from "../../core/clock.ts";
import { humanDuration } from "../../core/duration.ts";
import { logEntry, type LogEntry } from "../../core/log-entry.ts";

const nouns: Readonly<Record<AgentEvent["kind"], string>> = {
  token: "the token",
  "client-certificate": "the client certificate",
  "serving-certificate": "the serving certificate",
  ca: "the CA",
};

/** The log line of an event; `now` in milliseconds since the epoch. */
export function agentLine(event: AgentEvent, now: number): LogEntry {
  const { kind, path: file } = event;
  const noun = nouns[kind];
  switch (event.event) {
    case "planned":
      return logEntry("RenewalScheduled", `${noun} is kept`, {
        file,
        [kind === "token" ? "account" : "node"]: event.subject,
        validUntil: rfc3339(event.expiresAt),
        renewsAt: rfc3339(event.at),
      });
    case "requested": {
      const message = `${event.found ? "goes on with an earlier request" : "asked"} for ${noun}`;
      return logEntry("CertificateRequested", message, { request: `csr/${event.request}`, file });
    }
    case "waiting": {
      const { waitsFor, commands, until } = event;
      const said = waitsFor === undefined ? {} : { hubSays: waitsFor };
      const level = waitsFor === undefined ? "info" : "warn";
      const limit = until === undefined ? {} : { waitsUntil: rfc3339(until) };
      const approve = commands.join(" or ");
      return logEntry("ApprovalPending", `waiting for approval of ${noun}`, {
        level,
        ...said,
        ...limit,
        approve,
        file,
      });
    }
    case "renewed":
      return logEntry("CredentialRenewed", `renewed ${noun}`, { file, validUntil: rfc3339(event.expiresAt) });
    case "trusts":
      return logEntry("TrustBundleUpdated", "the hub told of other CAs, which are trusted now", {
        file,
        pins: event.pins,
      });
    case "moved":
      return logEntry("ServerAddressUpdated", "the hub is at another address now", { file, server: event.server });
    case "hastened": {
      const message = `another CA of the hub signs by now, so ${noun} is renewed before its time`;
      return logEntry("EarlyRenewalScheduled", message, { file, pin: event.signer, renewsAt: rfc3339(event.at) });
    }
    case "mended":
      return logEntry("RenewalRecovered", `${noun} can be kept again`, { file });
    case "accepted":
      return logEntry("CredentialAccepted", `${noun} is refused no more`, { file });
    default:
      return troubleLine(event, now);
  }
}

type Trouble = Extract<AgentEvent, { readonly event: "returning" | "failed" | "refused" | "asking-again" | "lost" }>;

function troubleLine(event: Trouble, now: number): LogEntry {
  const { kind, path: file } = event;
  switch (event.event) {
    case "returning": {
      const ago = humanDuration(now - event.expiresAt);
      const asks = `${nouns[kind]} has expired ${ago} ago; asking to come back with its key`;
      const message = event.waitsFor === undefined ? asks : `waiting to come back: ${event.waitsFor}`;
      return logEntry("RecoveryRequested", message, { file, validUntil: rfc3339(event.expiresAt) });
    }
    case "failed": {
      const { expiresAt, message } = event;
      const level = expiresAt !== undefined && expiresAt <= now ? "error" : "warn";
      const until = expiresAt === undefined ? {} : { validUntil: rfc3339(expiresAt) };
      return logEntry("RenewalFailed", message, { level, file, triedAgainAt: rfc3339(event.at), ...until });
    }
    case "refused":
      return logEntry("CredentialRejected", event.message, { file, since: rfc3339(event.since) });
    case "asking-again":
      return logEntry("AccessRequestedAgain", `${event.message}; asking for access anew`, { file });
    case "lost":
      return logEntry("CredentialLost", event.message, { file });
  }
}

/** The log line of what asking anew tells; undefined for what needs no line. */
export function requestLine(event: JoinEvent): LogEntry | undefined {
  switch (event.kind) {
    case "access-asked":
      return logEntry("AccessRequested", `asked for access: accessrequest/${event.name}`, {
        fingerprint: event.fingerprint,
        words: event.words.join(" "),
      });
    case "waiting-for-access":
      return logEntry("ApprovalPending", "waiting for an answer", { approve: event.commands.join(" or ") });
    case "retrying":
    case "clock-differs":
      return logEntry("AttemptFailed", event.message);
    default:
      return undefined;
  }
}
