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
  const { kind, path } = event;
  const noun = nouns[kind];
  switch (event.event) {
    case "planned":
      return {
        level: "info",
        message: `${noun} is kept`,
        file: path,
        [kind === "token" ? "account" : "node"]: event.subject,
        validUntil: rfc3339(event.expiresAt),
        renewsAt: rfc3339(event.at),
      };
    case "requested":
      return {
        level: "info",
        message: `${event.found ? "goes on with an earlier request" : "asked"} for ${noun}`,
        request: `csr/${event.request}`,
        file: path,
      };
    case "waiting":
      return {
        level: "info",
        message: `waiting for approval of ${noun}`,
        approve: event.commands.join(" or "),
        file: path,
      };
    case "renewed":
      return { level: "info", message: `renewed ${noun}`, file: path, validUntil: rfc3339(event.expiresAt) };
    case "returning":
      return {
        level: "warn",
        message:
          event.waitsFor === undefined
            ? `${noun} has expired ${humanDuration(now - event.expiresAt)} ago; asking to come back with its key`
            : `waiting to come back: ${event.waitsFor}`,
        file: path,
        validUntil: rfc3339(event.expiresAt),
      };
    case "trusts":
      return {
        level: "info",
        message: "the hub told of other CAs, which are trusted now",
        file: path,
        pins: event.pins,
      };
    case "failed": {
      const { expiresAt } = event;
      return {
        level: expiresAt !== undefined && expiresAt <= now ? "error" : "warn",
        message: event.message,
        file: path,
        triedAgainAt: rfc3339(event.at),
        ...(expiresAt === undefined ? {} : { validUntil: rfc3339(expiresAt) }),
      };
    }
    case "asking-again":
      return { level: "warn", message: `${event.message}; asking for access anew`, file: path };
    case "lost":
      return { level: "error", message: event.message, file: path };
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
