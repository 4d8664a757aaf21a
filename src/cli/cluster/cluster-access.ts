import type { Client } from "../../client/client.ts";
import type { RemoteClient } from "../../client/remote.ts";
import { managedClusters } from "../../apis/managed-cluster.ts";
import { CliError, type ExitName } from "../cli-error.ts";
import type { Args } from "../command.ts";
import { failureOf, writeFailure } from "../failure.ts";
import type { Io, Output } from "../io.ts";
import { printable } from "../printable.ts";
import { withServer, type ServerAccess } from "../server-access.ts";

const path = `/apis/${managedClusters.group}/${managedClusters.version}`;

/** Whether the server serves managed clusters; `unknown` where it denies discovery to the caller. */
export async function clustersServed(client: RemoteClient): Promise<"yes" | "no" | "unknown"> {
  const { status } = await client.raw("GET", path);
  return status === 200 ? "yes" : status === 401 || status === 403 ? "unknown" : "no";
}

/** As `withServer`, with a server that has managed clusters. @throws CliError failed where it has none; as `withServer` */
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

/** One of the clusters that a command names; each printed text is escaped to a line. */
export interface NamedCluster {
  readonly name: string;
  readonly client: Client;
  readonly args: Args;
  readonly io: Io;
  /** Prints a note on standard error. */
  readonly note: (text: string) => void;
  /** Prints on standard output what was done. */
  readonly did: (text: string) => void;
}

/** Runs an action for each named cluster, concurrently; the exit is that of the first, in their order, that failed. */
export async function eachCluster(
  args: Args,
  io: Io,
  act: (cluster: NamedCluster) => Promise<void>,
): Promise<ExitName> {
  return withClusters(args, io, async ({ client }) => {
    const exits = [...new Set(args.operands)].map(async (name): Promise<ExitName> => {
      const writerTo =
        ({ write }: Output) =>
        (text: string): void =>
          write(`${printable(`${name}: ${text}`)}\n`);
      try {
        await act({ name, client, args, io, note: writerTo(io.stderr), did: writerTo(io.stdout) });
        return "ok";
      } catch (error) {
        const failure = failureOf(error);
        writeFailure(io, failure);
        return failure.exit;
      }
    });
    return (await Promise.all(exits)).find((exit) => exit !== "ok") ?? "ok";
  });
}
