import type { Authorizer } from "../authorization/authorizer.ts";
import { firstDecision, type AuthorizerChain, type ChainDecision } from "../authorization/chain.ts";
import { nodeGraph, type NodeGraph } from "../authorization/node-graph.ts";
import { masters } from "../authorization/always.ts";
import { rbac } from "../authorization/rbac.ts";
import { rbacIndex, type RbacEvent, type RbacIndex } from "../authorization/rbac-index.ts";
import { returningDecision } from "../authorization/expired-credential.ts";
import type { RulesLister } from "../authorization/rules-review.ts";
import type { Clock } from "../apimachinery/clock.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { isReturning } from "../apimachinery/expired-credential.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import { objectOf } from "../registry/entry.ts";
import { storagePrefix } from "../apis/resource.ts";
import type { WatchCache } from "../storage/watch-cache.ts";
import { followAuthorizationFile, readAuthorizationFile } from "../config-files/authorization-file.ts";
import {
  buildChain,
  type BuiltChain,
  type MemberParts,
  authorizersOfModes,
} from "../config-files/authorization-members.ts";
import { authorizationMetrics, type AuthorizationMetrics } from "../authorization/metrics.ts";
import { HubError } from "../apimachinery/hub-error.ts";
import type { HubOptions } from "./hub-options.ts";

/** The authorizers and their state. */
export interface Authorization {
  readonly chain: AuthorizerChain;
  /**
   * The chain for the hub's own parts: their roles apply in any mode, so that no configuration locks the hub out of itself, and without
   * calls of webhooks. An external user of the same name is not one of them.
   */
  readonly inside: Authorizer;
  /** Registers a user as one of the hub's own parts: this object, and no other of the same name. */
  readonly enlist: (user: UserInfo) => void;
  /** The chain for external users, and `inside` for registered ones: for checks of admission about a writer. */
  readonly either: Authorizer;
  readonly rules: RulesLister;
  readonly index: RbacIndex;
  /** Whether the chain has an authorizer of this mode now. */
  uses(mode: string): boolean;
  readonly metrics: AuthorizationMetrics;
  close(): void;
}

/** The chain for the modes or the file of the options, behind system:masters; a file is followed until `close`. @throws HubError for unusable modes or an unusable file */
export async function openAuthorization(
  options: HubOptions,
  {
    cache,
    clock,
    turn,
  }: { readonly cache: WatchCache; readonly clock: Clock; readonly turn: (username: string) => Promise<void> },
): Promise<Authorization> {
  const file = options.authorizationConfigFile;
  const index = rbacIndex();
  feedRbac(index, cache);
  const metrics = authorizationMetrics();
  const parts: MemberParts = { ...partsOf(options, clock), index, graph: graphOf(cache), metrics, turn };
  const found = file === undefined ? undefined : await fileOf(file, options);
  let current = await buildChain(found?.authorizers ?? authorizersOfModes(options), parts);
  const stop = new AbortController();
  if (file !== undefined && found !== undefined) {
    void followAuthorizationFile({
      file,
      text: found.text,
      build: (authorizers) => buildChain(authorizers, parts),
      replace: (next) => {
        const before = current;
        current = next;
        return before;
      },
      clock,
      metrics,
      log: options.log,
      signal: stop.signal,
    });
  }
  const chain = countedChain(() => current, metrics);
  const own = { name: "RBAC", authorize: rbac(index, { turn }) };
  const inside = firstDecision([masters, own, { name: "chain", authorize: chain.authorize }]).authorize;
  const enlisted = new WeakSet<UserInfo>();
  return {
    chain,
    inside,
    enlist: (user) => void enlisted.add(user),
    either: (attributes) => (enlisted.has(attributes.user) ? inside : chain.authorize)(attributes),
    rules: (user, namespace) => current.rules(user, namespace),
    index,
    uses: (mode) => [...current.types.values()].includes(mode),
    metrics,
    close: () => {
      stop.abort();
      current.close();
    },
  };
}

/** Reads the files of the authorization options, without calling a webhook. @throws HubError for unusable modes or an unusable file */
export async function checkAuthorization(options: HubOptions, clock: Clock): Promise<void> {
  const file = options.authorizationConfigFile;
  const found = file === undefined ? undefined : await fileOf(file, options);
  const chain = await buildChain(found?.authorizers ?? authorizersOfModes(options), {
    ...partsOf(options, clock),
    index: rbacIndex(),
    graph: nodeGraph,
    metrics: authorizationMetrics(),
  });
  chain.close();
}

function partsOf(options: HubOptions, clock: Clock): Pick<MemberParts, "policyFile" | "flag" | "clock" | "release"> {
  const file = options.authorizationConfigFile;
  return {
    policyFile: options.authorizationPolicyFile,
    flag: file === undefined ? "--authorization-webhook-config-file" : `--authorization-config ${file}`,
    clock,
    release: options.release,
  };
}

/** A chain that may be replaced before the next request. */
function countedChain(current: () => BuiltChain, metrics: AuthorizationMetrics): AuthorizerChain {
  const decide: AuthorizerChain["decide"] = async (attributes, wanted) => {
    if (isReturning(attributes.user)) return { ...returningDecision(attributes), by: "returning", ...noTrace(wanted) };
    const { chain, types } = current();
    const decision: ChainDecision = await chain.decide(attributes, wanted);
    const type = decision.by === undefined ? undefined : types.get(decision.by);
    if (decision.by !== undefined && type !== undefined && decision.verdict !== "noOpinion") {
      metrics.decided({ type, name: decision.by }, decision.verdict);
    }
    return decision;
  };
  const authorize: Authorizer = (attributes) => decide(attributes);
  return {
    decide,
    authorize,
    get names() {
      return current().chain.names;
    },
  };
}

function noTrace(wanted: { readonly trace?: boolean } | undefined): Pick<ChainDecision, "trace"> {
  return wanted?.trace === true ? { trace: [] } : {};
}

async function fileOf(file: string, options: HubOptions): Promise<Awaited<ReturnType<typeof readAuthorizationFile>>> {
  if (options.authorizationModes.length > 0 || options.authorizationWebhook !== undefined) {
    const others = "--authorization-mode and the --authorization-webhook options";
    throw new HubError("options", `--authorization-config and ${others} exclude each other`);
  }
  return readAuthorizationFile(file);
}

const rbacKinds: Readonly<Record<string, RbacEvent["kind"]>> = {
  roles: "Role",
  rolebindings: "RoleBinding",
  clusterroles: "ClusterRole",
  clusterrolebindings: "ClusterRoleBinding",
};

/** Updates the index from the cache: a right is added or removed before its write is acknowledged. */
function feedRbac(index: RbacIndex, cache: WatchCache): void {
  for (const [plural, kind] of Object.entries(rbacKinds)) {
    cache.observe(storagePrefix({ group: "rbac.authorization.k8s.io", plural }), ({ type, entry }) => {
      const object: ApiObject = objectOf(entry);
      index.apply({ type: type === "DELETED" ? "delete" : "put", kind, object });
    });
  }
}

/** The graph of the pods in the cache; a bound pod is added before the binding is acknowledged. */
function graphOf(cache: WatchCache): () => NodeGraph {
  let graph: NodeGraph | undefined;
  return () => {
    if (graph !== undefined) return graph;
    const made = nodeGraph();
    graph = made;
    cache.observe(storagePrefix({ group: "", plural: "pods" }), ({ type, entry }) => {
      const pod = objectOf(entry);
      if (type === "DELETED") made.remove(pod);
      else made.put(pod);
    });
    return made;
  };
}
