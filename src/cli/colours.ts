import pc from "picocolors";
import type { Io, Output } from "./io.ts";

/** Functions that colour text, or leave it alone. */
export type Colours = Pick<ReturnType<typeof pc.createColors>, "bold" | "dim" | "red" | "green" | "yellow" | "cyan">;

/** Colours for an output. */
export function coloursFor(output: Output, io: Io): Colours {
  return pc.createColors(isLively(output, io));
}

/** Whether colour and movement may go there: a terminal that is not dumb, and no `NO_COLOR`. @see no-color.org */
export function isLively(output: Output, { env }: Io): boolean {
  return output.isTty && (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb";
}
