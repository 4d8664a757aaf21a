import { join } from "node:path";

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

/** The text of a record. */
export function joinRecordText(record: JoinRecord): string {
  return `${JSON.stringify(record, undefined, 2)}\n`;
}

/** What a text says, or undefined where it is no record. */
export function readJoinRecord(text: string): JoinRecord | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return undefined;
    const { kubeconfig, serving } = value as Partial<Record<keyof JoinRecord, unknown>>;
    if (typeof kubeconfig !== "string" || !kubeconfig.startsWith("/")) return undefined;
    const wish = servingIn(serving);
    return { kubeconfig, ...(wish === undefined ? {} : { serving: wish }) };
  } catch {
    return undefined;
  }
}

function servingIn(value: unknown): ServingWish | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { names, addresses } = value as Partial<Record<keyof ServingWish, unknown>>;
  return isTexts(names) && isTexts(addresses) ? { names, addresses } : undefined;
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}
