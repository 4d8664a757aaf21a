import { logEntry } from "../../apimachinery/log-entry.ts";
import type { WebhookPlace } from "../../operator/manifests/webhook-configurations.ts";
import { checkServing, servingPair, type ServingPair } from "../../operator/serving/secure-serving.ts";
import { trustBundleOf } from "../../operator/trust-bundle.ts";
import { serveWebhook, type WebhookOptions } from "../../operator/webhook.ts";
import { usageError } from "../cli-error.ts";
import type { Args, Run } from "../command.ts";
import { logTo } from "../log-line.ts";
import { warningInLog, warnOfOpenSecrets } from "../open-secrets.ts";
import { withServer } from "../server-access.ts";
import { secureServing } from "../serving.ts";
import { yamlText } from "../yaml-text.ts";
import { asksForOlderAddOns, placeOf } from "./run-manifests.ts";
import { configurationsOf } from "../../operator/manifests/manifests.ts";

/** Serves admission for access requests until a signal, or prints the webhook configurations. */
export const runWebhook: Run = async (args, io) => {
  const options = webhookOptions(args);
  const { serving, place } = options;
  await checkServing(serving, io);
  const pairOf = (): Promise<ServingPair> => servingPair({ serving, world: io, place, commonName: "pratique-webhook" });
  if (args.on("print-configuration")) {
    const inventory = args.on("node-inventory") ? "configmaps" : "unguarded";
    const { caPem } = await pairOf();
    const documents = configurationsOf({ ...options, inventory, caPem });
    io.stdout.write(documents.map(yamlText).join("---\n"));
    return;
  }
  const log = logTo(args, io);
  const logged = warningInLog(io, log);
  await warnOfOpenSecrets([serving.keyFile], logged);
  await withServer(args, logged, async (server) => {
    const { client } = server;
    const { pins } = await trustBundleOf(args.text("ca-file"), server, io);
    // Created last: a kubeconfig or CA that cannot be used leaves no CA of the webhook's own behind.
    const pair = await pairOf();
    await serveWebhook({ options, world: { ...io, log }, client, pair, pins, signal: io.interrupted() });
  });
  log(logEntry("Stopped", "the webhook stopped"));
};

function webhookOptions(args: Args): WebhookOptions {
  return {
    place: placeOfWebhook(args),
    olderAddOns: asksForOlderAddOns(args),
    serving: secureServing(args),
    managedClusters: args.on("managed-clusters"),
    register: args.on("register"),
    requestsPerMinute: args.number("requests-per-minute") ?? 0,
    maxPending: args.number("max-pending") ?? 0,
  };
}

function placeOfWebhook(args: Args): WebhookPlace {
  const [namespace = "", name = "", more] = (args.text("service") ?? "").split("/");
  if (namespace === "" || name === "" || more !== undefined)
    throw usageError(`--service ${JSON.stringify(args.text("service"))}: must be NAMESPACE/NAME`);
  const url = args.text("url");
  return url === undefined ? { service: { namespace, name } } : placeOf(url, namespace, "--url");
}
