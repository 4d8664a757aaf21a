import { DerError, parseDer } from "./der.ts";
import { parseName } from "./names.ts";
import { oids } from "./oids.ts";

/** Whether an encoded subject holds nothing but organizations and a common name. */
export function isPlainSubject(rawSubject: Uint8Array): boolean {
  try {
    const { rdns } = parseName(parseDer(rawSubject), "subject");
    return rdns.flat().every(({ oid }) => oid === oids.organization || oid === oids.commonName);
  } catch (error) {
    if (error instanceof DerError) return false;
    throw error;
  }
}
