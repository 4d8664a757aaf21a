import type { JoinErrorCode } from "../../credentials/join-error.ts";
import type { ExitName } from "../exit-code.ts";

/** How a failed join or request ends the process; the sentence about it is the error's own. */
export function joinExit(code: JoinErrorCode): Exclude<ExitName, "ok"> {
  return exits[code];
}

const exits: Readonly<Record<JoinErrorCode, Exclude<ExitName, "ok">>> = {
  "bad-endpoint": "usage",
  "bad-token-format": "usage",
  "bad-pin-format": "usage",
  "missing-pin": "usage",
  "bad-node-name": "usage",
  "bad-key": "usage",
  "bad-discovery-file": "usage",
  unreachable: "unreachable",
  "not-a-hub": "unreachable",
  "no-cluster-info": "unreachable",
  "bad-cluster-info": "unreachable",
  "token-unknown": "refused",
  "bad-signature": "refused",
  "pin-mismatch": "unreachable",
  "tls-mismatch": "unreachable",
  "changed-between-reads": "unreachable",
  "clock-skew": "failed",
  unauthorized: "refused",
  forbidden: "refused",
  refused: "refused",
  "csr-conflict": "conflict",
  denied: "refused",
  failed: "failed",
  deleted: "notFound",
  "timeout-waiting": "timedOut",
  "bad-certificate": "failed",
  "write-failed": "failed",
  "already-joined": "conflict",
  "no-access": "notFound",
  aborted: "interrupted",
};
