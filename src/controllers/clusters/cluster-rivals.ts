import type { ApiObject } from "../../apimachinery/object.ts";
import type { CsrContents } from "../../pki/csr.ts";
import { keyFingerprint } from "../../pki/keys.ts";
import { agentUser } from "../../apis/managed-cluster.ts";
import { csrView, hasCondition } from "../certificates/csr-view.ts";
import { issueOfCsr } from "../credentials/credential-record.ts";
import { agentRequest, labelledCluster, readRequest } from "./cluster-request.ts";

/** The request for the first certificate of an agent that is judged. */
export interface JudgedRequest {
  readonly cluster: string;
  /** `SHA256:<base64>` of its public key. */
  readonly key: string;
  readonly parse: (pem: string) => CsrContents;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** The name of another request for a first certificate of the cluster that was approved for another key and has not ended; undefined where there is none. */
export function approvedRival(requests: readonly ApiObject[], judged: JudgedRequest): string | undefined {
  const { cluster, key, parse, now } = judged;
  return requests.find((object) => {
    const csr = csrView(object);
    if (labelledCluster(object) !== cluster || !hasCondition(csr, "Approved") || hasCondition(csr, "Failed"))
      return false;
    const contents = readRequest(parse, csr);
    const identity = typeof contents === "string" ? contents : agentRequest(csr, cluster, contents);
    if (typeof contents === "string" || typeof identity === "string") return false;
    // A renewal follows a first certificate, which is judged by itself.
    if (csr.requester.username === agentUser(identity) || keyFingerprint(contents.spki) === key) return false;
    return !(Date.parse(issueOfCsr(object)?.issue.notAfter ?? "") <= now);
  })?.metadata.name;
}

/** Runs what is given for one key after another, in the order in which it came; different keys do not wait for each other. */
export function turns(): <T>(key: string, act: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>();
  return async (key, act) => {
    const mine = (last.get(key) ?? Promise.resolve()).then(act, act);
    last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (last.get(key) === mine) last.delete(key);
    }
  };
}
