import type { RemoteClient } from "../client/remote.ts";
import type { ResolvedKubeconfig } from "../client/resolve-kubeconfig.ts";
import { stringAt, type Fields } from "../apis/json-fields.ts";
import { CliError } from "./cli-error.ts";
import type { Run } from "./command.ts";
import { asCliError } from "./failure.ts";
import type { Io } from "./io.ts";
import { writeResult } from "./output.ts";
import { printable } from "./printable.ts";
import { release } from "./release.ts";
import { findKubeconfig } from "./server-access.ts";

/** Prints the own version at once, and the server's when it answers; an unreachable server is an error after that. */
export const runVersion: Run = async (args, io) => {
  const client = { version: release, node: process.version, platform: `${process.platform}/${process.arch}` };
  const config = args.on("client") ? undefined : await findKubeconfig(args, io);
  const server = config === undefined ? undefined : await serverVersion(config, io);
  const { version, error } = server ?? {};
  const gitVersion = stringAt(version, "gitVersion") || "unknown";
  await writeResult(args, io, {
    data: { clientVersion: client, serverVersion: version },
    table: () =>
      `Client Version: ${release}\n${version === undefined ? "" : `Server Version: ${printable(gitVersion)}\n`}`,
  });
  if (error !== undefined) throw asCliError(error);
};

interface Answer {
  readonly version?: Fields;
  readonly error?: unknown;
}

async function serverVersion(config: ResolvedKubeconfig, io: Io): Promise<Answer> {
  let remote: RemoteClient | undefined;
  try {
    remote = await io.connect(config);
    const { status, body } = await remote.raw("GET", "/version");
    if (status !== 200) throw new CliError("failed", `the server answered ${status} to GET /version`);
    const version: unknown = JSON.parse(body.toString("utf8"));
    if (typeof version !== "object" || version === null)
      throw new CliError("failed", "the server's version is no object");
    return { version: version as Fields };
  } catch (error) {
    return { error: error instanceof SyntaxError ? new CliError("failed", "the server's version is not JSON") : error };
  } finally {
    remote?.close();
  }
}
