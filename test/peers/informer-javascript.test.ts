import { readFile } from "node:fs/promises";
import { CoreV1Api, KubeConfig, makeInformer, type V1ConfigMap } from "@kubernetes/client-node";
import { describe } from "vitest";
import { informerTests, type InformerStage, type Observed, type Report } from "../kits/peers-informer.ts";

/** An informer as the manual of the client makes it: whatever error it tells, it is started again; after a 401 with a new token. */
async function informerOf(stage: InformerStage): Promise<Observed> {
  const told: Report[] = [];
  let token = await readFile(stage.tokenFile, "utf8");
  let over = false;
  const config = new KubeConfig();
  config.loadFromOptions({
    clusters: [{ name: "hub", server: stage.url, caData: Buffer.from(stage.ca()).toString("base64") }],
    users: [{ name: "watcher", authProvider: { name: "renewing", config: {} } }],
    contexts: [{ name: "hub", cluster: "hub", user: "watcher" }],
    currentContext: "hub",
  });
  config.addAuthenticator({
    isAuthProvider: () => true,
    applyAuthentication: async (_user, options) => {
      options.headers = { ...options.headers, Authorization: `Bearer ${token}` };
    },
  });
  const api = config.makeApiClient(CoreV1Api);
  const informer = makeInformer<V1ConfigMap>(config, "/api/v1/namespaces/watched/configmaps", async () => {
    const list = await api.listNamespacedConfigMap({ namespace: "watched" });
    told.push({ type: "relist", name: "", version: list.metadata?.resourceVersion ?? "" });
    return list;
  });
  for (const type of ["add", "update", "delete"] as const) {
    informer.on(type, ({ metadata }) => {
      told.push({ type, name: metadata?.name ?? "", version: metadata?.resourceVersion ?? "" });
    });
  }
  informer.on("error", (error: unknown) => {
    void again(error);
  });
  async function again(error: unknown): Promise<void> {
    if (over) return;
    if (codeOf(error) === 401) {
      told.push({ type: "refused", name: "", version: "" });
      token = await readFile(stage.tokenFile, "utf8");
    }
    setTimeout(() => void informer.start(), 20);
  }
  await informer.start();
  return {
    told: () => told,
    cache: () =>
      Object.fromEntries(
        informer
          .list()
          .map(({ metadata, data }) => [metadata?.name ?? "", `${data?.["seq"] ?? ""}@${metadata?.resourceVersion}`]),
      ),
    stop: () => {
      over = true;
      return informer.stop();
    },
  };
}

/** The watch and the list tell it in different fields. */
function codeOf(error: unknown): unknown {
  const { statusCode, code } = error as { readonly statusCode?: unknown; readonly code?: unknown };
  return statusCode ?? code;
}

describe("an informer of the official client for JavaScript", () => {
  informerTests(informerOf);
});
