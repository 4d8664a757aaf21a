import { isIP } from "node:net";
import { buildSubjectAltNames } from "../pki/subject-alt-name.ts";
import type { SecureServing } from "../operator/serving/secure-serving.ts";
import { securePort, usageError } from "./cli-error.ts";
import type { Args } from "./command.ts";

/** The serving options of a command. @throws CliError usage, naming option and value */
export function secureServing(args: Args): SecureServing {
  return {
    bindAddress: args.text("bind-address") ?? "",
    port: securePort(args),
    certDir: args.text("cert-dir") ?? "",
    tlsSans: tlsSans(args),
    certFile: args.text("tls-cert-file"),
    keyFile: args.text("tls-private-key-file"),
    caFile: args.text("tls-ca-file"),
    clientCaFile: args.text("client-ca-file"),
  };
}

/** The names and addresses of --tls-san, each valid in a certificate. @throws CliError usage */
export function tlsSans(args: Args): readonly string[] {
  const names = args.list("tls-san");
  const wrong = names.find((name) => isIP(name) === 0 && !canStand(name));
  if (wrong === undefined) return names;
  throw usageError(`--tls-san ${JSON.stringify(wrong)}: must be a host name or an address, without scheme and port`);
}

function canStand(name: string): boolean {
  try {
    buildSubjectAltNames({ dns: [name] });
    return true;
  } catch {
    return false;
  }
}
