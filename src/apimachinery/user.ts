/** Who a request comes from, as an authenticator found it and as authorizers, admission and audit see it. */
export interface UserInfo {
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export const anonymousUser = "system:anonymous";
export const unauthenticatedGroup = "system:unauthenticated";
export const authenticatedGroup = "system:authenticated";
export const mastersGroup = "system:masters";
export const nodesGroup = "system:nodes";
export const nodeUserPrefix = "system:node:";
export const bootstrapGroup = "system:bootstrappers";
export const bootstrapUserPrefix = "system:bootstrap:";
export const defaultNodeTokenGroup = "system:bootstrappers:kubeadm:default-node-token";
export const serviceAccountsGroup = "system:serviceaccounts";

/** The user of a ServiceAccount, with the groups that Kubernetes gives it (`system:authenticated` included). */
export function serviceAccountUser(namespace: string, name: string): UserInfo {
  return {
    username: `system:serviceaccount:${namespace}:${name}`,
    groups: [serviceAccountsGroup, `${serviceAccountsGroup}:${namespace}`, authenticatedGroup],
  };
}

/** The name of the node that a user is: empty where a node gave none, undefined for whoever is no node. Source: pkg/auth/nodeidentifier. */
export function nodeNameOf({ username, groups }: UserInfo): string | undefined {
  return username.startsWith(nodeUserPrefix) && groups.includes(nodesGroup)
    ? username.slice(nodeUserPrefix.length)
    : undefined;
}
