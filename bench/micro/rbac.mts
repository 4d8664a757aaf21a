import {
  clusterRole,
  clusterRoleBinding,
  group,
  rule,
  user,
  roleBinding,
} from "../../src/authorization/bootstrap-policy/policy-object.ts";
import { bootstrapPolicy } from "../../src/authorization/bootstrap-policy/system-roles.ts";
import type { Attributes } from "../../src/authorization/authorizer.ts";
import { firstDecision } from "../../src/authorization/chain.ts";
import { masters } from "../../src/authorization/always.ts";
import { rbac } from "../../src/authorization/rbac.ts";
import { type RbacIndex, rbacIndex } from "../../src/authorization/rbac-index.ts";
import type { RbacKind, RbacObject } from "../../src/authorization/rbac-types.ts";
import { isAggregated, neededRules } from "../../src/controllers/objects/cluster-role-aggregation.ts";
import type { ClusterRole } from "../../src/apis/rbac.ts";
import { isQuick, print } from "./measure.mts";

// RBAC decisions a second of processor time, on one core, with more and more bindings.

/** Half ClusterRoleBindings, half RoleBindings of `edit`, each for a user of its own; on top the default policy. */
function policy(bindings: number): RbacIndex {
  const index = rbacIndex();
  const put = (object: RbacObject): void => index.apply({ type: "put", kind: object.kind as RbacKind, object });
  let objects = bootstrapPolicy();
  for (let round = 0; round < 3; round++) {
    const roles = objects.filter((object): object is ClusterRole => object.kind === "ClusterRole");
    objects = objects.map((object) => {
      const role = roles.find((one) => one === object);
      if (role === undefined || !isAggregated(role)) return object;
      const rules = neededRules(role, roles) as ClusterRole["rules"] | undefined;
      return rules === undefined ? object : { ...role, rules };
    });
  }
  for (const object of objects) put(object);
  put(clusterRole("reader", [rule("get list watch", "core", "pods configmaps")]));
  for (let i = 0; i < bindings; i++) {
    if (i % 2 === 0) {
      put(clusterRoleBinding(`crb-${i}`, "reader", [user(`user-${i}`), group(`team-${i}`)]));
    } else {
      const binding = roleBinding({ namespace: `ns-${i % 50}`, name: `rb-${i}` }, "edit", [user(`user-${i}`)]);
      put({ ...binding, roleRef: { ...binding.roleRef, kind: "ClusterRole" } });
    }
  }
  return index;
}

/** So many users ask, however many others have bindings too. */
const maxUsers = 1000;

/** Requests as they come off the wire: fresh strings, a mix of allowed and refused, some with subresources. */
function requests(bindings: number): readonly Attributes[] {
  const users = Math.min(bindings, maxUsers);
  return Array.from({ length: 4096 }, (_, at): Attributes => {
    const i = (at * 7919) % users;
    const text = JSON.stringify({
      user: { username: `user-${i}`, groups: [`team-${i}`, "devs", "system:authenticated"] },
      verb: at % 3 === 0 ? "delete" : "get",
      group: "",
      version: "v1",
      resource: at % 2 === 0 ? "pods" : "configmaps",
      subresource: at % 8 === 0 ? "log" : "",
      namespace: `ns-${i % 50}`,
      name: `object-${at}`,
    });
    return { ...(JSON.parse(text) as Attributes), path: undefined };
  });
}

async function measure(name: string, bindings: number, decide: (attributes: Attributes) => unknown): Promise<void> {
  const load = requests(bindings);
  const rounds = isQuick() ? 25 : 250;
  let allowed = 0;
  const run = async (count: number): Promise<void> => {
    for (let round = 0; round < count; round++) {
      for (const attributes of load) {
        const decision = (await decide(attributes)) as { readonly verdict: string };
        if (decision.verdict === "allow") allowed += 1;
      }
    }
  };
  await run(25);
  allowed = 0;
  const heap = process.memoryUsage().heapUsed;
  // Processor time, so that neighbours on the machine do not count.
  const start = process.cpuUsage();
  await run(rounds);
  const { user: busy, system } = process.cpuUsage(start);
  const seconds = (busy + system) / 1e6;
  const decisions = rounds * load.length;
  const result = {
    bench: "rbac",
    name,
    bindings,
    decisions,
    allowedShare: Number((allowed / decisions).toFixed(2)),
    perCpuSecond: Math.round(decisions / seconds),
    heapMiB: Math.round(heap / 2 ** 20),
  };
  print(result);
}

for (const bindings of [10, 1000, 10_000]) {
  const index = policy(bindings);
  await measure("rbac", bindings, rbac(index));
  const chain = firstDecision([masters, { name: "RBAC", authorize: rbac(index) }]);
  await measure("masters+rbac chain", bindings, chain.decide);
}
