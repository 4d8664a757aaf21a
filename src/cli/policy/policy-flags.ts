import { policyKinds, type PolicySource } from "../../policy-server/policy-source.ts";
import type { ProposedOptions } from "../../policy-server/proposed-chain.ts";
import { proposedRbac } from "../../policy-server/proposed-rbac.ts";
import type { RbacIndex } from "../../authorization/rbac-index.ts";
import type { RbacObject } from "../../authorization/rbac-types.ts";
import type { Args } from "../command.ts";
import type { Io } from "../io.ts";

/** The policy that these options select. */
export function policySource(args: Args): PolicySource {
  const given = policyKinds.map((name) => [name, args.text(name)] as const);
  return {
    sources: Object.fromEntries(given.filter((one): one is readonly [string, string] => one[1] !== undefined)),
    query: args.text("query") ?? "",
    opa: {
      caFile: args.text("opa-ca-file"),
      tokenFile: args.text("opa-token-file"),
      timeoutMs: args.number("opa-timeout") ?? 0,
    },
  };
}

/** The options of a chain that is not in force yet. */
export function proposedChainOf(args: Args): Omit<ProposedOptions, "world" | "release" | "index" | "graph"> {
  return {
    policy: policySource(args),
    configFile: args.text("authorization-config"),
    modes: args.list("authorization-mode"),
    policyFile: args.text("authorization-policy-file"),
    webhookConfigFile: args.text("authorization-webhook-config-file"),
    webhookVersion: args.text("authorization-webhook-version") === "v1" ? "v1" : "v1beta1",
  };
}

/** The roles and bindings that `--rbac` and `--rbac-base` describe. */
export async function proposedRbacOf(args: Args, io: Io, also?: readonly RbacObject[]): Promise<RbacIndex> {
  const base = args.text("rbac-base");
  return proposedRbac({
    files: args.list("rbac"),
    base: base === "none" || base === "server" ? base : "defaults",
    ...(also === undefined ? {} : { also }),
    namespace: args.text("namespace") ?? "",
    withClient: async (use) => {
      const { withServer } = await import("../server-access.ts");
      return withServer(args, io, async ({ client }) => use(client));
    },
    world: io,
  });
}
