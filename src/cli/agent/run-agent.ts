import { dirname, resolve } from "node:path";
import { plainText } from "../../credentials/join-error.ts";
import { agentStatus, type CredentialStatus } from "../../agent/node/agent-status.ts";
import { agentEntry, type KeptName } from "../../credentials/credential-event.ts";
import { type Log, logEntry } from "../../apimachinery/log-entry.ts";
import {
  agentFailure,
  agentFiles,
  agentFolders,
  askHub,
  folderView,
  foundCredentials,
  warnOfOpenAgentFiles,
  warnOfOpenAgentFolders,
} from "./agent-folders.ts";
import { agentStatusData, agentStatusText } from "./agent-status-text.ts";
import type { Args, Run } from "../command.ts";
import { type ExitName, usageError } from "../cli-error.ts";
import { serveHealth } from "../../host/health-listener.ts";
import type { Io } from "../io.ts";
import { warningInLog, warnOfOpenSecrets } from "../open-secrets.ts";
import { logTo } from "../log-line.ts";
import { writeResult } from "../output.ts";
import { readText } from "../../host/read-text.ts";
import { release } from "../release.ts";
import { serviceManager, type ServiceManager, credentialsStatus, type CredentialsStatus } from "./service-status.ts";
import type { FileAccess } from "../../host/private-files.ts";

/** Renews credentials until a signal, and reports on stderr what it did and when it acts next. */
export const runAgent: Run = async (args, io) => {
  try {
    return args.on("status") ? await showStatus(args, io) : await keep(args, io);
  } catch (error) {
    throw await agentFailure(error, args, io);
  }
};

async function keep(args: Args, io: Io): Promise<ExitName> {
  const log = logTo(args, io);
  const signal = io.interrupted();
  const status = credentialsStatus();
  const manager = serviceManager(io, log, signal);
  const isReady = (): boolean => status.isGood(io.clock.now());
  const health = await serveHealth(args.text("health-address"), { isReady, log });
  if (health !== undefined) log(logEntry("Listening", "the agent answers health checks", { port: health.port }));
  try {
    await run(args, io, { log, signal, status, manager });
  } finally {
    manager.notify({ STOPPING: "1" });
    await manager.idle();
    await health?.close();
  }
  if (!args.on("once")) log(logEntry("Stopped", "the agent stopped"));
  return "ok";
}

interface Running {
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly status: CredentialsStatus;
  readonly manager: ServiceManager;
}

async function run(args: Args, io: Io, { log, signal, status, manager }: Running): Promise<void> {
  const keyFile = args.text("key");
  let isScheduled = false;
  let isReady = false;
  const notifyReady = (): void => {
    if (isReady || args.on("once") || !status.isConfirmed(io.clock.now())) return;
    isReady = true;
    log(logEntry("Ready", "the hub accepts all credentials"));
  };
  const dirs = agentFolders(args, io);
  const logged = warningInLog(io, log);
  await warnOfOpenAgentFolders(dirs, logged);
  if (keyFile !== undefined) await readText("key", keyFile, io);
  await warnOfOpenSecrets([keyFile], logged);
  await io.runAgent({
    dirs,
    view: folderView(io),
    keyFile: keyFile === undefined ? undefined : resolve(io.cwd, keyFile),
    once: args.on("once"),
    askAgain: args.on("ask-again"),
    hostname: io.hostname,
    addresses: io.addresses,
    clock: io.clock,
    random: io.random,
    signal,
    access: await fileAccess(args, io),
    renewed: afterRotation(args, io, log),
    userAgent: `pratique/${release}`,
    report: (event) => {
      status.note(event);
      const isFirst = event.reason === "RenewalScheduled" && !isScheduled;
      isScheduled ||= isFirst;
      manager.notify({ ...(isFirst ? { READY: "1" } : {}), STATUS: status.sentence(io.clock.now()) });
      log(agentEntry(event, io.clock.now()));
      notifyReady();
    },
    confirmed: (name) => {
      status.confirm(name);
      notifyReady();
    },
  });
}

async function showStatus(args: Args, io: Io): Promise<ExitName> {
  const found = await foundCredentials(args, io);
  await warnOfOpenAgentFiles(found, io);
  const now = io.clock.now();
  const statuses = await agentStatus(found, {
    files: agentFiles(io),
    now,
    ask: (trust) => askHub(trust, statusTimeoutMs, io),
  });
  await writeResult(args, io, {
    data: agentStatusData(statuses),
    table: () => agentStatusText(statuses, now),
  });
  return statusExit(statuses);
}

/** A health check must not wait for long. */
const statusTimeoutMs = 5000;

/** A problem of the credential itself comes first, then a rejection by the hub, then an unreachable hub. */
function statusExit(statuses: readonly CredentialStatus[]): ExitName {
  const isRefused = ({ hub, refused, agent }: CredentialStatus): boolean =>
    hub?.kind === "refused" || refused !== undefined || agent?.refused === true;
  if (statuses.some((one) => !one.good && !isRefused(one))) return "failed";
  if (statuses.some(isRefused)) return "refused";
  return statuses.some(({ hub }) => hub?.kind === "unknown") ? "unreachable" : "ok";
}

const rotationTimeoutMs = 30_000;
const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Runs the command of `--after-rotation` after each renewal, and logs its result. Undefined where it is not given. */
function afterRotation(args: Args, io: Io, log: Log): ((name: KeptName) => Promise<void>) | undefined {
  const words = (args.text("after-rotation") ?? "").split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return undefined;
  return async ({ kind, path }) => {
    const env = {
      PATH: io.env["PATH"] ?? systemPath,
      PRATIQUE_KIND: kind,
      PRATIQUE_FILE: path,
      PRATIQUE_DIR: dirname(path),
    };
    const { kind: end, code, output } = await io.runChild(words, { env, timeoutMs: rotationTimeoutMs });
    const answer = plainText(output, 1000);
    const details = { command: words.join(" "), file: path, ...(answer === "" ? {} : { output: answer }) };
    if (end === "ended" && code === 0)
      return log(logEntry("RotationCommandRun", "the agent ran the command of --after-rotation", { ...details }));
    const why = {
      ended: `ended with code ${code}`,
      killed: "was killed",
      late: `was killed after ${rotationTimeoutMs / 1000} seconds`,
      missing: "cannot be started",
    };
    log(logEntry("RotationCommandFailed", `the command of --after-rotation ${why[end]}`, { ...details }));
  };
}

/** The readers of credentials by `--owner` and `--mode`; undefined where neither is given. @throws CliError usage */
async function fileAccess(args: Args, io: Io): Promise<FileAccess | undefined> {
  const [owner, mode] = [args.text("owner"), args.text("mode")];
  if (owner === undefined && mode === undefined) return undefined;
  return {
    mode: modeOf(mode ?? "0600"),
    ...(owner === undefined ? {} : { owner: await ownerOf(owner, io) }),
  };
}

function modeOf(text: string): number {
  const mode = /^0?[0-7]{3}$/.test(text) ? Number.parseInt(text, 8) : -1;
  // The owner must be able to read; execute, write by others, and any right of the world are rejected.
  if (mode < 0 || (mode & 0o400) === 0 || (mode & 0o137) !== 0) {
    throw usageError(`--mode ${text} is none of 0600, 0400, 0640 and 0440: a credential is never for everybody`);
  }
  return mode;
}

async function ownerOf(text: string, io: Io): Promise<{ readonly uid: number; readonly gid: number }> {
  const [user = "", group, ...more] = text.split(":");
  if (more.length > 0) throw usageError(`--owner ${text} is no USER or USER:GROUP`);
  const account = await entryOf({ file: "/etc/passwd", name: user, what: "user" }, io);
  const uid = account.id;
  if (group !== undefined) {
    return { uid, gid: (await entryOf({ file: "/etc/group", name: group, what: "group" }, io)).id };
  }
  if (account.primary === undefined) {
    throw usageError(`--owner ${text} needs a group, too: ${text}:GROUP`);
  }
  return { uid, gid: account.primary };
}

interface Entry {
  readonly id: number;
  /** The group of a user. */
  readonly primary?: number;
}

async function entryOf(
  { file, name, what }: { readonly file: string; readonly name: string; readonly what: string },
  io: Io,
): Promise<Entry> {
  const text = await io.readFile(file).then(
    (bytes) => Buffer.from(bytes).toString("utf8"),
    () => "",
  );
  const fields = text
    .split("\n")
    .map((line) => line.split(":"))
    .find(([first, , id]) => first === name || id === name);
  const [, , id = name, primary] = fields ?? [];
  if (!/^\d{1,10}$/.test(id)) {
    throw usageError(
      `--owner: there is no ${what} ${JSON.stringify(name)} in ${file}; give a number for one that is kept elsewhere`,
    );
  }
  return {
    id: Number(id),
    ...(what === "user" && /^\d{1,10}$/.test(primary ?? "") ? { primary: Number(primary) } : {}),
  };
}
