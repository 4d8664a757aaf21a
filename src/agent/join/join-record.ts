import { join } from "node:path";
import { record, stateFormat, text, textList } from "../../credentials/storage/state-format.ts";

/** For which names a serving certificate is kept. Both empty: the machine's own addresses, whatever they are at the time. */
export interface ServingWish {
  readonly names: readonly string[];
  readonly addresses: readonly string[];
}

/** What a join leaves for the agent that keeps its credential fresh. Holds no secret. */
export interface JoinRecord {
  /** The kubeconfig that uses the credential, by its absolute path; it says which hub and which CA. */
  readonly kubeconfig: string;
  /** Present where a serving certificate is wanted. */
  readonly serving?: ServingWish | undefined;
}

/** Where the record of a folder of certificates stands. */
export function joinRecordPath(certDir: string): string {
  return join(certDir, "pratique-join.json");
}

const format = stateFormat<JoinRecord, "kubeconfig">(
  {
    kubeconfig: text,
    serving: record<ServingWish>({ names: textList, addresses: textList }, ["names", "addresses"]),
  },
  ["kubeconfig"],
);

/** The text of a record. */
export const joinRecordText: (record: JoinRecord) => string = format.print;

/** What a text says, or undefined where it is no record. */
export function readJoinRecord(content: string): JoinRecord | undefined {
  const found = format.parse(content);
  return found?.kubeconfig.startsWith("/") === true ? found : undefined;
}
