/** The user of a request, as an authenticator returns it and as authorizers, admission and audit see it. */
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

/** The user of a ServiceAccount, with the groups that Kubernetes adds (`system:authenticated` included). */
export function serviceAccountUser(namespace: string, name: string): UserInfo {
  return {
    username: `system:serviceaccount:${namespace}:${name}`,
    groups: [serviceAccountsGroup, `${serviceAccountsGroup}:${namespace}`, authenticatedGroup],
  };
}

/** The node name of a user: empty for a node without a name, undefined for other users. Source: pkg/auth/nodeidentifier. */
export function nodeNameOf({ username, groups }: UserInfo): string | undefined {
  return username.startsWith(nodeUserPrefix) && groups.includes(nodesGroup)
    ? username.slice(nodeUserPrefix.length)
    : undefined;
}
