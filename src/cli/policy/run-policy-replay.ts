import { CliError } from "../cli-error.ts";
import type { Args } from "../command.ts";
import type { ExitName } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { writeResult } from "../output.ts";
import { proposedChain } from "../../policy-server/proposed-chain.ts";
import { release } from "../release.ts";
import { proposedChainOf, proposedRbacOf } from "./policy-flags.ts";
import { replayReport } from "./replay-report.ts";
import { recordedRelations, replay } from "../../policy-server/replay.ts";
import { verdictText } from "../why/verdict-text.ts";

/** A log holds the same question many times; a webhook is asked once about each. */
const cacheMs = 3_600_000;

const proposals = [
  "policy",
  "bundle",
  "cel",
  "opa-url",
  "authorization-config",
  "authorization-policy-file",
  "authorization-webhook-config-file",
] as const;

/** Puts the requests of audit logs to a chain that is not in force, and prints which decisions would be others. */
export async function runPolicyReplay(args: Args, io: Io): Promise<ExitName> {
  const files = args.list("audit-log");
  if (files.length === 0) throw new CliError("usage", "--audit-log is needed: which requests to replay");
  const lists = [...args.list("rbac"), ...args.list("authorization-mode")];
  const ofServer = args.text("rbac-base") === "server";
  if (lists.length === 0 && !ofServer && proposals.every((name) => args.text(name) === undefined)) {
    throw new CliError("usage", "nothing is proposed: --policy, --rbac or another option must say what would decide");
  }
  const relations = recordedRelations();
  const index = await proposedRbacOf(args, io);
  const proposed = await proposedChain({
    ...proposedChainOf(args),
    world: io,
    release,
    index,
    graph: relations.graph,
    cacheMs,
  });
  try {
    const found = await replay(files, io, { chain: proposed.chain, relations, describe: verdictText });
    if (found.requests === 0) {
      const { unreadable, undecided } = found.notReplayed;
      const counts = `${unreadable} lines are no audit events, ${undecided} events have no decision`;
      throw new CliError("usage", `no request to replay in ${files.join(", ")}: ${counts}`);
    }
    await writeResult(args, io, { data: found, table: () => replayReport(found, proposed.chain.names) });
    return found.nowRefused + found.nowAllowed === 0 ? "ok" : "changed";
  } finally {
    proposed.close();
  }
}
