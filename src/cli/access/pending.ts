import type { Args } from "../command.ts";
import type { ExitName } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { writeResult } from "../output.ts";
import { withServer } from "../server-access.ts";
import { pendingData, readPending } from "./pending-list.ts";
import { pendingText, unseenLines } from "./pending-text.ts";

/** Prints the requests that wait for a decision, the oldest of each kind first; what may not be seen is said on standard error. */
export async function pending(args: Args, io: Io): Promise<ExitName> {
  return withServer<ExitName>(args, io, async (server) => {
    if (args.on("watch") || args.on("watch-only")) {
      const { watchPending } = await import("./pending-watch.ts");
      return watchPending(args, io, server);
    }
    const found = await readPending(server.client, io.clock.now());
    for (const line of unseenLines(found)) io.stderr.write(`${line}\n`);
    await writeResult(args, io, {
      data: pendingData(found),
      table: () => pendingText(found, { io, isWide: args.text("output") === "wide" }),
    });
    return "ok";
  });
}
