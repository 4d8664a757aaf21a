import { readFile } from "node:fs/promises";
import { abac, AbacError, abacRules, parseAbacPolicies } from "../authorization/abac.ts";
import { alwaysAllow, alwaysDeny, masters } from "../authorization/always.ts";
import type { NamedAuthorizer } from "../authorization/authorizer.ts";
import { firstDecision, type AuthorizerChain } from "../authorization/chain.ts";
import type { ConfiguredAuthorizer } from "../authorization/configuration.ts";
import { nodeAuthorizer, nodeRules } from "../authorization/node.ts";
import type { NodeGraph } from "../authorization/node-graph.ts";
import { rbacAuthorizer } from "../authorization/rbac.ts";
import type { RbacIndex } from "../authorization/rbac-index.ts";
import {
  allRules,
  alwaysAllowRules,
  alwaysDenyRules,
  rbacRules,
  unlistedRules,
  type MemberRules,
  type RulesLister,
} from "../authorization/rules-review.ts";
import type { Clock } from "../apimachinery/clock.ts";
import type { AuthorizationMetrics } from "../authorization/metrics.ts";
import { openAuthorizationWebhook } from "../authorization/webhook.ts";
import { HubError } from "../apimachinery/hub-error.ts";
import { systemErrorText } from "../apimachinery/system-error.ts";

/** The inputs of authorizers. */
export interface MemberParts {
  readonly index: RbacIndex;
  /** The graph, which follows the pods after the first call. */
  readonly graph: () => NodeGraph;
  readonly policyFile: string | undefined;
  /** The option that names the webhook file, for messages. */
  readonly flag: string;
  readonly clock: Clock;
  readonly release: string;
  readonly metrics: AuthorizationMetrics;
  /** Yields during a search of very many rules; absent where nothing else waits for the event loop. */
  readonly turn?: (username: string) => Promise<void>;
  /** Answers reviews in place of the configured services; absent where these are called. */
  readonly answer?: (review: object) => Promise<unknown>;
}

/** A chain, and its inputs. */
export interface BuiltChain {
  readonly chain: AuthorizerChain;
  readonly rules: RulesLister;
  /** By the name of the member. */
  readonly types: ReadonlyMap<string, string>;
  readonly close: () => void;
}

interface Member {
  readonly authorizer: NamedAuthorizer;
  readonly rules: MemberRules;
  readonly close?: () => void;
}

type Open = (configured: ConfiguredAuthorizer, parts: MemberParts) => Member | Promise<Member>;

const openers: Readonly<Record<string, Open>> = {
  Node: (_, { graph }) => ({ authorizer: nodeAuthorizer(graph()), rules: nodeRules }),
  RBAC: (_, { index, turn }) => ({ authorizer: rbacAuthorizer(index, { turn }), rules: rbacRules(index) }),
  ABAC: (_, parts) => openAbac(parts),
  Webhook: (configured, parts) => openWebhook(configured, parts),
  AlwaysAllow: () => ({ authorizer: alwaysAllow, rules: alwaysAllowRules }),
  AlwaysDeny: () => ({ authorizer: alwaysDeny, rules: alwaysDenyRules }),
};

/** The modes of authorization, by the names of Kubernetes. */
export const authorizationModes: readonly string[] = Object.keys(openers);

/** The chain of these authorizers behind system:masters. All of their types are known. @throws HubError for an unusable file. */
export async function buildChain(configured: readonly ConfiguredAuthorizer[], parts: MemberParts): Promise<BuiltChain> {
  const members: Member[] = [];
  const close = (): void => members.forEach((member) => member.close?.());
  try {
    for (const one of configured) members.push(await (openers[one.type] as Open)(one, parts));
  } catch (error) {
    close();
    throw error;
  }
  const named = members.map(({ authorizer }, index) => {
    const { name, type } = configured[index] ?? { name: "", type: "" };
    return { ...authorizer, name, type };
  });
  return {
    chain: firstDecision([masters, ...named], { now: () => performance.now() }),
    rules: allRules(members.map((member) => member.rules)),
    types: new Map(configured.map(({ name, type }) => [name, type])),
    close,
  };
}

async function openAbac({ policyFile }: MemberParts): Promise<Member> {
  if (policyFile === undefined) {
    throw new HubError("options", "--authorization-mode ABAC needs --authorization-policy-file");
  }
  try {
    const policies = parseAbacPolicies(await readFile(policyFile, "utf8"));
    return { authorizer: abac(policies), rules: abacRules(policies) };
  } catch (error) {
    const why =
      error instanceof AbacError ? error.message : systemErrorText(error, { operation: "read", at: policyFile });
    throw new HubError("options", `--authorization-policy-file ${policyFile}: ${why}`, { cause: error });
  }
}

async function openWebhook({ name, webhook }: ConfiguredAuthorizer, parts: MemberParts): Promise<Member> {
  if (webhook === undefined) {
    throw new HubError("options", "--authorization-mode Webhook needs --authorization-webhook-config-file");
  }
  const { flag, clock, release, metrics, answer } = parts;
  const opened = await openAuthorizationWebhook({ flag, name, webhook, clock, release, metrics, answer });
  return { ...opened, rules: unlistedRules("webhook authorizer does not support user rule resolution") };
}

/** The authorization flags where no file is given. */
export interface AuthorizationModeOptions {
  /** Empty where a file names the authorizers instead. */
  readonly authorizationModes: readonly string[];
  /** The policies of mode ABAC, one JSON object on each line. */
  readonly authorizationPolicyFile?: string | undefined;
  /** The service that mode Webhook calls. */
  readonly authorizationWebhook?:
    | {
        readonly configFile: string;
        readonly version: "v1" | "v1beta1";
        readonly authorizedMs: number;
        readonly unauthorizedMs: number;
      }
    | undefined;
}

/** The authorizers of `--authorization-mode`; their name is their mode. @throws HubError for unusable modes. */
export function authorizersOfModes(options: AuthorizationModeOptions): readonly ConfiguredAuthorizer[] {
  const { authorizationModes: names, authorizationWebhook: webhook, authorizationPolicyFile } = options;
  checkModes(names);
  if (webhook !== undefined && !names.includes("Webhook")) {
    throw new HubError("options", "--authorization-webhook-config-file needs --authorization-mode Webhook");
  }
  if (authorizationPolicyFile !== undefined && !names.includes("ABAC")) {
    throw new HubError("options", "--authorization-policy-file needs --authorization-mode ABAC");
  }
  return names.map((name) =>
    name !== "Webhook" || webhook === undefined
      ? { type: name, name }
      : {
          type: name,
          name,
          webhook: {
            ...webhook,
            kubeconfigFile: webhook.configFile,
            timeoutMs: 30_000,
            onError: "noOpinion",
            matchConditions: [],
          },
        },
  );
}

function checkModes(names: readonly string[]): void {
  const allowed = authorizationModes.join(", ");
  const unknown = names.find((name) => !authorizationModes.includes(name));
  if (unknown !== undefined)
    throw new HubError(
      "options",
      `--authorization-mode ${JSON.stringify(unknown)} is not known; allowed are ${allowed}`,
    );
  if (names.length === 0) throw new HubError("options", `--authorization-mode is empty; allowed are ${allowed}`);
  if (new Set(names).size < names.length)
    throw new HubError("options", `--authorization-mode names a mode twice: ${names.join(",")}`);
}
