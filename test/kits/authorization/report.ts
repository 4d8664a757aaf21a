import { differences } from "./agreement.ts";
import { chains } from "./chains.ts";
import { listedPaths } from "./rules-reviews.ts";

/** The part of docs/conformance.md about authorization. */
export function authorizationReport(): readonly string[] {
  const modes = chains.map((chain) => `\`${chain.modes.join(",")}\``);
  return [
    "## Decisions of authorizers",
    "",
    "A generator with a seed makes roles of both kinds, some aggregated, bindings, ABAC policies of both forms, pods that speak of",
    "secrets, configmaps, claims and accounts (in volumes of every type, projected and generic ephemeral ones among them, and in containers",
    "of every list, ephemeral ones too), PersistentVolumes and VolumeAttachments, and a service for the webhook; with names that are hard",
    `to quote, and asterisks wherever one may stand. They are loaded into hubs and kube-apiservers with the modes ${modes.join(", ")}, and both sides are asked`,
    "100,000 questions, of which about half are allowed: SubjectAccessReviews, also local ones, and SelfSubjectAccessReviews by",
    "impersonation; and 800 SelfSubjectRulesReviews. Verdict, reason and evaluation error are compared, letter by letter. They are the",
    "same, but for this:",
    "",
    "| what | why |",
    "|---|---|",
    ...[...differences, listedPaths].map(({ name, why }) => `| ${name} | ${why} |`),
    "",
    "A test fails for a difference that is none of these, and for one of these that is gone",
    "(`test/peers/authorization-comparison.test.ts`; `FC_SEED=<number>` makes other policies and questions). Of the roles that come with",
    "a cluster, which differ from release to release, nothing is asked. Selectors are left out, since 1.20 does not know them, and",
    "of the version of a question the service makes nothing: of a review that names none it is told `*` by the hub, as by 1.36, and",
    "nothing by 1.20. kube-apiserver has the features `EphemeralContainers` and `GenericEphemeralVolume`, which later releases have by",
    "default; PersistentVolumes and VolumeAttachments are created there alone.",
    "",
    "A webhook that fails in more than forty ways (hangs, answers 500 or garbage, closes the connection in the middle, says something of",
    "the wrong type), behind the chains `Webhook`, `Webhook,RBAC` and `RBAC,Webhook` of both: verdict, reason, whether there is an",
    "evaluation error, and for requests the status and the words of a refusal are the same",
    "(`test/peers/authorization-failing-webhook.test.ts`), but for this:",
    "",
    "| what | why |",
    "|---|---|",
    "| an answer of `null` | kube-apiserver takes it for an empty review, which says nothing; the hub for none, so that the policy on failure decides. |",
    "| the words of errors | Each program has its own; the hub quotes no answer of a service. |",
    "",
    "3,000 decisions about a smaller policy are recorded in `test/fixtures/authorization-recorded.jsonl`, and",
    "`test/e2e/authorization-recorded.test.ts` puts them to hubs wherever tests run;",
    "`RECORD=1 npx vitest run test/peers/authorization-comparison.test.ts` records them anew.",
    "",
  ];
}
