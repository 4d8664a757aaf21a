import { dnsLabelProblems } from "../../apimachinery/names.ts";
import { readText } from "../../host/read-text.ts";
import { accountNames } from "../../operator/manifests/rbac.ts";
import { manifestsOf } from "../../operator/manifests/manifests.ts";
import type { WebhookPlace } from "../../operator/manifests/webhook-configurations.ts";
import { checkedText, usageError } from "../cli-error.ts";
import type { Args, Run } from "../command.ts";
import { yamlText } from "../yaml-text.ts";

/** Prints the objects that access requests need on a cluster, as YAML documents in the order of creation. */
export const runManifests: Run = async (args, io) => {
  const namespace = checkedText(args, "namespace", dnsLabelProblems);
  const caFile = args.text("webhook-ca-file");
  const documents = manifestsOf({
    caPem: caFile === undefined ? undefined : await readText("webhook-ca-file", caFile, io),
    place: placeOf(args.text("webhook-url"), namespace),
    inventory: !args.on("node-inventory") ? "unguarded" : args.on("cel") ? "by-name" : "configmaps",
    managedClusters: args.on("managed-clusters"),
    olderAddOns: asksForOlderAddOns(args),
    namespace,
    image: args.text("image") ?? "",
    cel: args.on("cel"),
    workloads: !args.on("no-workloads"),
  });
  io.stdout.write(documents.map(yamlText).join("---\n"));
};

/** Whether add-ons are served in their older version too. @throws CliError usage without managed clusters */
export function asksForOlderAddOns(args: Args): boolean {
  if (!args.on("older-add-ons")) return false;
  if (!args.on("managed-clusters")) throw usageError("--older-add-ons needs --managed-clusters");
  return true;
}

/** The address of the webhook. @throws CliError usage for a URL that kube-apiserver would reject */
export function placeOf(url: string | undefined, namespace: string, option = "--webhook-url"): WebhookPlace {
  if (url === undefined) return { service: { namespace, name: accountNames.webhook } };
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const isPlain =
    parsed?.protocol === "https:" && `${parsed.username}${parsed.password}${parsed.search}${parsed.hash}` === "";
  if (!isPlain) throw usageError(`${option} ${JSON.stringify(url)}: must be https://HOST[:PORT][/PATH]`);
  return { url };
}
