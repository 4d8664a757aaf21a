import { formatToken, generateToken } from "../../trust/token.ts";
import type { Args } from "../command.ts";
import type { ExitName } from "../exit-code.ts";
import type { Io } from "../io.ts";

/** Prints a fresh token. */
export async function tokenGenerate(_args: Args, io: Io): Promise<ExitName> {
  io.stdout.write(`${formatToken(generateToken(io.random))}\n`);
  return "ok";
}
