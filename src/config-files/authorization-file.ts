import { repeat } from "../host/repeat.ts";
import { optionText } from "../host/read-text.ts";
import { fieldsError, yamlOf } from "./option-file.ts";
import { readAuthorizationConfiguration, type ConfiguredAuthorizer } from "../authorization/configuration.ts";
import type { Clock } from "../apimachinery/clock.ts";
import { authorizationModes, type BuiltChain } from "./authorization-members.ts";
import type { AuthorizationMetrics } from "../authorization/metrics.ts";
import { logEntry, type LogEntry } from "../apimachinery/log-entry.ts";

/** How often the file is read, in milliseconds. */
const pollMs = 5_000;
/** How long a replaced chain may still answer earlier requests, in milliseconds. */
const farewellMs = 60_000;

/** The text of the file and the authorizers in it. @throws HubError that names option, file and fields. */
export async function readAuthorizationFile(
  file: string,
): Promise<{ readonly text: string; readonly authorizers: readonly ConfiguredAuthorizer[] }> {
  const place = `--authorization-config ${file}`;
  const text = await optionText(place, file);
  const read = readAuthorizationConfiguration(yamlOf(text, place), authorizationModes);
  if (read.authorizers !== undefined) return { text, authorizers: read.authorizers };
  throw fieldsError(place, read.errors);
}

export interface FollowOptions {
  readonly file: string;
  /** The text of the first chain. */
  readonly text: string;
  readonly build: (authorizers: readonly ConfiguredAuthorizer[]) => Promise<BuiltChain>;
  /** Replaces the chain and returns the previous one. */
  readonly replace: (next: BuiltChain) => BuiltChain;
  readonly clock: Clock;
  readonly metrics: AuthorizationMetrics;
  readonly log: (entry: LogEntry) => void;
  readonly signal: AbortSignal;
}

/** Reads the file until `signal` aborts. An invalid file changes nothing; each change of it is logged once. */
export async function followAuthorizationFile(options: FollowOptions): Promise<void> {
  const { file, clock, metrics, log, signal } = options;
  let seen = options.text;
  const look = async (): Promise<void> => {
    const { text, authorizers } = await readAuthorizationFile(file);
    if (text === seen) return;
    const before = options.replace(await options.build(authorizers));
    void clock.sleep(farewellMs, signal).then(before.close);
    seen = text;
    metrics.reloaded("success", clock.now());
    log(logEntry("Reloaded", "the hub reloaded the authorization configuration", { authorizers: authorizers.length }));
  };
  const failed = (error: string): void => {
    metrics.reloaded("failure", clock.now());
    const message = "reload of the authorization configuration failed; the hub keeps the previous one";
    log(logEntry("ReloadFailed", message, { error }));
  };
  await repeat({ clock, signal, everyMs: pollMs, work: look, failed });
}
