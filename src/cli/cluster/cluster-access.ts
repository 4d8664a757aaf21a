import type { RemoteClient } from "../../client/remote.ts";
import { managedClusters } from "../../apis/managed-cluster.ts";
import { CliError } from "../cli-error.ts";
import type { Args } from "../command.ts";
import type { ExitName } from "../exit-code.ts";
import { failureOf } from "../failure.ts";
import type { Io } from "../io.ts";
import { printable } from "../printable.ts";
import { withServer, type ServerAccess } from "../server-access.ts";

const path = `/apis/${managedClusters.group}/${managedClusters.version}`;

/** Whether clusters can join there; where they cannot, nobody needs a right to see them. Who may not ask is told nothing. */
export async function clustersServed(client: RemoteClient): Promise<"yes" | "no" | "unknown"> {
  const { status } = await client.raw("GET", path);
  return status === 200 ? "yes" : status === 401 || status === 403 ? "unknown" : "no";
}

/** As `withServer`, with a server that clusters join. @throws CliError failed where it is none; as `withServer` */
export async function withClusters<T>(args: Args, io: Io, use: (server: ServerAccess) => Promise<T>): Promise<T> {
  return withServer(args, io, async (server) => {
    const { status } = await server.client.raw("GET", path);
    if (status === 404) {
      throw new CliError("failed", `${server.config.server} serves no managed clusters`, [
        "A hub of ours does when it is started with: pratique hub --managed-clusters",
      ]);
    }
    return use(server);
  });
}

/** Tells something on standard error, or what was done on standard output; each text is escaped to a line. */
export function clusterLines(
  io: Io,
  name: string,
): { readonly note: (text: string) => void; readonly did: (text: string) => void } {
  const line = (text: string): string => `${printable(`${name}: ${text}`)}\n`;
  return {
    note: (text) => {
      io.stderr.write(line(text));
    },
    did: (text) => {
      io.stdout.write(line(text));
    },
  };
}

/** Does something for each cluster that is named, all at once; the exit is that of the first, in their order, that failed. */
export async function eachCluster(
  names: readonly string[],
  io: Io,
  act: (name: string) => Promise<void>,
): Promise<ExitName> {
  const exits = await Promise.all(
    [...new Set(names)].map(async (name): Promise<ExitName> => {
      try {
        await act(name);
        return "ok";
      } catch (error) {
        const { exit, message, hints } = failureOf(error);
        for (const line of [`error: ${message}`, ...hints]) io.stderr.write(`${printable(line)}\n`);
        return exit;
      }
    }),
  );
  return exits.find((exit) => exit !== "ok") ?? "ok";
}
