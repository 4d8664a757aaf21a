import type { Clock, RandomBytes } from "../apimachinery/clock.ts";
import type { LogEntry } from "../apimachinery/log-entry.ts";
import type { NamedFiles } from "../host/read-text.ts";

/** What a program that runs beside a Kubernetes cluster gets from its host. */
export interface World extends NamedFiles {
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly hostname: string;
  readonly log: (entry: LogEntry) => void;
}
