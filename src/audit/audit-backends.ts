import { type LogEntry, logEntry } from "../apimachinery/log-entry.ts";
import { readFile } from "node:fs/promises";
import { kubeconfigAccess, type KubeconfigAccess } from "../client/kubeconfig-access.ts";
import { join } from "node:path";
import { privateFolder } from "../host/private-files.ts";
import { resolveKubeconfig } from "../client/resolve-kubeconfig.ts";
import { parseKubeconfig } from "../client/kubeconfig.ts";
import { httpsTransport, type Transport } from "../client/transport.ts";
import type { Clock } from "../apimachinery/clock.ts";
import { systemErrorText } from "../apimachinery/system-error.ts";
import type { Audit } from "../apiserver/audit/audit.ts";
import { metadataPolicy, type AuditPolicy } from "../apiserver/audit/audit-policy.ts";
import {
  type AuditLogOptions,
  openAuditLogWarning,
  openOwnAuditFile,
  openAuditLog,
  streamAuditLog,
  type AuditBackend,
} from "./audit-log.ts";
import { optionText } from "../host/read-text.ts";
import { parseAuditPolicy } from "../config-files/audit-policy-file.ts";
import { auditWebhook } from "./audit-webhook.ts";
import { defaultAuditPolicy } from "./default-audit-policy.ts";
import { errorText } from "../apimachinery/error-text.ts";
import { HubError } from "../apimachinery/hub-error.ts";
import { hubWorld } from "../host/process-world.ts";

/** Where audit events go, with the names of the flags. */
export interface AuditOptions {
  readonly dataDir: string;
  readonly release: string;
  readonly log: (entry: LogEntry) => void;
  /** An audit.k8s.io/v1 Policy; default that of `default-audit-policy.ts`. */
  readonly auditPolicyFile?: string | undefined;
  /** Default `audit/audit.log` in the data directory; `-` is stdout, and `none` or nothing writes no log. */
  readonly auditLogPath?: string | undefined;
  /** When the file is put aside; default 100, and 0 never. */
  readonly auditLogMaxSizeMb?: number | undefined;
  /** How many such files are kept; default 10, and 0 keeps all. */
  readonly auditLogMaxBackups?: number | undefined;
  /** How long they are kept; default 30, and 0 keeps them for ever. */
  readonly auditLogMaxAgeDays?: number | undefined;
  /** A kubeconfig whose server is sent the events. */
  readonly auditWebhookConfigFile?: string | undefined;
  /** Default 400. */
  readonly auditWebhookBatchMaxSize?: number | undefined;
  /** Default 30000 (30 seconds). */
  readonly auditWebhookBatchMaxWaitMs?: number | undefined;
  /** Default 10000 (10 seconds). */
  readonly auditWebhookInitialBackoffMs?: number | undefined;
}

/** Everything that records. */
export interface OpenAudit {
  /** Undefined where nothing is recorded. */
  readonly audit: Audit | undefined;
  readonly counts: () => AuditCounts;
  readonly close: () => Promise<void>;
}

/** Events so far, and those that each backend has lost. */
export interface AuditCounts {
  readonly events: number;
  readonly lost: readonly { readonly plugin: "log" | "webhook"; readonly count: number }[];
}

interface NamedBackend extends AuditBackend {
  readonly plugin: "log" | "webhook";
}

/**
 * Reads the policy and opens the configured backends; without a backend nothing is recorded. The default policy is level Metadata
 * for all requests where a log or a webhook is configured, else `defaultAuditPolicy`. @throws HubError options when a file cannot be used.
 */
export async function openAudit(options: AuditOptions, clock: Clock): Promise<OpenAudit> {
  const policy = await policyOf(options);
  const backends = [...(await logBackend(options, clock)), ...(await webhookBackend(options, clock))];
  let events = 0;
  const sink = (line: string): void => {
    events += 1;
    for (const { write } of backends) write(line);
  };
  return {
    audit: backends.length === 0 ? undefined : { policy, sink, omitTrace: !isAskedFor(options) },
    counts: () => ({ events, lost: backends.map(({ plugin, lost }) => ({ plugin, count: lost() })) }),
    close: async () => void (await Promise.all(backends.map(({ close }) => close()))),
  };
}

/** Reads the policy and the kubeconfig that the options name. @throws HubError options when one cannot be used */
export async function checkAuditFiles(options: AuditOptions, clock: Clock): Promise<void> {
  const { auditWebhookConfigFile: file } = options;
  await policyOf(options);
  if (file !== undefined) (await webhookTransport(file, clock)).transport.close();
}

/** Whether an option configures audit. */
function isAskedFor({ auditLogPath, auditPolicyFile, auditWebhookConfigFile }: AuditOptions): boolean {
  return [auditLogPath, auditPolicyFile, auditWebhookConfigFile].some((flag) => flag !== undefined);
}

async function policyOf(options: AuditOptions): Promise<AuditPolicy> {
  const { auditPolicyFile: file } = options;
  if (file === undefined) return isAskedFor(options) ? metadataPolicy : defaultAuditPolicy();
  return parseAuditPolicy(await optionText("--audit-policy-file", file), file);
}

const megabyte = 1 << 20;
const dayMs = 24 * 3600 * 1000;
/** At most 1.1 GB, as the log is on by default, unlike that of kube-apiserver, and shares the disk with the store. */
const logDefaults = { maxSizeMb: 100, maxBackups: 10, maxAgeDays: 30 } as const;

/** Values of --audit-log-path that disable the log. */
const noLog: readonly string[] = ["", "none"];

async function logBackend(options: AuditOptions, clock: Clock): Promise<readonly NamedBackend[]> {
  const folder = join(options.dataDir, "audit");
  const { auditLogPath: path = join(folder, "audit.log") } = options;
  if (noLog.includes(path)) return [];
  if (options.auditLogPath === undefined) await privateFolder(folder);
  if (path === "-") return [{ plugin: "log", ...streamAuditLog(process.stdout) }];
  try {
    const log = await openAuditLog({
      path,
      ...logLimits(options),
      now: () => clock.now(),
      trouble: troubleTo(options),
      openFile: options.auditLogPath === undefined ? openOwnAuditFile : undefined,
    });
    const warning = await openAuditLogWarning(path);
    if (warning !== undefined) options.log(logEntry("PermissionsTooOpen", warning));
    return [{ plugin: "log", ...log }];
  } catch (error) {
    if (error instanceof HubError) throw error;
    throw new HubError("options", `--audit-log-path: ${systemErrorText(error, { operation: "write", at: path })}`, {
      cause: error,
    });
  }
}

function logLimits(options: AuditOptions): Pick<AuditLogOptions, "maxBytes" | "maxBackups" | "maxAgeMs"> {
  return {
    maxBytes: (options.auditLogMaxSizeMb ?? logDefaults.maxSizeMb) * megabyte || Infinity,
    maxBackups: options.auditLogMaxBackups ?? logDefaults.maxBackups,
    maxAgeMs: (options.auditLogMaxAgeDays ?? logDefaults.maxAgeDays) * dayMs,
  };
}

async function webhookBackend(options: AuditOptions, clock: Clock): Promise<readonly NamedBackend[]> {
  const { auditWebhookConfigFile: file } = options;
  if (file === undefined) return [];
  const { transport, access } = await webhookTransport(file, clock);
  const webhook = auditWebhook({
    post: async (body, signal) => {
      const headers = {
        "content-type": "application/json",
        accept: "application/json",
        "user-agent": `pratique/${options.release}`,
      };
      const credentials = await access.credentials();
      const reply = await transport.open({ method: "POST", path: "", headers, body, signal, credentials });
      // After a 401 a credential plugin may return other credentials for the next batch.
      if (reply.statusCode === 401) await access.refused?.(credentials).catch(() => false);
      // Only the status and Retry-After are used; the body is discarded.
      reply.on("error", () => undefined).resume();
      const after = reply.headers["retry-after"];
      const isSeconds = after !== undefined && /^\d{1,6}$/.test(after);
      return { status: reply.statusCode ?? 0, retryAfterSeconds: isSeconds ? Number(after) : undefined };
    },
    batchMaxSize: options.auditWebhookBatchMaxSize ?? 400,
    batchMaxWaitMs: options.auditWebhookBatchMaxWaitMs ?? 30_000,
    initialBackoffMs: options.auditWebhookInitialBackoffMs ?? 10_000,
    clock,
    chance: Math.random,
    trouble: troubleTo(options),
  });
  const close = async (): Promise<void> => {
    await webhook.close();
    transport.close();
  };
  return [{ plugin: "webhook", ...webhook, close }];
}

/** The server of the current context of the kubeconfig; batches are posted to its full URL. */
async function webhookTransport(
  file: string,
  clock: Clock,
): Promise<{ readonly transport: Transport; readonly access: KubeconfigAccess }> {
  const text = await optionText("--audit-webhook-config-file", file);
  try {
    const config = await resolveKubeconfig(parseKubeconfig(text, file), { readFile });
    const access = kubeconfigAccess(config, hubWorld({ clock }));
    return { transport: httpsTransport(access), access };
  } catch (error) {
    throw new HubError("options", `--audit-webhook-config-file ${errorText(error)}`, { cause: error });
  }
}

function troubleTo({ log }: AuditOptions): (message: string, error?: Error) => void {
  return (message, error) => log(logEntry("AuditFailed", message, { error }));
}
