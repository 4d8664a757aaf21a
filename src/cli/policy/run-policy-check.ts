import { kubernetesControllerPolicy } from "../../authorization/controller-requests.ts";
import type { AuthorizerChain, ChainDecision } from "../../authorization/chain.ts";
import { essentialComponents, essentialPod, type EssentialComponent } from "../../authorization/lockout-check.ts";
import { nodeGraph } from "../../authorization/node-graph.ts";
import type { Run } from "../command.ts";
import { printable } from "../printable.ts";
import { writeResult, textTable } from "../output.ts";
import { proposedChain } from "../../policy-server/proposed-chain.ts";
import { release } from "../release.ts";
import { proposedChainOf, proposedRbacOf } from "./policy-flags.ts";
import { requestText, verdictText } from "./decision-text.ts";

/** The result of one check. */
interface Answered {
  readonly component: string;
  readonly user: string;
  readonly groups: readonly string[];
  readonly request: string;
  readonly verdict: "allowed" | "refused" | "refused in an outage";
  readonly by: string;
  readonly why: string;
  readonly source: string;
  /** The failure of a webhook; its decision is then not known, whatever others have decided. */
  readonly unanswered?: string;
}

/** Runs the requests of the identities that must not be locked out through the chain that the options describe. */
export const runPolicyCheck: Run = async (args, io) => {
  const place = args.text("for");
  const components = essentialComponents().filter(
    ({ places }) => place === undefined || places.some((one) => one === place),
  );
  const graph = nodeGraph();
  graph.put(essentialPod);
  const index = await proposedRbacOf(args, io, place === "hub" ? [] : kubernetesControllerPolicy());
  const proposed = await proposedChain({ ...proposedChainOf(args), world: io, release, index, graph });
  try {
    const outage = proposed.webhooks.length > 0 && args.on("outage") ? await proposed.duringOutage() : undefined;
    const answers: Answered[] = [];
    for (const component of components) answers.push(...(await answered(component, proposed.chain, outage)));
    const refused = answers.filter(({ verdict }) => verdict !== "allowed");
    await writeResult(args, io, {
      data: {
        authorizers: proposed.chain.names,
        requests: answers.length,
        refused: refused.filter(({ verdict }) => verdict === "refused").length,
        refusedInOutage: refused.filter(({ verdict }) => verdict !== "refused").length,
        unanswered: answers.filter(({ unanswered }) => unanswered !== undefined).length,
        results: answers,
      },
      table: () => report(answers, args.on("all"), proposed.chain.names),
    });
    if (refused.length > 0) return "refused";
    return answers.some(({ unanswered }) => unanswered !== undefined) ? "unreachable" : "ok";
  } finally {
    proposed.close();
  }
};

async function answered(
  { component, user, asks, source }: EssentialComponent,
  chain: AuthorizerChain,
  outage: AuthorizerChain | undefined,
): Promise<readonly Answered[]> {
  const answers: Answered[] = [];
  const who = { component, user: user.username, groups: user.groups, source };
  for (const ask of asks) {
    const attributes = { ...ask, user };
    const decision = await chain.decide(attributes, { trace: true });
    const silent = decision.trace?.find(({ type, error }) => type === "Webhook" && error !== undefined);
    const unanswered = silent === undefined ? {} : { unanswered: `${silent.name}: ${silent.error}` };
    const row = (verdict: Answered["verdict"], on: ChainDecision): Answered => {
      const { by, why } = verdictText(on);
      return { ...who, request: requestText(attributes), verdict, by, why, ...unanswered };
    };
    if (decision.verdict !== "allow") {
      answers.push(row("refused", decision));
      continue;
    }
    const without = await outage?.decide(attributes, { trace: true });
    const isLost = without !== undefined && without.verdict !== "allow";
    answers.push(isLost ? row("refused in an outage", without) : row("allowed", decision));
  }
  return answers;
}

function report(answers: readonly Answered[], all: boolean, names: readonly string[]): string {
  const refused = answers.filter(({ verdict }) => verdict !== "allowed");
  const allowed = answers.filter(({ verdict }) => verdict === "allowed");
  const rows = [...refused.map(rowOf), ...(all ? allowed.map(rowOf) : summed(allowed))];
  const headings = ["COMPONENT", "REQUEST", "VERDICT", "BY", "WHY"];
  return `${textTable({ headings, rows })}\n${conclusion(answers, names)}\n`;
}

function rowOf({ component, request, verdict, by, why }: Answered): readonly string[] {
  return [component, request, verdict, by, why];
}

/** One row for each component: the allowed requests need no detail. */
function summed(allowed: readonly Answered[]): readonly (readonly string[])[] {
  const groups = new Map<string, Answered[]>();
  for (const one of allowed) groups.set(one.component, [...(groups.get(one.component) ?? []), one]);
  return [...groups].map(([component, of]) => [
    component,
    of.length === 1 ? (of[0]?.request ?? "") : `${of.length} requests`,
    "allowed",
    [...new Set(of.map(({ by }) => by))].join(", "),
    "",
  ]);
}

function conclusion(answers: readonly Answered[], names: readonly string[]): string {
  const of = (verdict: Answered["verdict"]): number => answers.filter((one) => one.verdict === verdict).length;
  const [refused, lost] = [of("refused"), of("refused in an outage")];
  const chain = `the chain ${names.filter((name) => name !== "Masters").join(", ")}`;
  const silent = answers.filter(({ unanswered }) => unanswered !== undefined);
  if (refused + lost + silent.length === 0) {
    return `No request is locked out: ${chain} allows all ${answers.length} requests.`;
  }
  return [
    ...(silent.length === 0
      ? []
      : [
          `${silent.length} of ${answers.length} requests were put to a webhook that gave no usable answer; what it would say is not known.`,
          `  ${printable(silent[0]?.unanswered ?? "")}`,
        ]),
    ...(refused === 0 ? [] : [`${refused} of ${answers.length} requests would be refused by ${chain}.`]),
    ...(lost === 0
      ? []
      : [`${lost} of ${answers.length} requests would be refused while a webhook cannot be reached.`]),
    ...(refused + lost === 0 ? [] : ["What to do: docs/authorization.md, Avoid a lockout."]),
  ].join("\n");
}
