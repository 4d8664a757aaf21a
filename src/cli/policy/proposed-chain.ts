import type { AuthorizerChain } from "../../authz/chain.ts";
import type { ConfiguredAuthorizer } from "../../authz/configuration.ts";
import type { NodeGraph } from "../../authz/node-graph.ts";
import type { RbacIndex } from "../../authz/rbac-index.ts";
import { readAuthorizationFile } from "../../hub/authorization-file.ts";
import { buildChain } from "../../hub/authorization-members.ts";
import { authorizationMetrics } from "../../hub/authorization-metrics.ts";
import { authorizersOfModes } from "../../hub/authorization-modes.ts";
import { HubError } from "../../hub/hub-error.ts";
import { askedReview, statusOf } from "./authorizer-review.ts";
import { CliError } from "../cli-error.ts";
import type { Args } from "../command.ts";
import type { DecidingPolicy } from "./deciding-policy.ts";
import type { Io } from "../io.ts";
import { openPolicy } from "./policy-source.ts";
import { release } from "../release.ts";

/** Answers a review of the API as a webhook would. */
type Answer = (review: object) => Promise<unknown>;

/** A chain that is not in force, made of the parts that a hub makes its own of. */
export interface ProposedChain {
  readonly chain: AuthorizerChain;
  /** The names of its webhooks. */
  readonly webhooks: readonly string[];
  /** The same chain at a time at which no webhook can be reached. */
  readonly duringOutage: () => Promise<AuthorizerChain>;
  readonly close: () => void;
}

export interface ProposedOptions {
  readonly args: Args;
  readonly io: Io;
  readonly index: RbacIndex;
  readonly graph: NodeGraph;
  /** How long answers of webhooks are believed, in milliseconds; absent: as is configured. */
  readonly believedMs?: number;
}

const policyNames = ["policy", "bundle", "cel", "opa-url"] as const;

/** Builds the chain that the options describe. @throws CliError usage for options and files that cannot be used */
export async function proposedChain(options: ProposedOptions): Promise<ProposedChain> {
  try {
    return await build(options);
  } catch (error) {
    if (error instanceof HubError) throw new CliError("usage", error.message);
    throw error;
  }
}

async function build({ args, io, index, graph, believedMs }: ProposedOptions): Promise<ProposedChain> {
  const configured = (await authorizersOf(args)).map((one) => believing(one, believedMs));
  const webhooks = configured.filter(({ type }) => type === "Webhook").map(({ name }) => name);
  const policy = await policyOf(args, io, webhooks);
  const file = args.text("authorization-config");
  const parts = {
    index,
    graph: () => graph,
    policyFile: args.text("authorization-policy-file"),
    flag: file === undefined ? "--authorization-webhook-config-file" : `--authorization-config ${file}`,
    clock: io.clock,
    release,
    metrics: authorizationMetrics(),
  };
  const built = await buildChain(configured, {
    ...parts,
    ...(policy === undefined ? {} : { answer: answerOf(policy) }),
  });
  const close = (): void => {
    built.close();
    policy?.close();
  };
  const duringOutage = async (): Promise<AuthorizerChain> =>
    (await buildChain(configured, { ...parts, answer: unreachable })).chain;
  return { chain: built.chain, webhooks, duringOutage, close };
}

async function authorizersOf(args: Args): Promise<readonly ConfiguredAuthorizer[]> {
  const file = args.text("authorization-config");
  const modes = args.list("authorization-mode");
  const configFile = args.text("authorization-webhook-config-file");
  if (file !== undefined) {
    if (modes.length > 0 || configFile !== undefined) {
      throw new CliError("usage", "--authorization-config and --authorization-mode exclude each other");
    }
    return (await readAuthorizationFile(file)).authorizers;
  }
  const hasPolicy = policyNames.some((name) => args.text(name) !== undefined);
  const usual = ["Node", "RBAC", ...(hasPolicy || configFile !== undefined ? ["Webhook"] : [])];
  const authorizationModes = modes.length === 0 ? usual : modes;
  const standsIn = hasPolicy && authorizationModes.includes("Webhook");
  return authorizersOfModes({
    authorizationModes,
    authorizationPolicyFile: args.text("authorization-policy-file"),
    authorizationWebhook:
      configFile === undefined && !standsIn
        ? undefined
        : {
            configFile: configFile ?? "",
            version: args.text("authorization-webhook-version") === "v1" ? "v1" : "v1beta1",
            authorizedMs: 300_000,
            unauthorizedMs: 30_000,
          },
  });
}

function believing(one: ConfiguredAuthorizer, ms: number | undefined): ConfiguredAuthorizer {
  if (one.webhook === undefined || ms === undefined) return one;
  return { ...one, webhook: { ...one.webhook, authorizedMs: ms, unauthorizedMs: ms } };
}

/** The policy that stands in for the webhook of the chain. */
async function policyOf(args: Args, io: Io, webhooks: readonly string[]): Promise<DecidingPolicy | undefined> {
  const name = policyNames.find((one) => args.text(one) !== undefined);
  if (name === undefined) return undefined;
  if (webhooks.length !== 1) {
    const found = webhooks.length === 0 ? "none" : webhooks.join(", ");
    throw new CliError("usage", `--${name} stands in for the one webhook of the chain, which has ${found}`);
  }
  return openPolicy({ args, io, log: () => undefined });
}

/** As `pratique authorizer` answers, but for the reason, which says what went wrong: nobody else hears it here. */
function answerOf(policy: DecidingPolicy): Answer {
  return async (review) => {
    const { apiVersion, spec, input } = askedReview(review);
    const { status, problem } = statusOf(await policy.ask(input));
    const reason = problem === undefined ? status.reason : `${status.reason ?? ""}: ${problem}`;
    return { apiVersion, kind: "SubjectAccessReview", spec, status: { ...status, reason: reason ?? "" } };
  };
}

async function unreachable(): Promise<never> {
  throw new CliError("unreachable", "the webhook cannot be reached");
}
