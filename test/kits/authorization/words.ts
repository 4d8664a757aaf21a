/** What generated policies and questions are made of: words of Kubernetes, and some that come near to them. */

export const namespaces = ["ns-a", "ns-b", "ns-c"] as const;
export const accountNames = ["builder", "deployer", "default", "odd.name"] as const;
export const nodeNames = ["node-1", "node-2", "node-3", "node-10", "n.example.com"] as const;

export const accounts: readonly string[] = namespaces.flatMap((namespace) =>
  accountNames.map((name) => `system:serviceaccount:${namespace}:${name}`),
);

export const users: readonly string[] = [
  "ann",
  "bob",
  "carol",
  "dave",
  "Ann",
  "ann ",
  "*",
  "a/b",
  "ann@example.com",
  "oidc:https://issuer.example#7",
  'quo"te',
  "back\\slash",
  "tab\there",
  "<b>&amp;",
  "grün",
  "日本",
  "🙂 smile",
  "sep\u2028arator",
  "zero\u200bwidth",
  "nul\u0000",
  "bell\u0007",
  "del\u007f",
  "nbsp\u00a0",
  "\u00ad",
  "\ue000",
  "system:serviceaccount:ns-a:",
  "system:serviceaccount::builder",
  "system:anonymous",
  "long".repeat(60),
];

export const groups: readonly string[] = [
  "devs",
  "ops",
  "auditors",
  "Devs",
  "*",
  "team:a",
  "team/b",
  "grün",
  'quo"te',
  "system:serviceaccounts",
  "system:serviceaccounts:ns-a",
  "system:serviceaccounts:ns-b",
  "system:unauthenticated",
];

export const verbs: readonly string[] = [
  "get",
  "list",
  "watch",
  "create",
  "update",
  "patch",
  "delete",
  "deletecollection",
  "approve",
  "impersonate",
  "use",
  "bind",
  "GET",
];

export const pathVerbs: readonly string[] = ["get", "head", "post", "put", "delete", "options"];

export const apiGroups: readonly string[] = ["", "apps", "batch", "example.com", "Apps"];

export const resources: readonly string[] = [
  "pods",
  "configmaps",
  "secrets",
  "services",
  "deployments",
  "jobs",
  "things",
  "Pods",
  "signers",
];

export const subresources: readonly string[] = ["log", "exec", "scale", "status", "proxy", "deep/down", "*"];

export const names: readonly string[] = ["web", "web-0", "db", "Web", "*", "kubernetes.io/legacy", "a b", "name\u200b"];

export const paths: readonly string[] = [
  "/",
  "/logs",
  "/logs/",
  "/logs/a",
  "/logs/a/b",
  "/debug/pprof",
  "/x",
  "/x*",
  "/x**",
  "/X",
  "logs",
  "/grün",
  "*",
  "/logs//a",
  "/a/../logs",
  "/%6cogs",
];

export const pathPatterns: readonly string[] = [
  "/",
  "/logs",
  "/logs/*",
  "/logs*",
  "/debug/*",
  "/x**",
  "/x*",
  "/*/a",
  "/grün",
  "*",
  "logs",
  "/logs/*/b",
  "/a/*",
];

/** Secrets, configmaps and claims that pods speak of. */
export const parts: readonly string[] = Array.from({ length: 12 }, (_, index) => `part-${index}`);
