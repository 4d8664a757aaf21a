import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { OptionError } from "../apimachinery/option-error.ts";
import type { NamedFiles } from "../host/read-text.ts";

/** One file that a policy is made of, as it is now. */
export interface PolicyFile {
  /** Another one for another content. */
  readonly key: string;
  readonly bytes: () => Promise<Buffer>;
}

/** Looks at a file of at most `maxBytes`. @throws OptionError usage when it is not there, or larger */
export async function policyFile(path: string, files: NamedFiles, maxBytes: number): Promise<PolicyFile> {
  const found = await stat(resolve(files.cwd, path)).catch(() => undefined);
  if (found === undefined || !found.isFile()) throw new OptionError("usage", `${path} is not there, or no file`);
  const tooLarge = new OptionError("usage", `${path} is larger than ${maxBytes} bytes`);
  if (found.size > maxBytes) throw tooLarge;
  return {
    key: [found.dev, found.ino, found.size, found.mtimeMs, found.ctimeMs].join(":"),
    bytes: async () => {
      const bytes = Buffer.from(await files.readFile(path));
      if (bytes.length > maxBytes) throw tooLarge;
      return bytes;
    },
  };
}
