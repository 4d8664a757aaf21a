import type { Duplex, Readable } from "node:stream";
import type { ApiObject } from "../../apimachinery/object.ts";

/** A request to the kubelet of a Node, under the hub's own credential: nothing of the client's credential goes along. */
export interface KubeletRequest {
  readonly node: ApiObject;
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: Buffer | undefined;
  /** Whether the kubelet is asked to speak another protocol from then on. */
  readonly isUpgrade: boolean;
  /** Whether the certificate of the kubelet goes unverified even where the hub has a CA for it. */
  readonly skipsVerification: boolean;
  /** Milliseconds until the kubelet must have begun its answer; Infinity for one that may rightly be silent, such as a followed log. */
  readonly answerMs: number;
  /** Breaks the request and its answer off. */
  readonly signal: AbortSignal;
}

/** What the kubelet answers: a response, or the connection itself, which speaks another protocol now. */
export type KubeletAnswer = KubeletResponse | KubeletUpgrade;

export interface KubeletResponse {
  readonly kind: "response";
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Readable;
}

export interface KubeletUpgrade {
  readonly kind: "upgraded";
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly socket: Duplex;
  /** What the kubelet has sent in the new protocol already. */
  readonly head: Buffer;
}

/** Asks a kubelet. @throws StatusError InternalError where it cannot be reached, is not trusted, or does not answer in time. */
export type AskKubelet = (request: KubeletRequest) => Promise<KubeletAnswer>;
