import { StatusError } from "../../apimachinery/status.ts";
import { isBrokenOff } from "../connections/disconnect.ts";
import type { Incoming } from "../http-types.ts";
import { authenticatedGroup, type UserInfo } from "../../apimachinery/user.ts";
import type { RequestInfo } from "../request-info.ts";

/** The largest body that any request may have, in bytes. Source: apiserver's MaxRequestBodyBytes. */
export const maxBodyBytes: number = 3 * 1024 * 1024;

/** How much of a refused body is still read, and for how long, so that the client receives the answer. */
const lingerBytes = 16 * 1024 * 1024;
const lingerMs = 5_000;
/** How long the rest of a large body may take once it has a seat, in milliseconds; those behind it wait for 15 seconds. */
const admittedMs = 10_000;

/** What a body may take. */
export interface BodyLimits {
  readonly timeoutMs: number;
  /** Default 3145728 (3 MiB). */
  readonly maxBytes?: number;
  /** Awaited once, before more bytes than this are read. A rejection ends the reading. */
  readonly large?: { readonly fromBytes: number; readonly admitted: () => Promise<void> };
}

/** Reads a whole body. @throws StatusError RequestEntityTooLarge, Timeout, or BadRequest when the client breaks off or sends it in crumbs. */
export function readBody(request: Incoming, limits: BodyLimits): Promise<Buffer> {
  const { maxBytes = maxBodyBytes, large } = limits;
  return new Promise((resolve, reject) => {
    const body = growingBuffer();
    const count = chunkCount();
    let timer = setTimeout(() => fail(tooSlow()), limits.timeoutMs).unref();
    const stop = (): void => {
      clearTimeout(timer);
      request.off("data", onData).off("end", onEnd).off("error", onError).off("aborted", onError).off("close", onError);
    };
    const fail = (error: unknown): void => {
      stop();
      discardBody(request);
      reject(error);
    };
    const onData = (chunk: Buffer): void => {
      if (body.size() + chunk.length > maxBytes) return fail(tooLarge(maxBytes));
      if (!count.take(chunk)) return fail(inCrumbs());
      body.add(chunk);
      if (large !== undefined && body.size() > large.fromBytes && !isAdmitted) awaitAdmission(large.admitted);
    };
    let isAdmitted = false;
    const awaitAdmission = (admitted: () => Promise<void>): void => {
      isAdmitted = true;
      request.pause();
      const goOn = (): void => {
        // Other bodies wait for the seat that this one has now.
        clearTimeout(timer);
        timer = setTimeout(() => fail(tooSlow()), admittedMs).unref();
        request.resume();
      };
      admitted().then(goOn, fail);
    };
    const onEnd = (): void => {
      if ("stream" in request && request.stream.aborted) return onError();
      stop();
      resolve(body.bytes());
    };
    const onError = (): void => fail(new StatusError("BadRequest", "the request body ended early"));
    // A client that has disconnected by now emits no further event.
    if (isBrokenOff(request)) {
      onError();
      return;
    }
    if (Number(request.headers["content-length"] ?? 0) > maxBytes) {
      fail(tooLarge(maxBytes));
      return;
    }
    request.on("data", onData).on("end", onEnd).on("error", onError).on("aborted", onError).on("close", onError);
  });
}

/** Whether a request has a body, or announces one. */
export function bringsBody(request: Incoming): boolean {
  if ("stream" in request) return !request.stream.endAfterHeaders;
  const { "transfer-encoding": encoding, "content-length": length = "0" } = request.headers;
  return encoding !== undefined || length !== "0";
}

function tooSlow(): StatusError {
  return new StatusError("Timeout", "Timeout: request body was not received in time");
}

function inCrumbs(): StatusError {
  return new StatusError("BadRequest", "the request body comes in too many small chunks; send larger ones");
}

interface GrowingBuffer {
  readonly size: () => number;
  readonly add: (chunk: Buffer) => void;
  readonly bytes: () => Buffer;
}

/** One buffer for all chunks, however small they are: kept one by one, each would take a hundred bytes besides its own. */
function growingBuffer(): GrowingBuffer {
  let bytes: Buffer | undefined;
  let size = 0;
  return {
    size: () => size,
    add: (chunk) => {
      if (bytes === undefined) bytes = chunk;
      else {
        if (size + chunk.length > bytes.length) {
          const larger = Buffer.allocUnsafe(Math.max(2 * bytes.length, size + chunk.length));
          bytes.copy(larger, 0, 0, size);
          bytes = larger;
        }
        chunk.copy(bytes, size);
      }
      size += chunk.length;
    },
    bytes: () => bytes?.subarray(0, size) ?? Buffer.alloc(0),
  };
}

/** Chunks without a minimum, and the average bytes that each later one must have: a chunk costs about ten microseconds, whatever its size. */
const freeChunks = 500;
const bytesPerChunk = 256;

/** Counts chunks; `take` returns false once there are too many for their bytes. */
function chunkCount(): { readonly take: (chunk: Buffer) => boolean } {
  let chunks = 0;
  let size = 0;
  return {
    take: (chunk) => {
      chunks += 1;
      size += chunk.length;
      return chunks <= freeChunks + size / bytesPerChunk;
    },
  };
}

function tooLarge(maxBytes: number): StatusError {
  return new StatusError("RequestEntityTooLarge", `Request entity too large: limit is ${maxBytes}`);
}

/**
 * Reads and drops the rest of a refused body, so that the client receives the answer. A client that exceeds the limits in time, in
 * bytes or in chunks is disconnected.
 */
export function discardBody(request: Incoming): void {
  request.once("error", () => undefined);
  if (isBrokenOff(request)) return;
  let left = lingerBytes;
  const count = chunkCount();
  const cut = (): void => cutConnection(request);
  const timer = setTimeout(cut, lingerMs).unref();
  request.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0 || !count.take(chunk)) cut();
  });
  request.resume();
  for (const end of ["end", "close"] as const) request.once(end, () => clearTimeout(timer));
}

/** The whole connection: node would otherwise parse piece by piece what has arrived on it already. */
function cutConnection(request: Incoming): void {
  if ("stream" in request) request.stream.session?.destroy();
  request.destroy();
}

/** The limits of one body; known before any of it is read. */
export interface RequestLimits {
  readonly maxBytes: number;
  /** JSON values of any kind, in every media type; keys are not counted. Work on an object grows with them. */
  readonly maxValues: number;
}

interface LimitsRow extends RequestLimits {
  /** A user without this group is limited by this row. */
  readonly unlessGroup?: string;
  /** Members of this group are limited by this row. */
  readonly group?: string;
  /** API groups of the path. */
  readonly apiGroups?: ReadonlySet<string>;
  readonly resource?: string;
  readonly verbs?: ReadonlySet<string>;
  readonly mediaType?: string;
}

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

/** The first row that fits decides; the last one fits everything. */
const rows: readonly LimitsRow[] = [
  { unlessGroup: authenticatedGroup, maxBytes: 32 * kibibyte, maxValues: 1000 },
  { group: "system:bootstrappers", maxBytes: 64 * kibibyte, maxValues: 1000 },
  { verbs: new Set(["delete", "deletecollection"]), maxBytes: 64 * kibibyte, maxValues: 1000 },
  {
    // Reviews need no right to write anything. A review names groups and extra values of one user.
    apiGroups: new Set(["authentication.k8s.io", "authorization.k8s.io"]),
    maxBytes: 128 * kibibyte,
    maxValues: 5000,
  },
  { resource: "accessexplanations", maxBytes: 128 * kibibyte, maxValues: 5000 },
  // Ten thousand operations of four values, as many as kube-apiserver takes.
  { mediaType: "application/json-patch+json", maxBytes: 3 * mebibyte, maxValues: 50_000 },
  { resource: "customresourcedefinitions", maxBytes: 3 * mebibyte, maxValues: 65_536 },
  // Defaulting multiplies the values of a Pod, and no kubelet runs a hundredth of this.
  { resource: "pods", maxBytes: 3 * mebibyte, maxValues: 5000 },
  // As many bytes as kube-apiserver takes (MaxRequestBodyBytes).
  { maxBytes: 3 * mebibyte, maxValues: 20_000 },
];

/** What limits depend on besides the path: the user, whether it is authenticated, and the media type of the body in lower case. */
export interface LimitedSender {
  readonly user: UserInfo;
  readonly mediaType: string;
}

/** The limits of one request. */
export function requestLimits(info: RequestInfo, sender: LimitedSender): RequestLimits {
  return rows.find((row) => fits(row, info, sender)) ?? { maxBytes: 0, maxValues: 0 };
}

function fits(row: LimitsRow, info: RequestInfo, { user: { groups }, mediaType }: LimitedSender): boolean {
  if (!isWanted(row.mediaType, mediaType) || !isWanted(row.resource, info.resource)) return false;
  if (row.unlessGroup !== undefined && groups.includes(row.unlessGroup)) return false;
  if (row.group !== undefined && !groups.includes(row.group)) return false;
  return row.verbs?.has(info.verb) !== false && row.apiGroups?.has(info.group) !== false;
}

function isWanted(wanted: string | undefined, found: string): boolean {
  return wanted === undefined || wanted === found;
}

/** The 413 for a body of more values than it may hold. */
export function tooManyValues(maxValues: number): StatusError {
  return new StatusError(
    "RequestEntityTooLarge",
    `Request entity too large: the body holds more than ${maxValues} JSON values; send less, or split the object into several`,
  );
}
