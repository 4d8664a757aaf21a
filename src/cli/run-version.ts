import type { RemoteClient } from "../client/remote.ts";
import type { ResolvedKubeconfig } from "../client/resolve-kubeconfig.ts";
import { CliError } from "./cli-error.ts";
import type { Run } from "./command.ts";
import { asCliError } from "./failure.ts";
import type { Io } from "./io.ts";
import { writeResult } from "./output.ts";
import { printable } from "./printable.ts";
import { release } from "./release.ts";
import { findKubeconfig } from "./server-access.ts";

/** Prints the own version at once, and the server's when it answers; a server that does not is an error after that. */
export const runVersion: Run = async (args, io) => {
  const client = { version: release, node: process.version, platform: `${process.platform}/${process.arch}` };
  const config = args.on("client") ? undefined : await findKubeconfig(args, io);
  const server = config === undefined ? undefined : await serverVersion(config, io);
  const found = server !== undefined && "version" in server ? server.version : undefined;
  const gitVersion = found?.["gitVersion"];
  await writeResult(args, io, {
    data: { clientVersion: client, ...(found === undefined ? {} : { serverVersion: found }) },
    table: () =>
      `Client Version: ${release}\n${found === undefined ? "" : `Server Version: ${printable(typeof gitVersion === "string" ? gitVersion : "unknown")}\n`}`,
  });
  if (server !== undefined && "error" in server) throw asCliError(server.error);
};

type Version = Readonly<Record<string, unknown>>;

async function serverVersion(
  config: ResolvedKubeconfig,
  io: Io,
): Promise<{ readonly version: Version } | { readonly error: unknown }> {
  let remote: RemoteClient | undefined;
  try {
    remote = await io.connect(config);
    const reply = await remote.raw("GET", "/version");
    if (reply.status !== 200) throw new CliError("failed", `the server answered ${reply.status} to GET /version`);
    const version: unknown = JSON.parse(reply.body.toString("utf8"));
    if (typeof version !== "object" || version === null)
      throw new CliError("failed", "the server's version is no object");
    return { version: version as Version };
  } catch (error) {
    return { error: error instanceof SyntaxError ? new CliError("failed", "the server's version is not JSON") : error };
  } finally {
    remote?.close();
  }
}
