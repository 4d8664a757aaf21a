import type { JoinError, JoinErrorCode } from "../../credentials/join-error.ts";
import { CliError } from "../cli-error.ts";
import { joinExit } from "./join-exit.ts";

/** Which option a fault of its kind comes from. */
export type BlamedOptions = Partial<Record<JoinErrorCode, string>>;

/** What to tell of a join or request that failed, with the option that is wrong where there is one. */
export function joinFailure({ code, message }: JoinError, blamed: BlamedOptions = {}): CliError {
  const option = blamed[code];
  const isNamed = option === undefined || message.includes(`--${option}`);
  return new CliError(joinExit(code), isNamed ? message : `--${option}: ${message}`);
}
