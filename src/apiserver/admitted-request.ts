import type { UserInfo } from "../apimachinery/user.ts";
import type { YamlWork } from "../serializer/yaml/yaml-thread.ts";
import type { Credential } from "../apis/revocation-index.ts";
import type { Incoming, Outgoing, Query, Reply, Upgrade } from "./http-types.ts";
import type { ReceivedBody } from "./progress.ts";
import type { RequestInfo } from "./request-info.ts";
import type { RequestLimits } from "./body/body.ts";
import type { CommonHeaders } from "./respond.ts";
import type { SendBuffer } from "./connections/send-buffers.ts";

/** An authenticated and authorized request, as its handler receives it. */
export interface Admitted {
  readonly request: Incoming;
  readonly response: Outgoing;
  readonly info: RequestInfo;
  readonly query: Query;
  readonly user: UserInfo;
  /** The authenticated user, also where `user` is impersonated, and its credential; an anonymous user has none. */
  readonly requester: Requester;
  /** Milliseconds since the epoch, read once. */
  readonly now: number;
  readonly warn: (text: string) => void;
  /** Adds an annotation to the audit event; the first value of a key stays. */
  readonly annotate: (key: string, value: string) => void;
  /** The flow in which large work of this request takes turns. */
  readonly flow: string;
  /** Reads and writes YAML in the turns of this flow. */
  readonly yaml: YamlWork;
  /** The limits of the body. */
  readonly limits: RequestLimits;
  /** Reads the whole body, within its limits, without occupying a seat meanwhile. @throws StatusError RequestEntityTooLarge, Timeout, BadRequest, Unauthorized where the credential was revoked meanwhile; TooManyRequests. */
  readonly body: () => Promise<Buffer>;
  /** Adds the request body to the audit event. */
  readonly receivedBody: (body: ReceivedBody) => void;
  /** The share of this answer in the send buffers. */
  readonly buffer: () => SendBuffer;
  /** Authorizes `verb` on the same object for the user as well. @throws StatusError Forbidden. */
  readonly authorizeVerb: (verb: string) => Promise<void>;
  /** Headers that a handler sends before its stream. */
  readonly common: () => CommonHeaders;
  /** A handler calls it when its stream begins; the code of its answer is 200 by default. */
  readonly streaming: (code?: number) => void;
  /** Releases the seat of the request, for one that waits for another server from now on. */
  readonly releaseSeat: () => void;
  /** The connection itself, for an upgrade request. */
  readonly upgrade: Upgrade | undefined;
}

/** The user that a request is authenticated as, and its credential. */
export interface Requester {
  readonly user: UserInfo;
  readonly credential?: Credential;
}

/** Serves a request: resolves with a reply to send, or with `streamed` once its stream has ended. */
export type Handler = (admitted: Admitted) => Promise<Reply | "streamed">;
