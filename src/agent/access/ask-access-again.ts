import { getOrUndefined } from "../../client/api-errors.ts";
import { ConnectionError } from "../../client/client.ts";
import { generatedName, generatedNameAlphabet } from "../../apimachinery/names.ts";
import { StatusError } from "../../apimachinery/status.ts";
import { certificatesOfBundle, PinError } from "../../trust/pins.ts";
import { accessRequests, stateOf, type AccessRequest } from "../../apis/access-request.ts";
import type { AccessFolder, AskedRequest, StoredAccess } from "../../credentials/storage/access-folder.ts";
import { connectionFailure } from "../../credentials/request/connection-failure.ts";
import { JoinError } from "../../credentials/join-error.ts";
import type { AgentEvent } from "../../credentials/credential-event.ts";
import type { JoinEvent, JoinReport } from "../join/join-event.ts";
import { requestAccess, type RequestAccessOptions } from "./request-access.ts";
import { hubClient } from "../../host/hub-client.ts";

/** What a repeated request needs beside the contents of the folder. */
export interface AskAgainOptions extends Pick<
  RequestAccessOptions,
  "hostname" | "keyFile" | "clock" | "random" | "signal" | "userAgent" | "files"
> {
  readonly folder: AccessFolder;
  /** The credential that the hub no longer accepts. */
  readonly refused: StoredAccess;
  /** How long to wait for a decision, in milliseconds; default a week. */
  readonly waitMs?: number | undefined;
}

/** The next step for the stored request of the machine. */
export type AskAgainStep = "go on" | "request again" | "stop";

const maxWaitMs = 7 * 86_400_000;
const discoveryTimeoutMs = 10_000;
const timeoutMs = 10_000;

/**
 * Requests access once more with the key and the trusted CA of the folder, under a new name, and waits for the approvers. An earlier
 * repeated request that is still pending is resumed; a denied one ends it. @throws JoinError
 */
export async function askAccessAgain(options: AskAgainOptions, report: JoinReport): Promise<void> {
  const { folder, refused } = options;
  const asked = await folder.asked();
  if (asked === undefined || (await folder.text(folder.key)) === undefined) {
    throw new JoinError(
      "no-access",
      `${folder.dir} does not say what was asked for, or has no key: ask with pratique request`,
    );
  }
  const step = askAgainStep(await known(asked, options), asked.uid);
  if (step === "stop") {
    throw new JoinError(
      "denied",
      `the request ${asked.name} was denied; to request access again, run pratique request with another --name`,
    );
  }
  if (step === "go on") {
    await requestAccess(requestOptions(asked, asked.name, options), report);
    if ((await folder.text(folder.token)) !== refused.token) return;
  }
  await requestAccess(requestOptions(asked, anotherName(asked.name, options), options), report);
}

/** Decides by the hub's present copy of the request; `uid` is that of the stored one. */
export function askAgainStep(request: AccessRequest | undefined, uid: string): AskAgainStep {
  if (request === undefined || request.metadata.uid !== uid) return "request again";
  const state = stateOf(request);
  if (state === "Denied") return "stop";
  if (state === "Revoked" || state === "Expired") return "request again";
  return request.status?.conditions?.some(({ type, status }) => type === "Expired" && status === "True") === true
    ? "request again"
    : "go on";
}

async function known(asked: AskedRequest, options: AskAgainOptions): Promise<AccessRequest | undefined> {
  const { refused, clock, userAgent } = options;
  const { server, caPem } = refused;
  const client = hubClient({ server, caPem, clock, userAgent, timeoutMs });
  try {
    return await getOrUndefined<AccessRequest>(client, accessRequests, { name: asked.name });
  } catch (error) {
    if (error instanceof ConnectionError) throw connectionFailure(error, { server });
    if (!(error instanceof StatusError)) throw error;
    throw new JoinError("refused", `the hub does not show the request ${asked.name}: ${error.message}`, {
      cause: error,
      causeCode: error.reason,
    });
  } finally {
    client.close();
  }
}

/** The same name with another random suffix. */
function anotherName(name: string, { random }: AskAgainOptions): string {
  const suffix = /-[^-]{5}$/.exec(name)?.[0] ?? "";
  const isGenerated =
    suffix !== "" &&
    suffix
      .slice(1)
      .split("")
      .every((letter) => generatedNameAlphabet.includes(letter));
  return generatedName(`${(isGenerated ? name.slice(0, -suffix.length) : name).slice(0, 50)}-`, random);
}

function pinsOf({ caPem }: StoredAccess): readonly string[] {
  try {
    return certificatesOfBundle(caPem).map(({ pin }) => pin);
  } catch (error) {
    if (!(error instanceof PinError)) throw error;
    throw new JoinError(
      "no-access",
      `the CA of this machine cannot be read (${error.message}): ask with pratique request`,
    );
  }
}

function requestOptions(asked: AskedRequest, name: string, options: AskAgainOptions): RequestAccessOptions {
  const { folder, refused, waitMs = maxWaitMs, ...rest } = options;
  const { server, profile, claims } = asked;
  return {
    ...rest,
    endpoint: server,
    // The CA that is trusted now, and not that of the first request: it may have been replaced since.
    pins: pinsOf(refused),
    name,
    profile,
    claims,
    dir: folder.dir,
    waitMs,
    discoveryTimeoutMs,
  };
}

/** The agent's event for a repeated access request; undefined for one that needs no log line. */
export function requestReport(event: JoinEvent): Pick<AgentEvent, "reason" | "message" | "details"> | undefined {
  switch (event.kind) {
    case "access-asked": {
      const { name, fingerprint, words } = event;
      const message = `requested access: accessrequest/${name}`;
      return { reason: "AccessRequested", message, details: { fingerprint, words: words.join(" ") } };
    }
    case "waiting-for-access": {
      const approve = event.commands.join(" or ");
      return { reason: "ApprovalPending", message: "waiting for approval of access", details: { approve } };
    }
    case "retrying":
    case "clock-differs":
      return { reason: "AttemptFailed", message: event.message };
    default:
      return undefined;
  }
}
