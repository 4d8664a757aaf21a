import { createSecureContext } from "node:tls";
import { bindAddressProblem } from "../hub/bind-address.ts";
import { loadTrustRoots } from "../pki/verify-chain.ts";
import { CliError } from "./cli-error.ts";
import type { Args } from "./command.ts";
import type { Io } from "./io.ts";
import { readText } from "./read-text.ts";
import { tlsSans } from "./tls-sans.ts";

/** Reads what the serving options of a command say, before anything is made in `--cert-dir`. @throws CliError usage, naming option and value */
export async function checkServing(args: Args, io: Io): Promise<void> {
  servingPort(args);
  tlsSans(args);
  const bind = await bindAddressProblem(args.text("bind-address") ?? "");
  if (bind !== undefined) throw new CliError("usage", bind);
  await checkPair(args, io);
  for (const option of ["tls-ca-file", "client-ca-file"]) {
    const file = args.text(option);
    if (file !== undefined) checkCertificates(option, file, await readText(option, file, io));
  }
}

/** The port of `--secure-port`. @throws CliError usage */
export function servingPort(args: Args): number {
  const port = args.number("secure-port") ?? 0;
  if (port > 65_535) throw new CliError("usage", `--secure-port ${port}: must be 0 to 65535`);
  return port;
}

async function checkPair(args: Args, io: Io): Promise<void> {
  const [certFile, keyFile] = [args.text("tls-cert-file"), args.text("tls-private-key-file")];
  if ((certFile === undefined) !== (keyFile === undefined)) {
    throw new CliError("usage", "--tls-cert-file and --tls-private-key-file come together");
  }
  if (certFile === undefined || keyFile === undefined) return;
  const cert = await readText("tls-cert-file", certFile, io);
  const key = await readText("tls-private-key-file", keyFile, io);
  try {
    createSecureContext({ cert, key });
  } catch {
    throw new CliError(
      "usage",
      `--tls-cert-file ${certFile} and --tls-private-key-file ${keyFile} hold no certificate and key in PEM that belong together`,
    );
  }
}

function checkCertificates(option: string, file: string, pem: string): void {
  try {
    if (loadTrustRoots(pem).length > 0) return;
  } catch (error) {
    throw new CliError("usage", `--${option} ${file}: ${error instanceof Error ? error.message : "cannot be read"}`);
  }
  throw new CliError("usage", `--${option} ${file}: holds no certificate in PEM`);
}
