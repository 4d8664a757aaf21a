import type { Client } from "../../client/client.ts";
import { certificateSigningRequests } from "../../controllers/kinds.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { accessRequests, stateOf, type AccessRequest } from "../../apis/access-request.ts";
import {
  accessAsked,
  awaitIssued,
  decideAccess,
  reportObstacle,
  type AccessDeciding,
  type AccessVerdict,
} from "./access-decide.ts";
import { accessReviewer } from "./access-review.ts";
import { CliError, type ExitName, usageError } from "../cli-error.ts";
import type { Args } from "../command.ts";
import { decideCsr } from "./csr-decide.ts";
import { csrMarks } from "./name-marks.ts";
import { isUndecided, reviewCsr } from "./csr-review.ts";
import { failureOf, type Failure, writeFailure } from "../failure.ts";
import type { Io } from "../io.ts";
import { withServer } from "../server-access.ts";

/** The decisions of approvers; only access is revoked. */
type Decision = AccessVerdict;

/**
 * Writes the decision on each named or selected request, in order. A failure does not stop the others; the exit code is that of the first
 * failure.
 */
export async function decide(decision: Decision, args: Args, io: Io): Promise<ExitName> {
  const selection = selectionOf(decision, args);
  return withServer(args, io, async (server) => {
    const targets =
      selection.kind === "named"
        ? selection.requests
        : await selected(selection, { client: server.client, now: io.clock.now() });
    let exit: ExitName = "ok";
    async function each(of: readonly Target[], act: (target: Target) => Promise<void>): Promise<readonly Target[]> {
      const done: Target[] = [];
      const queue = [...of];
      async function next(): Promise<void> {
        for (let target = queue.shift(); target !== undefined; target = queue.shift()) {
          try {
            await act(target);
            done.push(target);
          } catch (error) {
            const failure = failureOf(error, args);
            const hints = [...failure.hints, ...bareHint(failure, target, args)];
            writeFailure(io, { message: failure.message, hints });
            if (exit === "ok") exit = failure.exit;
          }
        }
      }
      // Named requests are decided in their order; of many selected ones, several at a time.
      await Promise.all(Array.from({ length: selection.kind === "named" ? 1 : atOnce }, next));
      return done;
    }
    const deciding = {
      args,
      io,
      server,
      isBulk: selection.kind === "all",
      review: accessReviewer(server.client, { now: io.clock.now() }),
    };
    const decided = await each(targets, (target) => decideOne(decision, target, deciding));
    const waitMs = decision === "Approved" ? args.number("wait") : undefined;
    if (decision === "Approved" && !args.on("dry-run")) {
      const until = io.clock.now() + (waitMs ?? 0);
      const granted = decided.filter(({ kind }) => kind === "accessrequest");
      await each(granted, ({ name }) =>
        waitMs === undefined
          ? reportObstacle(name, server.client, io)
          : awaitIssued({ name, until }, server.client, io),
      );
    }
    return exit;
  });
}

const atOnce = 8;

/** A bare name has one kind; the caller may as well mean the other. */
function bareHint({ exit }: Failure, { kind, name }: Target, args: Args): readonly string[] {
  if (exit !== "notFound" || !args.operands.includes(name)) return [];
  const other = kind === "csr" ? "accessrequest" : "csr";
  return [`Was ${other}/${name} meant? A name alone is ${kind}/${name} here.`];
}

/** A request to decide on; with the object that was read, where it was. */
interface Target extends RequestName {
  readonly seen?: ApiObject;
}

type Selection =
  | { readonly kind: "named"; readonly requests: readonly Target[] }
  | {
      readonly kind: "all";
      readonly of: RequestKind;
      readonly decision: Decision;
      readonly labels: string | undefined;
      readonly expected: number;
    };

/** @throws CliError usage */
function selectionOf(decision: Decision, args: Args): Selection {
  const labels = args.text("selector");
  const bare = decision === "Revoked" ? "accessrequest" : "csr";
  if (args.on("all")) return allOf(decision, args, { option: "--all", labels, bare });
  if (labels !== undefined) return allOf(decision, args, { option: "--selector", labels, bare });
  const requests = distinct(args.operands.map((operand) => requestName(operand, bare)));
  checkNamed(decision, requests, args);
  return { kind: "named", requests };
}

function allOf(
  decision: Decision,
  args: Args,
  given: { readonly option: string; readonly labels: string | undefined; readonly bare: RequestKind },
): Selection {
  const { option, labels, bare } = given;
  const expected = args.number("expect");
  const [first, ...others] = args.operands;
  const of = first === undefined ? bare : requestKind(first);
  if (of === undefined || others.length > 0) throw usageError(`give names or ${option}, not both`);
  if (decision === "Approved" && args.text("words") !== undefined)
    throw usageError("--words are those of one request: name it");
  if (expected === undefined)
    throw usageError(`${option} needs --expect N, the number of requests that you have looked at`);
  if (decision === "Revoked" && of === "csr")
    throw usageError(`"${first}": certificates are revoked by name, csr/NAME, and not by number`);
  return { kind: "all", of, decision, labels, expected };
}

function checkNamed(decision: Decision, requests: readonly RequestName[], args: Args): void {
  if (requests.length === 0) {
    throw usageError(
      decision === "Revoked"
        ? "nothing is named: give KIND/NAME, --fingerprint, --serial or --token, or accessrequest --all with --expect N"
        : "no request is named: give csr/NAME or accessrequest/NAME, or --all with --expect N",
    );
  }
  if (args.number("expect") !== undefined) throw usageError("--expect belongs to --all and --selector");
  if (decision !== "Approved" || args.text("words") === undefined) return;
  if (requests.length !== 1 || requests[0]?.kind === "csr") {
    throw usageError("--words are those of one access request: name accessrequest/NAME, and no other");
  }
}

function distinct(requests: readonly RequestName[]): readonly RequestName[] {
  return [...new Map(requests.map((one) => [`${one.kind}/${one.name}`, one])).values()];
}

/** All requests that are still pending. @throws CliError conflict where their number is not the expected one, or some need care */
async function selected(
  selection: Extract<Selection, { kind: "all" }>,
  { client, now }: Omit<Surroundings, "items">,
): Promise<readonly Target[]> {
  const { of, decision, labels, expected } = selection;
  const options = labels === undefined ? {} : { labelSelector: labels };
  const { items } = await client.list(of === "csr" ? certificateSigningRequests : accessRequests, options);
  const open = items.filter((item) => (of === "csr" ? isUndecided(item) : isOpen(decision, item)));
  if (open.length !== expected) {
    const [one, many, command] =
      decision === "Revoked"
        ? ["has access", "have access", "kubectl get accessrequests"]
        : ["waits for a decision", "wait for a decision", "pratique pending"];
    const found = open.length === 1 ? `1 request ${one}` : `${open.length} requests ${many}`;
    throw new CliError("conflict", `--expect ${expected}, but ${found}; nothing was done`, [
      `Look at them again: ${command}`,
    ]);
  }
  const careful = decision === "Approved" ? await needCare(of, open, { client, now, items }) : [];
  if (careful.length > 0) {
    throw new CliError(
      "conflict",
      `${careful.join(", ")} ${careful.length === 1 ? "has" : "have"} contents that need care, and must be approved by name or denied; nothing was done`,
      ["What they are: pratique pending"],
    );
  }
  return open.map((seen) => ({ kind: of, name: seen.metadata.name ?? "", seen }));
}

function isOpen(decision: Decision, item: ApiObject): boolean {
  return decision === "Revoked" ? stateOf(item).startsWith("Approved") : stateOf(item) === "Pending";
}

interface Surroundings {
  readonly client: Client;
  readonly now: number;
  /** All listed ones, decided ones too. */
  readonly items: readonly ApiObject[];
}

async function needCare(
  of: RequestKind,
  open: readonly ApiObject[],
  { client, now, items }: Surroundings,
): Promise<readonly string[]> {
  const named = (found: readonly ApiObject[]): readonly string[] =>
    found.map(({ metadata }) => `${of}/${metadata.name}`);
  if (of === "csr") {
    const marks = csrMarks(items, now);
    return named(open.filter((item) => reviewCsr(item, marks.get(item.metadata.name ?? "")).warnings.length > 0));
  }
  const requests = open as readonly AccessRequest[];
  const review = accessReviewer(client, { now });
  const careful: AccessRequest[] = [];
  for (const request of requests) if ((await review(request)).needsCare) careful.push(request);
  return named(careful);
}

interface Deciding extends AccessDeciding {
  readonly args: Args;
  readonly isBulk: boolean;
}

async function decideOne(decision: Decision, { kind, name, seen }: Target, deciding: Deciding): Promise<void> {
  const { args, io, server, isBulk } = deciding;
  if (kind === "accessrequest") {
    const [looked, dryRun] = [seen as AccessRequest | undefined, args.on("dry-run")];
    return decideAccess({ ...accessAsked(decision, args), name, seen: looked, isBulk, dryRun }, deciding);
  }
  const verdict = decision === "Approved" ? "Approved" : "Denied";
  return decideCsr({ name, uid: seen?.metadata.uid, decision: verdict, args }, server.client, io);
}

/** The two kinds of requests that approvers decide on, as their names are printed. */
type RequestKind = "csr" | "accessrequest";

/** A request by its kind and name. */
interface RequestName {
  readonly kind: RequestKind;
  readonly name: string;
}

const kindNames: Readonly<Record<RequestKind, readonly string[]>> = {
  csr: [
    "csr",
    "certificatesigningrequest",
    "certificatesigningrequests",
    "certificatesigningrequest.certificates.k8s.io",
    "certificatesigningrequests.certificates.k8s.io",
  ],
  accessrequest: [
    "accessrequest",
    "accessrequests",
    "areq",
    "accessrequest.access.pratique.dev",
    "accessrequests.access.pratique.dev",
  ],
};

/** The kind that a word names, in any case and in the forms of kubectl; undefined for any other word. */
export function requestKind(word: string): RequestKind | undefined {
  const plain = word.toLowerCase();
  return (["csr", "accessrequest"] as const).find((kind) => kindNames[kind].includes(plain));
}

/** Reads `KIND/NAME`, or `NAME` alone, which is of the kind `bare`. @throws CliError usage */
function requestName(operand: string, bare: RequestKind): RequestName {
  const slash = operand.indexOf("/");
  const name = operand.slice(slash + 1);
  const kind = slash === -1 ? bare : requestKind(operand.slice(0, slash));
  if (kind === undefined) {
    throw usageError(`"${operand}" is no request: write csr/NAME or accessrequest/NAME`);
  }
  const isKindAlone = slash === -1 && requestKind(name) !== undefined;
  if (isKindAlone || name === "" || name.includes("/") || name === "." || name === "..") {
    throw usageError(`"${operand}" names no request: write ${requestKind(operand) ?? kind}/NAME`);
  }
  return { kind, name };
}
