import { resolve } from "node:path";
import { agentStatus } from "../agent/agent-status.ts";
import { JoinError } from "../agent/join-error.ts";
import { privateFiles } from "../agent/private-files.ts";
import { agentFolders, folderView, foundCredentials } from "./agent-folders.ts";
import { agentLine, requestLine } from "./agent-line.ts";
import { agentStatusData, agentStatusText } from "./agent-status-text.ts";
import { CliError } from "./cli-error.ts";
import type { Args } from "./command.ts";
import type { ExitName } from "./exit-code.ts";
import type { Io } from "./io.ts";
import { joinExit } from "./join-exit.ts";
import { logTo } from "./log-to.ts";
import { writeResult } from "./output.ts";
import { release } from "./release.ts";

/** Keeps credentials until a signal, telling on stderr what it did and when it acts next. */
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
  await io.runAgent({
    dirs: agentFolders(args, io),
    view: folderView(io),
    keyFile: keyFile === undefined ? undefined : resolve(io.cwd, keyFile),
    once: args.on("once"),
    askAgain: args.on("ask-again"),
    hostname: io.hostname,
    addresses: io.addresses,
    clock: io.clock,
    random: io.random,
    signal: io.interrupted(),
    userAgent: `pratique/${release}`,
    report: (event) => {
      if (event.event === "planned" && !stood && !args.on("once")) log({ level: "info", message: "ready" });
      stood ||= event.event === "planned";
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

async function showStatus(args: Args, io: Io): Promise<ExitName> {
  const found = await foundCredentials(args, io);
  const now = io.clock.now();
  const files = { ...privateFiles, textIfThere: folderView(io).text };
  const statuses = await agentStatus(found, { files, now });
  await writeResult(args, io, {
    data: agentStatusData(statuses),
    table: () => agentStatusText(statuses, now),
  });
  return statuses.every(({ good }) => good) ? "ok" : "failed";
}
