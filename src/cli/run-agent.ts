import { resolve } from "node:path";
import { accessFolder } from "../agent/access-folder.ts";
import type { AgentEvent } from "../agent/agent-event.ts";
import { agentStatus, type AgentStatus } from "../agent/agent-status.ts";
import { JoinError } from "../agent/join-error.ts";
import type { JoinEvent } from "../agent/join-event.ts";
import { privateFiles } from "../agent/private-files.ts";
import { rfc3339 } from "../core/clock.ts";
import { humanDuration } from "../core/duration.ts";
import type { LogEntry } from "../hub/hub-options.ts";
import { CliError } from "./cli-error.ts";
import type { Args } from "./command.ts";
import type { ExitName } from "./exit-code.ts";
import type { Io } from "./io.ts";
import { joinExit } from "./join-exit.ts";
import { logTo } from "./log-to.ts";
import { writeResult } from "./output.ts";
import { printable } from "./printable.ts";
import { release } from "./release.ts";
import { accessDir } from "./run-request.ts";

/** Keeps access until a signal, telling on stderr what it did and when it acts next. */
export async function runAgent(args: Args, io: Io): Promise<ExitName> {
  try {
    return args.on("status") ? await showStatus(args, io) : await keep(args, io);
  } catch (error) {
    if (error instanceof JoinError) throw new CliError(joinExit(error.code), error.message);
    throw error;
  }
}

async function keep(args: Args, io: Io): Promise<ExitName> {
  const log = logTo(args, io);
  const keyFile = args.text("key");
  let stood = false;
  await io.keepAccess({
    dir: accessDir(args, io),
    keyFile: keyFile === undefined ? undefined : resolve(io.cwd, keyFile),
    once: args.on("once"),
    askAgain: args.on("ask-again"),
    hostname: io.hostname,
    clock: io.clock,
    random: io.random,
    signal: io.interrupted(),
    userAgent: `pratique/${release}`,
    report: (event) => {
      // A line in place of a datagram to the service manager, which needs native code.
      if (event.kind === "planned" && !stood && !args.on("once")) log({ level: "info", message: "ready" });
      stood ||= event.kind === "planned";
      log(agentLine(event, io.clock.now()));
    },
    reportRequest: (event) => {
      const line = requestLine(event);
      if (line !== undefined) log(line);
    },
  });
  if (!args.on("once")) log({ level: "info", message: "stopped" });
  return "ok";
}

function agentLine(event: AgentEvent, now: number): LogEntry {
  switch (event.kind) {
    case "planned":
      return {
        level: "info",
        message: "the token is kept",
        account: event.account,
        validUntil: rfc3339(event.expiresAt),
        renewsAt: rfc3339(event.at),
      };
    case "renewed":
      return { level: "info", message: "renewed the token", validUntil: rfc3339(event.expiresAt) };
    case "failed":
      return {
        level: event.expiresAt <= now ? "error" : "warn",
        message: event.message,
        triedAgainAt: rfc3339(event.at),
        validUntil: rfc3339(event.expiresAt),
      };
    case "asking-again":
      return { level: "warn", message: `${event.message}; asking for access anew` };
  }
}

function requestLine(event: JoinEvent): LogEntry | undefined {
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

async function showStatus(args: Args, io: Io): Promise<ExitName> {
  const folder = accessFolder(accessDir(args, io), undefined, { ...privateFiles, textIfThere: textFrom(io) });
  const now = io.clock.now();
  const status = await agentStatus(folder, now);
  const { expiresAt, agent, ...rest } = status;
  const data = {
    ...rest,
    expiresAt: rfc3339(expiresAt),
    ...(agent === undefined
      ? {}
      : {
          agent: {
            ...agent,
            nextAt: rfc3339(agent.nextAt),
            renewedAt: agent.renewedAt === undefined ? undefined : rfc3339(agent.renewedAt),
          },
        }),
  };
  await writeResult(args, io, { data, table: () => statusText(status, now) });
  return status.good ? "ok" : "failed";
}

function statusText({ good, server, account, expiresAt, agent }: AgentStatus, now: number): string {
  const left = expiresAt - now;
  const rows: readonly (readonly [string, string])[] = [
    ["server", server],
    ["account", account],
    ["token", `${left > 0 ? `ends in ${humanDuration(left)}` : "ended"}, ${rfc3339(expiresAt)}`],
    ...agentRows(agent, now),
  ];
  return [
    good ? "The token is good." : "The token is of no use any more: ask anew with pratique request.",
    ...rows.map(([title, value]) => `  ${title.padEnd(12)}${printable(value)}`),
    "",
  ].join("\n");
}

function agentRows(agent: AgentStatus["agent"], now: number): readonly (readonly [string, string])[] {
  if (agent === undefined) return [["agent", "has not looked at it"]];
  const { nextAt, failures, lastError, refused } = agent;
  if (refused) return [["agent", lastError ?? "refused"]];
  const next = nextAt > now ? `in ${humanDuration(nextAt - now)}` : "due since then";
  return [
    ["next", `${rfc3339(nextAt)} (${next})`],
    ...(failures === 0 ? [] : [["failed", `${failures} times in a row: ${lastError ?? ""}`] as const]),
  ];
}

function textFrom({ readFile }: Io): (path: string) => Promise<string | undefined> {
  return async (path) => {
    try {
      return Buffer.from(await readFile(path)).toString("utf8");
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
      throw error;
    }
  };
}
