import { ignoreReasons } from "../client/api-errors.ts";
import { rbacIndex, type RbacIndex } from "./rbac-index.ts";
import type { RbacKind } from "./rbac-types.ts";
import type { Client, ResourceRef } from "../client/client.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { rbacGroup } from "../apis/rbac.ts";

/** The roles and bindings of a server, as far as the caller may read them. */
export interface ReadPolicy {
  readonly index: RbacIndex;
  /** The resources that may not be listed, e.g. `clusterrolebindings`. */
  readonly unseen: readonly string[];
}

const kinds: readonly (readonly [RbacKind, string, ResourceRef["scope"]])[] = [
  ["ClusterRole", "clusterroles", "Cluster"],
  ["ClusterRoleBinding", "clusterrolebindings", "Cluster"],
  ["Role", "roles", "Namespaced"],
  ["RoleBinding", "rolebindings", "Namespaced"],
];

/** Reads all roles and bindings into the index of mode RBAC; those of one namespace where the caller may not read the others. */
export async function readPolicy(client: Client, namespace: string): Promise<ReadPolicy> {
  const index = rbacIndex();
  const unseen = await readRbac(client, namespace, (kind, object) => index.apply({ type: "put", kind, object }));
  return { index, unseen };
}

/** Passes on all roles and bindings that the caller may read, as `readPolicy` reads them; resolves to the resources that it may not list. */
export async function readRbac(
  client: Client,
  namespace: string,
  take: (kind: RbacKind, object: ApiObject) => void,
): Promise<ReadPolicy["unseen"]> {
  const unseen: string[] = [];
  for (const [kind, plural, scope] of kinds) {
    const resource = { group: rbacGroup, version: "v1", kind, plural, scope };
    const readAll = async (where: { readonly namespace?: string }): Promise<boolean> => {
      const list = await ignoreReasons(client.list(resource, where), "Forbidden", "NotFound");
      for (const item of list?.items ?? []) take(kind, item);
      return list !== undefined;
    };
    if (await readAll({})) continue;
    const readsOne = scope === "Namespaced" && namespace !== "" && (await readAll({ namespace }));
    unseen.push(readsOne ? `${plural} of other namespaces` : plural);
  }
  return unseen;
}
