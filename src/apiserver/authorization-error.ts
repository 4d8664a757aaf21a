const escapes: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/** A request that was not allowed because an authorizer failed: 500 in plain text. Source: apiserver endpoints/handlers/responsewriters InternalError. */
export class UndecidedRequest extends Error {
  override readonly name = "UndecidedRequest";
  readonly code = "authorizer";

  constructor(uri: string, why: string) {
    const text = `Internal Server Error: ${JSON.stringify(uri)}: ${why}`;
    super(text.replaceAll(/[&<>]/g, (character) => escapes[character] ?? character));
  }
}
