import { readFile } from "node:fs/promises";
import { kubeconfigAccess } from "../client/kubeconfig-access.ts";
import { KubeconfigError, parseKubeconfig } from "../client/kubeconfig.ts";
import { ConnectionError } from "../client/client.ts";
import { remoteClient, type RemoteClient } from "../client/remote.ts";
import { retryAfterMs } from "../client/replies.ts";
import { resolveKubeconfig } from "../client/resolve-kubeconfig.ts";
import type { Clock } from "../apimachinery/clock.ts";
import { systemErrorText } from "../apimachinery/system-error.ts";
import { HubError } from "../apimachinery/hub-error.ts";
import { hubWorld } from "../host/kubeconfig-environment.ts";

/** A service of the operator's that a file in the format of kubeconfig names: where it is, whom it trusts, who we are there. */
export interface KubeconfigTarget {
  /** Sends JSON to the address in the file; resolves to the JSON of the answer. Rejects for anything but 200 and 201. */
  post(body: object): Promise<unknown>;
  close(): void;
}

/** An answer that is not the one hoped for; the message never holds the words of the service. */
export class TargetError extends Error {
  override readonly name = "TargetError";
  readonly code: "status" | "body";
  /** The status of the answer. */
  readonly status: number;
  /** How long to wait before another try, in milliseconds, where the answer asks for one. */
  readonly retryAfterMs: number | undefined;

  constructor(code: TargetError["code"], status: number, message: string, retryAfter?: number) {
    super(message);
    this.code = code;
    this.status = status;
    this.retryAfterMs = retryAfter;
  }
}

export interface KubeconfigTargetOptions {
  /** The option that names the file, for messages. */
  readonly flag: string;
  readonly file: string;
  readonly clock: Clock;
  readonly release: string;
  /** In milliseconds, for a whole answer. */
  readonly timeoutMs: number;
  /** The longest answer that is read, in bytes. */
  readonly maxBytes: number;
}

/** Reads the file. Nothing is sent yet. @throws HubError that names option, file and field. */
export async function openKubeconfigTarget(options: KubeconfigTargetOptions): Promise<KubeconfigTarget> {
  const { flag, file } = options;
  try {
    const config = parseKubeconfig(await readFile(file, "utf8"), file);
    const resolved = await resolveKubeconfig(config, { readFile: (path) => readFile(path) });
    const url = new URL(resolved.server);
    const client = remoteClient({
      ...kubeconfigAccess(resolved, hubWorld(options)),
      server: url.origin,
      userAgent: `pratique-hub/${options.release}`,
      timeoutMs: options.timeoutMs,
      clock: options.clock,
      retryBudgetMs: 0,
      maxReplyBytes: options.maxBytes,
    });
    return { post: (body) => post(client, url.pathname, body), close: () => client.close() };
  } catch (error) {
    if (error instanceof ConnectionError)
      throw new HubError("options", `${flag} ${file}: ${error.message}`, { cause: error });
    const why =
      error instanceof KubeconfigError ? error.message : systemErrorText(error, { operation: "read", at: file });
    throw new HubError("options", `${flag}: ${why}`, { cause: error });
  }
}

async function post(client: RemoteClient, path: string, body: object): Promise<unknown> {
  const headers = { "content-type": "application/json", accept: "application/json" };
  const reply = await client.raw("POST", path, { headers, body: Buffer.from(JSON.stringify(body)) });
  if (reply.status < 200 || reply.status > 299) {
    const retryAfter = retryAfterMs(reply.status, reply.headers["retry-after"]);
    throw new TargetError("status", reply.status, `the service answered with status ${reply.status}`, retryAfter);
  }
  try {
    return JSON.parse(reply.body.toString("utf8")) as unknown;
  } catch {
    // The parser's own message would quote the answer.
    throw new TargetError("body", reply.status, "the answer of the service is not JSON");
  }
}
