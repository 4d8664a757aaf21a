import { readFile } from "node:fs/promises";
import { readAuthorizationConfiguration, type ConfiguredAuthorizer } from "../authorization/configuration.ts";
import type { Clock } from "../apimachinery/clock.ts";
import { loadYaml, YamlError } from "../serializer/yaml/bounded-yaml.ts";
import { authorizationModes, type BuiltChain } from "./authorization-members.ts";
import type { AuthorizationMetrics } from "../authorization/metrics.ts";
import { errorText } from "../apimachinery/error-text.ts";
import { HubError } from "../apimachinery/hub-error.ts";
import { logEntry, type LogEntry } from "../apimachinery/log-entry.ts";
import { systemErrorText } from "../apimachinery/system-error.ts";

const maxCharacters = 1 << 20;
/** How often the file is looked at, in milliseconds. */
const pollMs = 5_000;
/** How long a chain that was replaced may still answer what it was asked, in milliseconds. */
const farewellMs = 60_000;

/** The text of the file and the authorizers in it. @throws HubError that names option, file and fields. */
export async function readAuthorizationFile(
  file: string,
): Promise<{ readonly text: string; readonly authorizers: readonly ConfiguredAuthorizer[] }> {
  const place = `--authorization-config ${file}`;
  let text: string;
  let value: unknown;
  try {
    text = await readFile(file, "utf8");
    value = loadYaml(text, { maxCharacters, numbers: "number" });
  } catch (error) {
    const why = error instanceof YamlError ? error.message : systemErrorText(error, { operation: "read", at: file });
    throw new HubError("options", `${place}: ${why}`, { cause: error });
  }
  const read = readAuthorizationConfiguration(value, authorizationModes);
  if (read.authorizers !== undefined) return { text, authorizers: read.authorizers };
  const why = read.errors.map(({ path, message }) => `${path}: ${message}`).join("; ");
  throw new HubError("options", `${place}: ${why}`);
}

export interface FollowOptions {
  readonly file: string;
  /** The text that the first chain was made from. */
  readonly text: string;
  readonly build: (authorizers: readonly ConfiguredAuthorizer[]) => Promise<BuiltChain>;
  /** Puts a new chain in place of the one before, which it returns. */
  readonly replace: (next: BuiltChain) => BuiltChain;
  readonly clock: Clock;
  readonly metrics: AuthorizationMetrics;
  readonly log: (entry: LogEntry) => void;
  readonly signal: AbortSignal;
}

/** Looks at the file until `signal` aborts. A file that is broken changes nothing; each change of it is logged once. */
export async function followAuthorizationFile(options: FollowOptions): Promise<void> {
  const { file, clock, metrics, log, signal } = options;
  let seen = options.text;
  let complaint = "";
  for (;;) {
    await clock.sleep(pollMs, signal);
    if (signal.aborted) return;
    try {
      const { text, authorizers } = await readAuthorizationFile(file);
      if (text === seen) {
        complaint = "";
        continue;
      }
      const built = await options.build(authorizers);
      const before = options.replace(built);
      void clock.sleep(farewellMs, signal).then(before.close);
      seen = text;
      complaint = "";
      metrics.reloaded("success", clock.now());
      log(
        logEntry("Reloaded", "the hub reloaded the authorization configuration", { authorizers: authorizers.length }),
      );
    } catch (error) {
      const text = errorText(error);
      if (text === complaint) continue;
      complaint = text;
      metrics.reloaded("failure", clock.now());
      log(
        logEntry("ReloadFailed", "reload of the authorization configuration failed; the hub keeps the previous one", {
          error: text,
        }),
      );
    }
  }
}
