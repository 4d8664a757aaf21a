/** Who sends a request of the corpus: without a credential, with one that has no rights, with the rights of a tenant, with every right. */
export type Sender = "anonymous" | "user" | "tenant" | "admin";

/** One request that is dear to answer. */
export interface CostlyRequest {
  readonly name: string;
  readonly as: Sender;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly type?: string;
  readonly accept?: string;
  readonly body?: () => string | Buffer;
  /** How many are sent at once; default 1. */
  readonly copies?: number;
  /** Nothing but the first bytes of the answer is read, each copy on a connection of HTTP/1.1 or all as streams of one of HTTP/2. */
  readonly unread?: "connections" | "streams";
  /** The statuses that may be answered. */
  readonly statuses: readonly number[];
  /** What it creates stays, for those after it; all else is deleted once the request has been measured. */
  readonly stays?: true;
  /** Sent with every right before the request is sent once more: without it the answer would be there already. */
  readonly renewal?: Pick<CostlyRequest, "method" | "path" | "type" | "body">;
  /** How long to wait, in milliseconds, before it is sent once more: a limit on its rate would refuse all of it right away. */
  readonly restMs?: number;
}
