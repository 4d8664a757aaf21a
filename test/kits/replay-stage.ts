import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Kubectl } from "./kubectl.ts";
import { eventually } from "./peers-process.ts";
import { programRun } from "./program-run.ts";

/** Groups of the users in the token file. */
export const replayUsers = { ada: ["keepers"], ben: [] } as const;

/** What the users of the stage may do, with these verbs on ConfigMaps for `managers`, which ada is in. */
export function stageRoles(verbs: string): string {
  return `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: keeper, namespace: default }
rules: [{ apiGroups: [""], resources: [configmaps], verbs: [${verbs}] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: keepers, namespace: default }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: keeper }
subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: Group, name: keepers }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: measurer }
rules: [{ nonResourceURLs: ["/metrics"], verbs: [get] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: measurers }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: measurer }
subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: User, name: ada }]
`;
}

export const stageVerbs = "get, list, create, delete";

/** Makes the roles and the requests that the log shall tell of; resolves when it does. */
export async function playStage(stage: {
  readonly admin: Kubectl;
  readonly as: (user: keyof typeof replayUsers) => Promise<Kubectl>;
  readonly dir: string;
  readonly log: string;
}): Promise<void> {
  const { admin, as, dir, log } = stage;
  await writeFile(join(dir, "roles.yaml"), stageRoles(stageVerbs));
  await admin.ok("create", "-f", join(dir, "roles.yaml"));
  // kube-apiserver learns of a binding a moment after it is stored, and a request that is refused meanwhile is in the log.
  for (const action of [
    { resourceAttributes: { verb: "create", resource: "configmaps", namespace: "default" } },
    { nonResourceAttributes: { verb: "get", path: "/metrics" } },
  ]) {
    const spec = { user: "ada", groups: replayUsers.ada, ...action };
    const review = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec };
    const asking = admin.with({ input: JSON.stringify(review) });
    await eventually("the roles to count", async () => {
      const { status } = JSON.parse(await asking.ok("create", "-f", "-", "-o", "json")) as {
        readonly status: { readonly allowed: boolean };
      };
      return status.allowed || undefined;
    });
  }
  const [ada, ben] = [await as("ada"), await as("ben")];
  await ada.ok("create", "configmap", "notes");
  await ada.ok("get", "configmaps");
  await ada.ok("get", "configmaps");
  await ada.ok("delete", "configmap", "notes", "--wait=false");
  await ada.ok("get", "--raw", "/metrics");
  await ada("get", "secrets");
  await admin.ok("get", "configmaps", "--as", "cora", "--as-group", "keepers");
  await ben("get", "configmaps");
  await eventually(
    "the log to tell of the last request",
    async () =>
      (await readFile(log, "utf8")).split("\n").some((line) => /"verb":"list".*"username":"ben"/.test(line)) ||
      undefined,
  );
}

/** One kind of changed requests. */
export interface StageChange {
  readonly change: string;
  readonly count: number;
  readonly user: string;
  readonly impersonatedBy?: string;
  readonly verb: string;
  readonly resource: string;
  readonly namespace: string;
  readonly path?: string;
  readonly before: string;
  readonly by: string;
  readonly why: string;
}

/** What `pratique policy replay -o json` prints, as far as tests look at it. */
export interface StageReport {
  readonly requests: number;
  readonly nowRefused: number;
  readonly nowAllowed: number;
  readonly asRecorded: number;
  readonly failed: number;
  readonly changes: readonly StageChange[];
}

/** Runs `pratique policy replay`. */
export async function replay(...words: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const run = programRun(["policy", "replay", ...words]);
  return { code: await run.done, out: run.out(), err: run.err() };
}

/** The report as data. @throws Error with what was printed where there is none */
export async function replayReport(...words: readonly string[]): Promise<StageReport> {
  const { out, err } = await replay(...words, "-o", "json");
  if (!out.startsWith("{")) throw new Error(`no report: ${err}`);
  return JSON.parse(out) as StageReport;
}

/** Changes in few words, in the order of those words. */
export function changesOf({ changes }: StageReport): readonly string[] {
  return changes
    .map(({ change, count, user, verb, resource, path }) => `${change}: ${count} ${user} ${verb} ${path ?? resource}`)
    .toSorted();
}
