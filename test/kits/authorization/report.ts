import { differences } from "./agreement.ts";
import { chains } from "./chains.ts";
import { listedPaths } from "./rules-reviews.ts";

/** The part of docs/conformance.md about authorization. */
export function authorizationReport(): readonly string[] {
  const modes = chains.map((chain) => `\`${chain.modes.join(",")}\``);
  return [
    "## Decisions of authorizers",
    "",
    "A generator with a seed creates Roles and ClusterRoles, some aggregated, bindings, ABAC policies of both forms, pods that refer to",
    "secrets, configmaps, claims and accounts (in volumes of every type, projected and generic ephemeral ones among them, and in containers",
    "of every list, ephemeral ones too), PersistentVolumes and VolumeAttachments, and a service for the webhook; with names that are hard",
    `to quote, and asterisks wherever one is allowed. The test loads them into hubs and kube-apiservers with the modes ${modes.join(", ")},`,
    "and sends both 100,000 reviews, of which about half are allowed: SubjectAccessReviews, also local ones, and SelfSubjectAccessReviews",
    "by impersonation; and 800 SelfSubjectRulesReviews. It compares verdict, reason and evaluation error byte for byte. They are the same,",
    "except for this:",
    "",
    "| what | why |",
    "|---|---|",
    ...[...differences, listedPaths].map(({ name, why }) => `| ${name} | ${why} |`),
    "",
    "The test fails for a difference that is not listed, and for one that no longer exists",
    "(`test/peers/authorization-comparison.test.ts`; `FC_SEED=<number>` generates other policies and reviews). It sends no reviews about the",
    "default roles of a cluster, which differ from release to release. It leaves out selectors, since 1.20 does not know them, and the",
    "service ignores the version of a review: where a review names none, the hub sends `*` to the service, as 1.36 does, and 1.20 sends",
    "nothing. kube-apiserver runs with the features `EphemeralContainers` and `GenericEphemeralVolume`, which later releases have by",
    "default; the test creates PersistentVolumes and VolumeAttachments there alone.",
    "",
    "A webhook that fails in more than forty ways (hangs, answers 500 or garbage, closes the connection in the middle, answers with the",
    "wrong type) is tested behind the chains `Webhook`, `Webhook,RBAC` and `RBAC,Webhook` of both: verdict, reason, whether there is an",
    "evaluation error, and for requests the status and the words of a denial are the same",
    "(`test/peers/authorization-failing-webhook.test.ts`), except for this:",
    "",
    "| what | why |",
    "|---|---|",
    "| an answer of `null` | kube-apiserver takes it for an empty review, which has no opinion; the hub for no review, so that the failure policy decides. |",
    "| the words of errors | Each program has its own; the hub quotes no answer of a service. |",
    "",
    "`test/fixtures/authorization-recorded.jsonl` contains 3,000 recorded decisions about a smaller policy, which",
    "`test/e2e/authorization-recorded.test.ts` compares with those of hubs wherever tests run. The command records them again:",
    "",
    "```sh",
    "RECORD=1 npx vitest run test/peers/authorization-comparison.test.ts",
    "```",
    "",
  ];
}
