import type { AgentEvent } from "../../agent/agent-event.ts";
import type { JoinEvent } from "../../agent/join-event.ts";
import { rfc3339 } from "../../core/clock.ts";
import { humanDuration } from "../../core/duration.ts";
import type { LogEntry } from "../../hub/hub-options.ts";

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
      return {
        level: "info",
        message: `${noun} is kept`,
        file,
        [kind === "token" ? "account" : "node"]: event.subject,
        validUntil: rfc3339(event.expiresAt),
        renewsAt: rfc3339(event.at),
      };
    case "requested": {
      const message = `${event.found ? "goes on with an earlier request" : "asked"} for ${noun}`;
      return { level: "info", message, request: `csr/${event.request}`, file };
    }
    case "waiting": {
      const { waitsFor, commands, until } = event;
      const said = waitsFor === undefined ? {} : { hubSays: waitsFor };
      const level = waitsFor === undefined ? "info" : "warn";
      const limit = until === undefined ? {} : { waitsUntil: rfc3339(until) };
      const approve = commands.join(" or ");
      return { level, message: `waiting for approval of ${noun}`, ...said, ...limit, approve, file };
    }
    case "renewed":
      return { level: "info", message: `renewed ${noun}`, file, validUntil: rfc3339(event.expiresAt) };
    case "trusts":
      return { level: "info", message: "the hub told of other CAs, which are trusted now", file, pins: event.pins };
    case "moved":
      return { level: "info", message: "the hub is at another address now", file, server: event.server };
    case "hastened": {
      const message = `another CA of the hub signs by now, so ${noun} is renewed before its time`;
      return { level: "info", message, file, pin: event.signer, renewsAt: rfc3339(event.at) };
    }
    case "mended":
      return { level: "info", message: `${noun} can be kept again`, file };
    case "accepted":
      return { level: "info", message: `${noun} is refused no more`, file };
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
      return { level: "warn", message, file, validUntil: rfc3339(event.expiresAt) };
    }
    case "failed": {
      const { expiresAt, message } = event;
      const level = expiresAt !== undefined && expiresAt <= now ? "error" : "warn";
      const until = expiresAt === undefined ? {} : { validUntil: rfc3339(expiresAt) };
      return { level, message, file, triedAgainAt: rfc3339(event.at), ...until };
    }
    case "refused":
      return { level: "error", message: event.message, file, since: rfc3339(event.since) };
    case "asking-again":
      return { level: "warn", message: `${event.message}; asking for access anew`, file };
    case "lost":
      return { level: "error", message: event.message, file };
  }
}

/** The log line of what asking anew tells; undefined for what needs no line. */
export function requestLine(event: JoinEvent): LogEntry | undefined {
  switch (event.kind) {
    case "access-asked":
      return {
        level: "info",
        message: `asked for access: accessrequest/${event.name}`,
        fingerprint: event.fingerprint,
        words: event.words.join(" "),
      };
    case "waiting-for-access":
      return { level: "info", message: "waiting for an answer", approve: event.commands.join(" or ") };
    case "retrying":
    case "clock-differs":
      return { level: "warn", message: event.message };
    default:
      return undefined;
  }
}
