/** Why a hub does not start; the message is one sentence for the operator. */
export type HubErrorCode = "options" | "data-dir" | "port" | "ca";

export class HubError extends Error {
  readonly code: HubErrorCode;

  constructor(code: HubErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "HubError";
    this.code = code;
  }
}
