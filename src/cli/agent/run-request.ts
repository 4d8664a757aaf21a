import { join, resolve } from "node:path";
import type { JoinEvent } from "../../agent/join/join-event.ts";
import type { AccessGranted } from "../../agent/access/request-access.ts";
import { humanDuration } from "../../apimachinery/duration.ts";
import { usageError } from "../cli-error.ts";
import type { Args, Run } from "../command.ts";
import type { Io } from "../io.ts";
import { warnOfOpenSecrets } from "../open-secrets.ts";
import { writeResult } from "../output.ts";
import { heldText, reportProgress, withProgress } from "./join-progress.ts";
import type { Progress } from "../progress.ts";
import { release } from "../release.ts";

/** Requests access, reports each step on stderr, and prints the result. */
export const runRequest: Run = async (args, io) => {
  const [endpoint = ""] = args.operands;
  const dir = accessDir(args, io);
  const keyFile = args.text("key");
  await warnOfOpenSecrets([keyFile], io);
  const granted = await withProgress(io, { "bad-pin-format": "ca-cert-hash", "bad-key": "key" }, (shown) =>
    io.requestAccess(
      {
        endpoint,
        pins: args.list("ca-cert-hash"),
        profile: args.text("profile"),
        name: args.text("name"),
        hostname: io.hostname,
        claims: claimsOf(args),
        dir,
        keyFile: keyFile === undefined ? undefined : resolve(io.cwd, keyFile),
        waitMs: args.number("wait") ?? 0,
        discoveryTimeoutMs: args.number("discovery-timeout") ?? 0,
        clock: io.clock,
        random: io.random,
        signal: io.interrupted(),
        userAgent: `pratique/${release}`,
      },
      (event) => printEvent(event, shown, io),
    ),
  );
  await writeResult(args, io, { data: { ...granted }, table: () => grantedText(granted, dir) });
};

/** The folder of a machine's access. */
function accessDir(args: Args, io: Io): string {
  const dir = args.text("dir");
  if (dir !== undefined) return resolve(io.cwd, dir);
  return io.isRoot ? "/var/lib/pratique/access" : join(io.home, ".pratique", "access");
}

function claimsOf(args: Args): Readonly<Record<string, string>> {
  const claims = args.list("claim").map((claim): readonly [string, string] => {
    const equals = claim.indexOf("=");
    if (equals < 1) throw usageError(`--claim ${JSON.stringify(claim)}: expected KEY=VALUE`);
    return [claim.slice(0, equals), claim.slice(equals + 1)];
  });
  return Object.fromEntries(claims);
}

function printEvent(event: JoinEvent, shown: Progress, io: Io): void {
  switch (event.kind) {
    case "verified":
      return shown.done(`the hub ${event.server} is the right one: its CA has the pinned key`);
    case "key-ready":
      return shown.done(`${event.reused ? "the key that is there is used" : "made a key"}: ${event.fingerprint}`);
    case "access-asked":
      shown.done(`${event.found ? "had asked already" : "asked"}: accessrequest/${event.name}`);
      shown.note(
        event.vouchedBy === "pin"
          ? `the words for the approver: ${event.words.join(" ")}`
          : `nothing vouches for the hub yet. Read these words to the approver, who must see the same: ${event.words.join(" ")}`,
      );
      return shown.doing("waiting for an answer");
    case "waiting-for-access":
      shown.note(
        // Rounds up an hour of which a moment has passed.
        `waiting up to ${humanDuration(Math.ceil((event.until - io.clock.now()) / 1000) * 1000)} for an answer. On the hub: ${event.commands.join("  or  ")}`,
      );
      return shown.doing(`waiting for an approver to decide on accessrequest/${event.name}`);
    case "access-profile-missing":
      return shown.note(`accessrequest/${event.name}: ${event.message}`);
    case "access-blocked":
      shown.note(
        `accessrequest/${event.name} was approved, and access cannot be issued yet (${event.reason}): ${event.message}`,
      );
      return shown.doing(`waiting until access can be issued for accessrequest/${event.name}`);
    default:
      return reportProgress(event, shown);
  }
}

function grantedText({ server, name, kubeconfig, expiresAt, bootstrapTokenFile }: AccessGranted, dir: string): string {
  return heldText(
    "This machine has access.",
    [
      ["request", name],
      ["server", server],
      ["kubeconfig", kubeconfig],
      ["token", `valid until ${expiresAt}`],
      ["to join", bootstrapTokenFile],
    ],
    { kubeconfig, keep: "Keep it", dir },
  );
}
