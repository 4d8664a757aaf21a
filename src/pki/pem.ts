/** Why a text is not the PEM that was expected. */
export type PemErrorCode = "tooLarge" | "empty" | "text" | "label" | "headers" | "base64" | "unterminated";

/** Thrown when a text is not strict PEM. The message never quotes the content. */
export class PemError extends Error {
  readonly code: PemErrorCode;

  constructor(code: PemErrorCode, message: string) {
    super(message);
    this.name = "PemError";
    this.code = code;
  }
}

/** One block: the content between BEGIN and END, and its label. */
export interface PemBlock {
  readonly label: string;
  readonly bytes: Uint8Array;
}

export interface PemOptions {
  /** In characters, default 1,048,576 (1 MiB). */
  readonly maxLength?: number;
  /** Whether text between the blocks is allowed, as `openssl x509 -text` writes it; default `refuse`. */
  readonly surroundingText?: "refuse" | "ignore";
}

const beginLine = /^-----BEGIN ([A-Z0-9][A-Z0-9 ]*)-----$/;

/**
 * The blocks of a PEM text, at least one. Lines may end in LF or CRLF and have trailing blanks; headers
 * (`Proc-Type: …`) are rejected, as is base64 that is not canonical.
 * @throws PemError
 * @see RFC 7468
 */
export function decodePem(text: string, options: PemOptions = {}): readonly PemBlock[] {
  const maxLength = options.maxLength ?? 1_048_576;
  if (text.length > maxLength) throw new PemError("tooLarge", `PEM text is larger than ${maxLength} bytes`);
  const lines = text.split("\n").map((line) => line.trimEnd());
  const blocks: PemBlock[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] ?? "";
    const label = beginLine.exec(line)?.[1];
    if (label !== undefined) {
      const end = endOfBlock(lines, at, label);
      blocks.push({ label, bytes: decodeBody(lines.slice(at + 1, end)) });
      at = end;
    } else if (!isIgnored(line, options)) {
      throw new PemError("text", "there is text outside of the PEM blocks");
    }
    at++;
  }
  if (blocks.length === 0) throw new PemError("empty", "there is no PEM block");
  return blocks;
}

/**
 * The bytes of the only block, which must have this label.
 * @throws PemError
 */
export function decodeOnePem(text: string, label: string, options: PemOptions = {}): Uint8Array {
  const blocks = decodePem(text, options);
  const [block] = blocks;
  if (block === undefined || block.label !== label) throw new PemError("label", `PEM block type must be ${label}`);
  if (blocks.length > 1) throw new PemError("label", `there must be exactly one PEM block of type ${label}`);
  return block.bytes;
}

/** One block in lines of 64 characters, with a newline at the end. */
export function encodePem(label: string, bytes: Uint8Array): string {
  const base64 = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64");
  let body = "";
  for (let at = 0; at < base64.length; at += 64) {
    body += `${base64.slice(at, at + 64)}\n`;
  }
  return `-----BEGIN ${label}-----\n${body}-----END ${label}-----\n`;
}

function isIgnored(line: string, { surroundingText }: PemOptions): boolean {
  return line === "" || (surroundingText === "ignore" && !line.startsWith("-----"));
}

function endOfBlock(lines: readonly string[], begin: number, label: string): number {
  let end = begin + 1;
  while (end < lines.length && lines[end]?.startsWith("-----") === false) {
    end++;
  }
  if (lines[end] !== `-----END ${label}-----`) {
    throw new PemError("unterminated", "a PEM block has no matching END line");
  }
  return end;
}

function decodeBody(lines: readonly string[]): Uint8Array {
  if (lines.some((line) => line.includes(":"))) {
    throw new PemError("headers", "PEM headers are not accepted; an encrypted key must be decrypted first");
  }
  const body = lines.join("");
  const bytes = Buffer.from(body, "base64");
  // Encoding again is the only complete check: it catches invalid characters, wrong padding and stray bits at once.
  if (body === "" || bytes.toString("base64") !== body) {
    throw new PemError("base64", "the PEM body is not canonical base64");
  }
  return bytes;
}
