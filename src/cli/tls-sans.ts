import { isIP } from "node:net";
import { buildSubjectAltNames } from "../pki/subject-alt-name.ts";
import { CliError } from "./cli-error.ts";
import type { Args } from "./command.ts";

/** The names and addresses of --tls-san, each of which can stand in a certificate. @throws CliError usage */
export function tlsSans(args: Args): readonly string[] {
  const names = args.list("tls-san");
  const wrong = names.find((name) => isIP(name) === 0 && !canStand(name));
  if (wrong === undefined) return names;
  throw new CliError(
    "usage",
    `--tls-san ${JSON.stringify(wrong)}: must be a host name or an address, without scheme and port`,
  );
}

function canStand(name: string): boolean {
  try {
    buildSubjectAltNames({ dns: [name] });
    return true;
  } catch {
    return false;
  }
}
