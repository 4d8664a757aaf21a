import { readText } from "../../host/read-text.ts";
import { resolve } from "node:path";
import type { Discovery } from "../../agent/join/join-options.ts";
import { usageError } from "../cli-error.ts";
import type { Args } from "../command.ts";
import type { Io } from "../io.ts";
import { warnOfOpenKubeconfigFile, warnOfOpenSecrets } from "../open-secrets.ts";

/** The one way to the hub that the command line names. @throws CliError usage */
export async function discoveryOf(args: Args, io: Io): Promise<Discovery> {
  const [endpoint] = args.operands;
  const file = args.text("discovery-file");
  const bootstrap = args.text("bootstrap-kubeconfig");
  const ways = [endpoint, file, bootstrap].filter((way) => way !== undefined);
  if (ways.length !== 1) {
    throw usageError(
      `${ways.length === 0 ? "there is no hub to join" : "there is more than one way to the hub"}: give HOST:PORT, --discovery-file or --bootstrap-kubeconfig, and only one of them`,
    );
  }
  if (endpoint === undefined) refuseTokenFlags(args);
  if (bootstrap !== undefined) {
    if (args.text("token") !== undefined || args.text("token-file") !== undefined) {
      throw usageError("--bootstrap-kubeconfig holds a credential already; leave out --token and --token-file");
    }
    await warnOfOpenKubeconfigFile(resolve(io.cwd, bootstrap), io);
    return { kind: "bootstrap-kubeconfig", path: resolve(io.cwd, bootstrap) };
  }
  const token = await tokenOf(args, io);
  if (file !== undefined) {
    const isRemote = /^https:\/\//i.test(file);
    if (!isRemote && /^[a-z][a-z0-9+.-]*:\/\//i.test(file)) {
      throw usageError(`--discovery-file ${JSON.stringify(file)}: must be a path or an https:// URL`);
    }
    if (!isRemote) await warnOfOpenKubeconfigFile(resolve(io.cwd, file), io);
    return { kind: "file", location: isRemote ? file : resolve(io.cwd, file), token };
  }
  if (token === undefined) {
    throw usageError("the token is missing: give --token-file FILE (- for standard input) or --token TOKEN", [
      "On the hub, `pratique token create --print-join-command` prints a whole command line.",
    ]);
  }
  return {
    kind: "token",
    endpoint: endpoint ?? "",
    token,
    pins: args.list("discovery-token-ca-cert-hash"),
    unsafeSkipCaVerification: args.on("discovery-token-unsafe-skip-ca-verification"),
  };
}

function refuseTokenFlags(args: Args): void {
  if (args.list("discovery-token-ca-cert-hash").length > 0 || args.on("discovery-token-unsafe-skip-ca-verification")) {
    throw usageError("a pin belongs to HOST:PORT; a discovery file or bootstrap kubeconfig names the CA itself");
  }
}

async function tokenOf(args: Args, io: Io): Promise<string | undefined> {
  const token = args.text("token");
  const file = args.text("token-file");
  if (file === undefined) return token;
  if (token !== undefined) throw usageError("--token and --token-file exclude each other");
  if (file === "-") return (await io.stdin()).trim();
  const text = await readText("token-file", file, io);
  await warnOfOpenSecrets([file], io);
  return text.trim();
}
