/** The client configuration of a webhook, as in webhook configurations and conversions. Source: admissionregistration/v1 WebhookClientConfig. */
export interface WebhookClientConfig {
  /** https, without user, query or fragment; excludes `service`. */
  readonly url?: string;
  readonly service?: ServiceReference;
  /** Base64 of PEM: the CAs that may have signed the certificate. Absent or empty: those of the system. */
  readonly caBundle?: string;
}

/** A Service, reached as `<name>.<namespace>.svc`. */
export interface ServiceReference {
  readonly namespace: string;
  readonly name: string;
  readonly path?: string;
  readonly port?: number;
}

export interface WebhookCall {
  readonly config: WebhookClientConfig;
  /** Sent as JSON. */
  readonly body: object;
  /** Milliseconds for everything from connecting to the last byte of the answer. */
  readonly timeoutMs: number;
  /** Adds `?timeout=10s` to the URL, so that the webhook knows how long it has. */
  readonly announceTimeout?: boolean;
  /** Sent in the header Authorization, e.g. `Bearer abc`. */
  readonly authorization?: string;
}

/** Posts to a webhook and resolves with the parsed JSON of its response. @throws WebhookCallError for every failure. */
export type CallWebhook = (call: WebhookCall) => Promise<unknown>;

/**
 * `target`: the configuration names no valid target. `unreachable`: no connection. `tls`: the server is not trusted.
 * `timeout`: too late. `status`: a response code other than 200. `body`: a response that is too long or not JSON.
 */
export type WebhookCallErrorCode = "target" | "unreachable" | "tls" | "timeout" | "status" | "body";

/** Why a webhook call failed; the message contains nothing of the response. */
export class WebhookCallError extends Error {
  readonly code: WebhookCallErrorCode;

  constructor(code: WebhookCallErrorCode, message: string) {
    super(message);
    this.name = "WebhookCallError";
    this.code = code;
  }
}
