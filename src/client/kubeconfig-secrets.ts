import type { Kubeconfig } from "./kubeconfig.ts";
import { parseProxy } from "./proxy.ts";

const secretFields = ["client-key-data", "token"] as const;

/** Whether a kubeconfig itself holds a secret: a token, a private key, a password. One that only names files or a program holds none. */
export function holdsSecret({ users, clusters }: Kubeconfig): boolean {
  const isSecret = [...users.values()].some(
    // What is not supported (`password`, `auth-provider`) is secret, too.
    ({ texts, unsupported }) => unsupported !== undefined || secretFields.some((field) => texts.has(field)),
  );
  return isSecret || [...clusters.values()].some(({ texts }) => hasPassword(texts.get("proxy-url")));
}

function hasPassword(proxyUrl: string | undefined): boolean {
  return proxyUrl !== undefined && (parseProxy(proxyUrl)?.password ?? "") !== "";
}
