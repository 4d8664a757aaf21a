import { ConnectionError } from "../client/client.ts";
import type { AuthorizerChain } from "../authorization/chain.ts";
import type { ConfiguredAuthorizer } from "../authorization/configuration.ts";
import type { NodeGraph } from "../authorization/node-graph.ts";
import type { RbacIndex } from "../authorization/rbac-index.ts";
import { readAuthorizationFile } from "../config-files/authorization-file.ts";
import { buildChain, authorizersOfModes } from "../config-files/authorization-members.ts";
import { authorizationMetrics } from "../authorization/metrics.ts";
import { askedReview, statusOf } from "./authorizer-review.ts";
import { asOptionError, OptionError } from "../apimachinery/option-error.ts";
import type { DecidingPolicy } from "./deciding-policy.ts";
import { openPolicy, type PolicySource, type PolicyWorld } from "./policy-source.ts";

/** Answers a SubjectAccessReview in place of a webhook. */
type Answer = (review: object) => Promise<unknown>;

/** An authorizer chain that is not in force, built from the same parts as a hub's. */
export interface ProposedChain {
  readonly chain: AuthorizerChain;
  /** The names of its webhooks. */
  readonly webhooks: readonly string[];
  /** The same chain with every webhook unreachable. */
  readonly duringOutage: () => Promise<AuthorizerChain>;
  readonly close: () => void;
}

export interface ProposedOptions {
  /** The policy that replaces the webhook of the chain, where one is named. */
  readonly policy: PolicySource;
  /** The file of an AuthorizationConfiguration, in place of modes. */
  readonly configFile: string | undefined;
  /** Empty: Node and RBAC, and Webhook after them where a webhook or a policy is given. */
  readonly modes: readonly string[];
  /** The policies of mode ABAC. */
  readonly policyFile: string | undefined;
  readonly webhookConfigFile: string | undefined;
  readonly webhookVersion: "v1" | "v1beta1";
  readonly world: Omit<PolicyWorld, "log" | "reloaded">;
  /** The version of this program, for webhooks. */
  readonly release: string;
  readonly index: RbacIndex;
  readonly graph: NodeGraph;
  /** How long webhook answers are cached, in milliseconds; absent: as configured. */
  readonly cacheMs?: number;
}

/** Builds the chain that the options describe. @throws OptionError usage for options and files that cannot be used */
export async function proposedChain(options: ProposedOptions): Promise<ProposedChain> {
  try {
    return await build(options);
  } catch (error) {
    throw asOptionError(error);
  }
}

async function build(options: ProposedOptions): Promise<ProposedChain> {
  const { index, graph, world, configFile, cacheMs } = options;
  const configured = (await authorizersOf(options)).map((one) => withCacheTtl(one, cacheMs));
  const webhooks = configured.filter(({ type }) => type === "Webhook").map(({ name }) => name);
  const policy = await policyOf(options, webhooks);
  const parts = {
    index,
    graph: () => graph,
    policyFile: options.policyFile,
    flag: configFile === undefined ? "--authorization-webhook-config-file" : `--authorization-config ${configFile}`,
    clock: world.clock,
    release: options.release,
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

async function authorizersOf(options: ProposedOptions): Promise<readonly ConfiguredAuthorizer[]> {
  const { configFile, modes, webhookConfigFile } = options;
  if (configFile !== undefined) {
    if (modes.length > 0 || webhookConfigFile !== undefined) {
      throw new OptionError("usage", "--authorization-config and --authorization-mode exclude each other");
    }
    return (await readAuthorizationFile(configFile)).authorizers;
  }
  return authorizersOfModes(modeOptions(options));
}

function modeOptions({
  modes,
  policyFile,
  policy,
  webhookConfigFile,
  webhookVersion,
}: ProposedOptions): Parameters<typeof authorizersOfModes>[0] {
  const hasPolicy = Object.keys(policy.sources).length > 0;
  const hasWebhook = hasPolicy || webhookConfigFile !== undefined;
  const authorizationModes = modes.length > 0 ? modes : ["Node", "RBAC", ...(hasWebhook ? ["Webhook"] : [])];
  const webhook = {
    configFile: webhookConfigFile ?? "",
    version: webhookVersion,
    authorizedMs: 300_000,
    unauthorizedMs: 30_000,
  };
  const replacesWebhook = hasPolicy && authorizationModes.includes("Webhook");
  return {
    authorizationModes,
    authorizationPolicyFile: policyFile,
    authorizationWebhook: webhookConfigFile !== undefined || replacesWebhook ? webhook : undefined,
  };
}

function withCacheTtl(one: ConfiguredAuthorizer, ms: number | undefined): ConfiguredAuthorizer {
  if (one.webhook === undefined || ms === undefined) return one;
  return { ...one, webhook: { ...one.webhook, authorizedMs: ms, unauthorizedMs: ms } };
}

/** The policy that replaces the webhook of the chain. */
async function policyOf(
  { policy, world }: ProposedOptions,
  webhooks: readonly string[],
): Promise<DecidingPolicy | undefined> {
  const [name] = Object.keys(policy.sources);
  if (name === undefined) return undefined;
  if (webhooks.length !== 1) {
    const found = webhooks.length === 0 ? "none" : webhooks.join(", ");
    throw new OptionError("usage", `--${name} stands in for the one webhook of the chain, which has ${found}`);
  }
  return openPolicy({ ...policy, world: { ...world, log: () => undefined } });
}

/** Answers as `pratique authorizer` does, with the problem in the reason, since there is no log here. */
function answerOf(policy: DecidingPolicy): Answer {
  return async (review) => {
    const { apiVersion, spec, input } = askedReview(review);
    const { status, problem } = statusOf(await policy.ask(input));
    const reason = problem === undefined ? status.reason : `${status.reason ?? ""}: ${problem}`;
    return { apiVersion, kind: "SubjectAccessReview", spec, status: { ...status, reason: reason ?? "" } };
  };
}

async function unreachable(): Promise<never> {
  throw new ConnectionError("ECONNREFUSED", "the webhook cannot be reached");
}
